package import ErrandPostgres

/// A rule of retention and its last run.
package struct RetentionRecord: Sendable {
    package var name: String
    package var module: String
    /// As PostgreSQL writes it, such as `90 days`.
    package var keep: String
    package var description: String
    package var startedAt: Instant?
    package var endedAt: Instant?
    package var rows: Int?
    package var total: Int?
    /// The SQLSTATE of the last run's failure.
    package var failure: String?

    init(_ row: Row) throws {
        name = try row.text("name")
        module = try row.text("module")
        keep = try row.text("keep")
        description = try row.text("description")
        startedAt = try row.optionalTimestamp("started_at")
        endedAt = try row.optionalTimestamp("ended_at")
        rows = try row.optionalInt64("rows").map(Int.init)
        total = try row.optionalInt64("total").map(Int.init)
        failure = try row.optionalText("failure")
    }
}

/// Reads and changes the rules of retention.
package struct RetentionRows: Sendable {
    private let session: Session

    package init(session: Session) { self.session = session }

    private static let all = """
        SELECT r.name, r.module, r.keep::text AS keep, r.description, n.started_at, n.ended_at,
            n.rows, n.total, n.failure
        FROM people.retention_rules r LEFT JOIN people.retention_runs n ON n.rule = r.name
        ORDER BY r.name
        """

    /// Returns the rules, by name.
    package func rules() async throws -> [RetentionRecord] {
        try await session.query(Self.all).map(RetentionRecord.init)
    }

    private static let count = "SELECT people.run_rule($1, $2, true, $3)"

    /// Counts the rows that a run of a rule would delete, up to a limit.
    package func count(_ rule: String, upTo limit: Int32, now: Instant) async throws -> Int {
        Int(
            try await session.query(
                Self.count, [.text(rule), .int32(limit), .timestamp(now)]
            ).int64(0, 0))
    }

    private static let set = """
        UPDATE people.retention_rules SET keep = $2::interval WHERE name = $1
        RETURNING keep::text
        """

    /// Changes how long a rule keeps rows, and writes the audit line; nil if no rule has the name.
    package func set(_ rule: String, keep: String, note: Statement) async throws -> String? {
        try await session.transaction { session in
            let rows = try session.query(Self.set, [.text(rule), .text(keep)])
            guard let row = rows.first else { return nil }
            _ = try session.pipeline([note])
            return try row.text(0)
        }
    }
}
