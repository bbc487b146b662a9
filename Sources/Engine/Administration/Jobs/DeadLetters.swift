import Errand
package import ErrandPostgres

/// Dead letters of one kind whose errors differ only in numbers, ids and quoted texts.
package struct DeadGroup: Sendable {
    package var fingerprint: String
    package var kind: String
    package var count: Int
    package var firstSeen: Instant
    package var lastSeen: Instant
    /// The id of the newest dead letter.
    package var sample: Int64
    /// The common pattern of the errors.
    package var pattern: String
    /// The last error of the sample.
    package var error: String?

    init(_ row: Row, reveals: Bool) throws {
        let redaction = Redaction(
            args: try row.optionalJSON("args") ?? Array("{}".utf8),
            sensitive: reveals ? [] : Set(try row.looseTextArray("sensitive")))
        fingerprint = try row.optionalText("fingerprint") ?? ""
        kind = try row.text("kind")
        count = Int(try row.int64("count"))
        firstSeen = try row.timestamp("first_seen")
        lastSeen = try row.timestamp("last_seen")
        sample = try row.int64("sample")
        pattern = redaction.text(try row.text("pattern"))
        error = try row.optionalText("error").map(redaction.text)
    }
}

extension Inspector {
    /// Groups the dead letters that match a filter by their errors, the most frequent first.
    package func deadGroups(_ filter: JobFilter, limit: Int) async throws -> [DeadGroup] {
        var conditions = JobConditions()
        let condition = JobConditions.joined(try conditions.clauses(filter, .dead))
        let most = conditions.placeholder(.int64(Int64(limit)))
        return try await session.query(
            Statements.deadGroups(condition, limit: most), conditions.parameters, prepare: false
        ).map { try DeadGroup($0, reveals: reveals) }
    }
}

extension Statements {
    /// The groups of the CTE `grouped`, each with the error of its newest dead letter.
    static let describedGroups = """
        SELECT g.*, l.error, l.args, \(sensitive) AS sensitive,
            errand.error_pattern(l.error) AS pattern
        FROM grouped g
        LEFT JOIN LATERAL (
            SELECT coalesce(d.errors -> -1 ->> 'error', d.reason) AS error, d.args
            FROM errand.dead_jobs d WHERE d.id = g.sample
        ) l ON true
        """

    /// The groups of the dead letters that match a condition, each with its newest as a sample.
    fileprivate static func deadGroups(_ condition: String, limit: String) -> String {
        """
        WITH grouped AS (
            SELECT fingerprint, kind, count(*) AS count, min(finished_at) AS first_seen,
                max(finished_at) AS last_seen, max(id) AS sample
            FROM errand.dead_jobs WHERE \(condition)
            GROUP BY fingerprint, kind
            ORDER BY count(*) DESC, max(finished_at) DESC LIMIT \(limit)
        )
        \(describedGroups)
        ORDER BY g.count DESC, g.last_seen DESC
        """
    }
}
