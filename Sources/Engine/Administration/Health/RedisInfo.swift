import Errand
import ErrandPostgres
package import ErrandRedis

/// The state of a Redis server.
package struct RedisInfo: Sendable {
    package var version: String
    package var usedBytes: Int
    /// 0 for no limit.
    package var limitBytes: Int
    /// The eviction policy, such as `noeviction`.
    package var policy: String

    /// The address of the master, if sentinels reported it.
    package var masterPlace: String?

    /// How far Redis's clock is ahead of ours; nil if unknown.
    package var clockSkew: Duration?

    /// Whether Redis may evict staged ids when its memory is full.
    package var mayEvict: Bool { policy != "noeviction" }

    /// Parses the reply to INFO.
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

    /// Queries a server, with a timeout of one second.
    ///
    /// - Throws: `RedisError`
    package static func read(from address: RedisAddress) async throws -> RedisInfo {
        let connection = Connection(
            address, name: "errand-cli", connectTimeout: .seconds(1), replyTimeout: .seconds(1))
        return try await ask(connection)
    }

    static func ask(_ connection: Connection) async throws -> RedisInfo {
        try await connection.connect()
        let asked = Instant.now()
        // Without permission for a command its values are missing.
        let replies = try await connection.pipeline([Command("TIME"), Command("INFO")])
        let middle = asked.adding(Instant.now().durationSince(asked) / 2)
        var info = RedisInfo(info: replies[1].text ?? "")
        info.masterPlace = await connection.masterPlace
        info.clockSkew = time(replies[0]).map { $0.durationSince(middle) }
        return info
    }

    /// Parses the reply to TIME: seconds since 1970, and microseconds.
    private static func time(_ reply: Reply) -> Instant? {
        guard let parts = reply.array?.compactMap({ $0.text.flatMap(Int64.init) }),
            parts.count == 2, (0...1_000_000_000_000).contains(parts[0]),
            (0..<1_000_000).contains(parts[1])
        else { return nil }
        return Instant(microseconds: (parts[0] - 946_684_800) * 1_000_000 + parts[1])
    }
}
