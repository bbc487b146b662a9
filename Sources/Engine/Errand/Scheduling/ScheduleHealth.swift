package import ErrandPostgres

/// The health of the schedules of a database.
package struct ScheduleHealth: Sendable {
    /// The number of schedules.
    package var count: Int
    /// The number of paused schedules.
    package var paused: Int
    /// The number of schedules that are paused because their jobs failed.
    package var pausedByFailures: Int
    /// The number of schedules that are overdue by a minute or more.
    package var overdue: Int
    /// The schedule that has been overdue for the longest time.
    package var longestOverdue: String?
    /// Whether a scheduler is running.
    package var hasScheduler: Bool
    /// The newest version of time-zone data with which a next time was computed.
    package var plannedWith: String?
    /// The schedules whose kind of job no program has declared, with that kind.
    package var undeclared: [(schedule: String, kind: String)]

    package static let statement = Statement(Statements.scheduleHealth)

    package init(_ row: Row) throws {
        count = Int(try row.int64("total"))
        paused = Int(try row.int64("paused"))
        pausedByFailures = Int(try row.int64("failed"))
        overdue = Int(try row.int64("overdue"))
        longestOverdue = try row.optionalText("longest")
        hasScheduler = try row.bool("is_led")
        plannedWith = try row.optionalText("planned_with")
        undeclared = Array(zip(try row.textArray("asking"), try row.textArray("undeclared")))
    }
}

extension Schedules {
    /// Checks all schedules.
    package func health() async throws -> ScheduleHealth {
        try ScheduleHealth(await session.query(ScheduleHealth.statement)[0])
    }
}
