package import ErrandPostgres

/// What may be amiss with the schedules of a database.
package struct ScheduleHealth: Sendable {
    /// All schedules.
    package var count: Int
    /// Those that wait for someone to resume them.
    package var paused: Int
    /// Those of them that paused themselves because their jobs failed.
    package var pausedByFailures: Int
    /// Those that a scheduler should have dealt with a minute ago or earlier.
    package var overdue: Int
    /// The one of them that has waited longest.
    package var longestOverdue: String?
    /// Whether a process leads in running them.
    package var isLed: Bool
    /// The newest time-zone data with which a next time was computed.
    package var plannedWith: String?
    /// Schedules whose kind of job no program has declared, with that kind.
    package var undeclared: [(schedule: String, kind: String)]

    package static let statement = Statement(
        Statements.scheduleHealth, [.int64(Lead.scheduler.lock)])

    package init(_ row: Row) throws {
        count = Int(try row.int64("total"))
        paused = Int(try row.int64("paused"))
        pausedByFailures = Int(try row.int64("failed"))
        overdue = Int(try row.int64("overdue"))
        longestOverdue = try row.optionalText("longest")
        isLed = try row.bool("is_led")
        plannedWith = try row.optionalText("planned_with")
        undeclared = Array(zip(try row.textArray("asking"), try row.textArray("undeclared")))
    }
}

extension Schedules {
    /// Looks at all schedules.
    package func health() async throws -> ScheduleHealth {
        try ScheduleHealth(await session.query(ScheduleHealth.statement)[0])
    }
}
