package import ErrandPostgres

/// The counts of erasures and retention that the doctor checks.
package struct PeopleHealth: Sendable, Equatable {
    /// Open erasures.
    package var open: Int
    /// Open erasures that are not finished by their target, and those among them that are overdue.
    package var late: Int
    package var overdue: Int
    /// Open erasures with a failure, and the first of these failures.
    package var failing: Int
    package var failure: String?
    /// People erased since the list of suppressions was last written.
    package var unlisted: Int
    /// The first rule of retention that failed.
    package var failedRule: String?
    /// The rules of retention that have not run for two days, and the first of them.
    package var idle: Int
    package var idleRule: String?

    private static let statement = """
        WITH idle AS (
            SELECT q.name
            FROM people.retention_rules q LEFT JOIN people.retention_runs r ON r.rule = q.name
            -- Rules come with migrations, and first run in the night after.
            WHERE greatest(r.started_at, (SELECT max(g.applied_at) FROM errand.migrations g
                    WHERE g.module = q.module)) < $1::timestamptz - interval '2 days'
                AND EXISTS (SELECT FROM people.people)
        )
        SELECT count(*) AS open,
            count(*) FILTER (WHERE e.target_at <= $1) AS late,
            count(*) FILTER (WHERE e.due_at <= $1) AS overdue,
            count(e.failure) AS failing, min(e.failure) AS failure,
            (SELECT count(*) FROM people.erasures f
             WHERE f.state = 'finished' AND f.ended_at > coalesce((
                SELECT max(a.at) FROM errand.audit a WHERE a.action = 'person suppressions'),
                '-infinity')) AS unlisted,
            (SELECT min(r.rule) FROM people.retention_runs r WHERE r.failure IS NOT NULL)
                AS failed_rule,
            (SELECT count(*) FROM idle) AS idle, (SELECT min(i.name) FROM idle i) AS idle_rule
        FROM people.erasures e WHERE e.state IN ('requested', 'running')
        """

    /// Reads the counts as of an instant.
    package static func read(_ session: Session, now: Instant) async throws -> PeopleHealth {
        let rows = try await session.query(statement, [.timestamp(now)])
        guard let row = rows.first else { throw PostgresError.decoding("no row") }
        return PeopleHealth(
            open: Int(try row.int64("open")), late: Int(try row.int64("late")),
            overdue: Int(try row.int64("overdue")), failing: Int(try row.int64("failing")),
            failure: try row.optionalText("failure"), unlisted: Int(try row.int64("unlisted")),
            failedRule: try row.optionalText("failed_rule"),
            idle: Int(try row.int64("idle")), idleRule: try row.optionalText("idle_rule"))
    }
}
