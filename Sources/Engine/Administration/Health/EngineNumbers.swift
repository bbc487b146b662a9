package import Errand
package import ErrandPostgres

/// The engine's gauges of a whole database, for metrics: one round trip, and never a whole table.
package struct EngineNumbers: Sendable {
    /// The queues; depths of long ones are estimates.
    package var queues: [QueueRecord]
    /// How many workers are alive, stopping and silent.
    package var workers: EngineStatus.Workers
    /// Whether somebody leads, by lead.
    package var leads: [(lead: String, isHeld: Bool)]
    package var schedules: ScheduleHealth
    /// By how much the schedule that has waited longest is late; zero when none is.
    package var scheduleLateness: Duration
    /// PostgreSQL's clock at the reading.
    package var now: Instant

    /// Queues are counted up to this many jobs each; beyond it a sample estimates.
    private static let countLimit: Int64 = 1_000

    /// How a session for this connects: it waits for nothing for long, and changes nothing.
    package static func session(_ database: String) -> Session {
        var settings = SessionSettings(
            database, name: "errand-metrics",
            setup: [
                "SET TimeZone = 'UTC'", "SET default_transaction_read_only = on",
                "SET statement_timeout = '2s'", "SET lock_timeout = '500ms'",
                // Its statements are short: compiling them would take longer than they do.
                "SET jit = off",
            ])
        settings.connectTimeout = .seconds(2)
        settings.timeLimit = .seconds(4)
        return Session(settings)
    }

    /// Reads all of it.
    ///
    /// - Throws: `PostgresError`
    package static func read(_ session: Session) async throws -> EngineNumbers {
        let answers = try await session.pipeline([
            Statement(Statements.queueDepths, [.null, .int64(countLimit)]),
            Statement(Statements.workerCounts), LeadRecord.statement, ScheduleHealth.statement,
            Statement(Statements.scheduleLateness),
        ])
        let held = try LeadRecord.records(answers[2]).filter { $0.backend != nil }
        return EngineNumbers(
            queues: try answers[0].map(QueueRecord.init),
            workers: try EngineStatus.Workers(answers[1][0]),
            leads: Lead.allCases.map { lead in
                (lead.rawValue, held.contains { $0.lead == lead })
            },
            schedules: try ScheduleHealth(answers[3][0]),
            scheduleLateness: .seconds(try answers[4][0].double("lateness")),
            now: try answers[4][0].timestamp("now"))
    }
}
