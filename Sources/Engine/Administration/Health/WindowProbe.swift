package import Errand
package import ErrandRedis

/// Queries of commands to the windows in Redis.
package struct WindowProbe: Sendable {
    private let connection: Connection
    private let keys: RedisKeys

    /// Creates a probe of the windows of the database with an instance id.
    package init(_ address: RedisAddress, instance: String) {
        connection = Connection(
            address, name: "errand-cli", connectTimeout: .seconds(1), replyTimeout: .seconds(1))
        keys = RedisKeys(instance: instance)
    }

    /// Whether a job is staged.
    package func state(of id: Int64, in lane: Lane) async -> JobDiagnosis.Window {
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

    /// Whether a feeder has staged jobs since Redis was last emptied.
    ///
    /// - Throws: `RedisError`
    package func hasStaging() async throws -> Bool {
        try await connection.send(Command("EXISTS", keys.fed)).int == 1
    }

    /// Removes jobs that are no longer waiting from a lane's window.
    ///
    /// This only saves work: a worker that pops such an id finds no job to claim in PostgreSQL.
    package func forget(_ ids: [Int64], in lane: Lane) async throws {
        var command = Command("ZREM", keys.window(lane))
        for id in ids { command.append(String(id)) }
        _ = try await connection.send(command)
    }
}
