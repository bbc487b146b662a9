import Errand
import ErrandPostgres
import ErrandRedis

/// The check of the types of this database's keys in Redis.
enum RedisKeyFindings {
    /// The command that deletes the keys and stages the jobs again; no job is lost.
    static let remedy = "errand redis rebuild --yes"

    /// Returns the keys that another program has overwritten.
    ///
    /// Waits more than a second before it returns any: workers delete such keys within one.
    static func wrongKeys(_ address: RedisAddress, _ session: Session) async throws -> [WrongKey] {
        let instance = try await session.query(Statements.instance).text(0, 0)
        let keys = RedisKeys(instance: instance)
        let connection = Connection(
            address, name: "errand-cli", connectTimeout: .seconds(1), replyTimeout: .seconds(1))
        guard try await !keys.wrongKeys(over: connection).isEmpty else { return [] }
        try await Task.sleep(for: .milliseconds(1_500))
        return try await keys.wrongKeys(over: connection)
    }

    /// Says which keys have another type, and what follows; nil if none has.
    static func message(_ wrong: [WrongKey]) -> String? {
        guard let first = wrong.first else { return nil }
        let others = wrong.count > 1 ? " and \(wrong.count - 1) more" : ""
        return "another program has overwritten the key \(first)\(others): Redis refuses the "
            + "commands that stage and claim jobs"
    }

    static func findings(_ address: RedisAddress, _ session: Session) async -> [Finding] {
        do {
            guard let message = message(try await wrongKeys(address, session)) else {
                return [
                    Finding(
                        check: "redis keys", severity: .ok,
                        message: "the keys have the types that Errand needs")
                ]
            }
            return [
                Finding(
                    check: "redis keys", severity: .critical, message: message, remedy: remedy)
            ]
        } catch is PostgresError {
            // Other checks report a schema that is missing or may not be read.
            return []
        } catch {
            return [DoctorCommand.failed("redis keys", error)]
        }
    }
}
