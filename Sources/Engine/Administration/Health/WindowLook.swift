package import Errand
package import ErrandRedis

/// What an operator's command asks of the windows in Redis.
package struct WindowLook: Sendable {
    private let connection: Connection
    private let keys: RedisKeys

    /// The windows of the database of that instance id.
    package init(_ address: RedisAddress, instance: String) {
        connection = Connection(
            address, name: "errand-cli", connectTimeout: .seconds(1), replyTimeout: .seconds(1))
        keys = RedisKeys(instance: instance)
    }

    /// Whether a job is staged.
    package func state(of id: Int64, in lane: Lane) async -> JobSituation.Window {
        do {
            let replies = try await connection.pipeline([
                Command("ZSCORE", keys.window(lane), String(id)), Command("EXISTS", keys.fed),
            ])
            if case .error(let text) = replies[0] { return .unreachable(text) }
            if !replies[0].isNull { return .staged }
            return replies[1].int == 0 ? .emptied : .absent
        } catch {
            return .unreachable("\(error)")
        }
    }

    /// Whether Redis has what a feeder staged since it was last emptied.
    ///
    /// - Throws: `RedisError`
    package func isFed() async throws -> Bool {
        try await connection.send(Command("EXISTS", keys.fed)).int == 1
    }

    /// Takes jobs out of a lane's window that do not belong there any more.
    ///
    /// Only saves a way: a worker that pops one before claims by what PostgreSQL says.
    package func forget(_ ids: [Int64], in lane: Lane) async throws {
        var command = Command("ZREM", keys.window(lane))
        for id in ids { command.append(String(id)) }
        _ = try await connection.send(command)
    }
}
