package import Errand
package import ErrandPostgres

/// The engine's gauges of a whole database, for metrics: one round trip, and never a whole table.
package struct EngineNumbers: Sendable {
    /// The queues; depths of long ones are estimates.
    package var queues: [QueueRecord]
    /// The numbers of live, stopping and unresponsive workers.
    package var workers: EngineStatus.Workers
    /// Whether a process holds each role.
    package var roles: [(role: String, isHeld: Bool)]
    package var schedules: ScheduleHealth
    /// The lateness of the longest overdue schedule; zero if none is.
    package var scheduleLateness: Duration
    /// PostgreSQL's time of the reading.
    package var now: Instant

    /// The number of jobs to count per queue; larger numbers are estimated from a sample.
    private static let countLimit: Int64 = 1_000

    /// A read-only session with short timeouts.
    package static func session(_ database: String) -> Session {
        var settings = SessionSettings(
            database, name: "errand-metrics",
            setup: [
                "SET TimeZone = 'UTC'", "SET default_transaction_read_only = on",
                "SET statement_timeout = '2s'", "SET lock_timeout = '500ms'",
                // The statements are short: compiling them would take longer than running them.
                "SET jit = off",
            ])
        settings.connectTimeout = .seconds(2)
        settings.timeLimit = .seconds(4)
        return Session(settings)
    }

    /// Reads the gauges.
    ///
    /// - Throws: `PostgresError`
    package static func read(_ session: Session) async throws -> EngineNumbers {
        let answers = try await session.pipeline([
            Statement(Statements.queueDepths, [.null, .int64(countLimit)]),
            Statement(Statements.workerCounts), LeaderRecord.statement, ScheduleHealth.statement,
            Statement(Statements.scheduleLateness),
        ])
        let held = try LeaderRecord.records(answers[2]).filter { $0.backend != nil }
        return EngineNumbers(
            queues: try answers[0].map(QueueRecord.init),
            workers: try EngineStatus.Workers(answers[1][0]),
            roles: Role.allCases.map { role in
                (role.rawValue, held.contains { $0.role == role })
            },
            schedules: try ScheduleHealth(answers[3][0]),
            scheduleLateness: try answers[4][0].seconds("lateness"),
            now: try answers[4][0].timestamp("now"))
    }
}
