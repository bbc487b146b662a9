import Errand
import ErrandPostgres
package import ErrandRedis

/// How Redis is, in a few numbers.
package struct RedisLook: Sendable {
    package var version: String
    package var usedBytes: Int
    /// 0 for no limit.
    package var limitBytes: Int
    /// What it does when its memory is full, such as `noeviction`.
    package var policy: String

    /// Where it is, if sentinels named it.
    package var masterPlace: String?

    /// So far is its clock ahead of ours; nil when it does not tell.
    package var clockLead: Duration?

    /// Whether it throws away ids that are staged once its memory is full.
    package var mayEvict: Bool { policy != "noeviction" }

    /// From the answer to INFO.
    init(info: String) {
        var values: [Substring: String] = [:]
        for line in info.split(whereSeparator: \.isNewline) {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2 { values[parts[0]] = String(parts[1]) }
        }
        version = values["redis_version"] ?? "unknown"
        usedBytes = values["used_memory"].flatMap { Int($0) } ?? 0
        limitBytes = values["maxmemory"].flatMap { Int($0) } ?? 0
        policy = values["maxmemory_policy"] ?? "noeviction"
    }

    /// Asks a server, and waits a second for its answer at most.
    ///
    /// - Throws: `RedisError`
    package static func look(at address: RedisAddress) async throws -> RedisLook {
        let connection = Connection(
            address, name: "errand-cli", connectTimeout: .seconds(1), replyTimeout: .seconds(1))
        return try await ask(connection)
    }

    static func ask(_ connection: Connection) async throws -> RedisLook {
        try await connection.connect()
        let asked = Instant.now()
        // One that may not ask is told less.
        let replies = try await connection.pipeline([Command("TIME"), Command("INFO")])
        let middle = asked.adding(Instant.now().durationSince(asked) / 2)
        var look = RedisLook(info: replies[1].text ?? "")
        look.masterPlace = await connection.masterPlace
        look.clockLead = time(replies[0]).map { $0.durationSince(middle) }
        return look
    }

    /// From the answer to TIME: seconds since 1970, and microseconds.
    private static func time(_ reply: Reply) -> Instant? {
        guard let parts = reply.array?.compactMap({ $0.text.flatMap(Int64.init) }),
            parts.count == 2
        else { return nil }
        return Instant(microseconds: (parts[0] - 946_684_800) * 1_000_000 + parts[1])
    }
}
