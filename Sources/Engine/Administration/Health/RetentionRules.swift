import Errand
import ErrandPostgres

/// What is kept for how long in a table of the engine, as `Retention` applies it.
package struct RetentionRule: Sendable {
    /// The table; daily partitions are combined.
    package var table: String
    package var holds: String
    package var kept: String
    /// The approximate number of rows.
    package var rows = 0
    /// The size with its indexes, in bytes.
    package var size = 0

    /// The rules, in the order of the life of a job.
    static let all = [
        RetentionRule("jobs", "waiting and running jobs", "until they finish"),
        RetentionRule("lane_starts", "where the jobs of lanes start", "while the lane is in use"),
        RetentionRule(
            "unique_keys", "unique keys", "until the job finished and the period is over"),
        RetentionRule("once_effects", "recorded effects", "while the job may be retried"),
        RetentionRule(
            "finished_jobs", "completed and cancelled jobs",
            "as the job or its kind says, 7 days by default"),
        RetentionRule(
            "finished_jobs_long", "those of a retention without daily partitions",
            "as the job or its kind says, up to 10 years"),
        RetentionRule("dead_jobs", "dead letters", "until an operator redrives or discards them"),
        RetentionRule("activity", "rates and durations", "25 hours"),
        RetentionRule("schedules", "schedules", "until an operator removes them"),
        RetentionRule("schedule_occurrences", "runs of schedules", "90 days"),
        RetentionRule("schedule_misses", "missed runs of schedules", "90 days"),
        RetentionRule("workers", "workers", "until they stop or their lease is over"),
        RetentionRule("leaders", "who holds the roles", "until another one takes the role"),
        RetentionRule(
            "queues", "queues", "90 days after the last job, unless paused, limited or declared"),
        RetentionRule("kinds", "kinds", "90 days after the last worker or job"),
        RetentionRule("operations", "bulk operations", "90 days after they end"),
        RetentionRule("audit", "changes by operators", "400 days"),
        RetentionRule("demo_ledger", "rows of the kind demo.ledger", "30 days"),
    ]

    private init(_ table: String, _ holds: String, _ kept: String) {
        self.table = table
        self.holds = holds
        self.kept = kept
    }
}

extension Inspector {
    /// The retention of each table of the engine, with its size.
    package func retention() async throws -> [RetentionRule] {
        let tables = try await session.query(Statements.databaseTables, []).map { row in
            (
                name: try row.text("name"), rows: Int(try row.int64("rows")),
                size: Int(try row.int64("size"))
            )
        }
        return RetentionRule.all.map { rule in
            var rule = rule
            if let table = tables.first(where: { $0.name == rule.table }) {
                rule.rows = table.rows
                rule.size = table.size
            }
            return rule
        }
    }
}
