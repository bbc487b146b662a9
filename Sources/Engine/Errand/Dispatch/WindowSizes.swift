import ErrandRedis

/// Asks Redis how many ids it holds for some queues, over a connection of its own.
package struct WindowSizes: Sendable {
    private let connection: Connection
    private let keys: RedisKeys
    private let lanes: [Lane]

    /// The windows of the database of that instance id; waits a second for an answer at most.
    init(_ address: RedisAddress, instance: String, lanes: [Lane]) {
        connection = Connection(
            address, name: "errand-metrics", connectTimeout: .seconds(1),
            replyTimeout: .seconds(1))
        keys = RedisKeys(instance: instance)
        self.lanes = lanes
    }

    /// Ids that are staged, by queue.
    ///
    /// - Throws: `RedisError` when it does not answer, or answers with an error.
    package func read() async throws -> [String: Int] {
        let cards = try await connection.pipeline(lanes.map { Command("ZCARD", keys.window($0)) })
        var sizes: [String: Int] = [:]
        for (lane, card) in zip(lanes, cards) {
            if case .error(let text) = card { throw RedisError.server(text) }
            sizes[lane.queue, default: 0] += Int(card.int ?? 0)
        }
        return sizes
    }

    /// Ends the connection; a later question makes another one.
    package func close() async { await connection.close() }
}
