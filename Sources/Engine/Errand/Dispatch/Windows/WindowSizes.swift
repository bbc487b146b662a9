import ErrandRedis

/// Reads the number of staged ids of some queues from Redis, over a connection of its own.
package struct WindowSizes: Sendable {
    private let connection: Connection
    private let keys: RedisKeys
    private let queues: @Sendable () -> [String]
    private let lanes: @Sendable () -> [Lane]

    /// Creates a reader for the database with an instance id; an answer may take up to a second.
    ///
    /// - Parameters:
    ///   - queues: the queues to report even if they have no lane in use.
    ///   - lanes: the lanes in use.
    init(
        _ address: RedisAddress, instance: String, queues: @escaping @Sendable () -> [String],
        lanes: @escaping @Sendable () -> [Lane]
    ) {
        connection = Connection(
            address, name: "errand-metrics", connectTimeout: .seconds(1),
            replyTimeout: .seconds(1))
        keys = RedisKeys(instance: instance)
        self.queues = queues
        self.lanes = lanes
    }

    /// Returns the number of staged ids by queue.
    ///
    /// - Throws: `RedisError` if Redis does not answer or returns an error.
    package func read() async throws -> [String: Int] {
        let lanes = lanes()
        let cards = try await connection.pipeline(lanes.map { Command("ZCARD", keys.window($0)) })
        var sizes = Dictionary(queues().map { ($0, 0) }, uniquingKeysWith: { $1 })
        for (lane, card) in zip(lanes, cards) {
            if case .error(let text) = card { throw RedisError.server(text) }
            sizes[lane.queue, default: 0] += Int(card.int ?? 0)
        }
        return sizes
    }

    /// Closes the connection; a later read opens another one.
    package func close() async { await connection.close() }
}
