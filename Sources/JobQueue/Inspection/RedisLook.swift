package import Redis

/// How Redis is, in a few numbers.
package struct RedisLook: Sendable {
    package var version: String
    package var usedBytes: Int
    /// 0 for no limit.
    package var limitBytes: Int
    /// What it does when its memory is full, such as `noeviction`.
    package var policy: String

    /// Whether it may throw away ids that are staged.
    package var mayEvict: Bool { limitBytes > 0 && policy != "noeviction" }

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
        let reply = try await connection.send(Command("INFO"))
        return RedisLook(info: reply.text ?? "")
    }
}
