package import Errand
package import ErrandPostgres

/// Applies the rules of retention of all modules, each in small batches.
package struct RunRetention: Job {
    package static let kind = "people.retention"
    /// Few attempts: the next night deletes the rest.
    package static let options = JobOptions(
        queue: "people", priority: .low, maxAttempts: 3, backoff: Backoff(base: 60, ceiling: 600),
        timeout: .seconds(4 * 3_600))
    /// The rows of one transaction: so few that their locks are held for some 10 ms.
    ///
    /// Rules whose rows take longer have a number of their own.
    package static let batch: Int32 = 500

    package init() {}

    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "20 3 * * *", run: RunRetention(), catchUp: .latest(within: .seconds(86_400)),
            overlap: .skip)
    }

    static func run(_ context: JobContext) async throws {
        let results = try await apply(in: context.database, now: Instant(date: context.now))
        for result in results where result.failure != nil || result.rows > 0 {
            let log = context.log.with("rule", result.rule).with("rows", result.rows)
            if let failure = result.failure {
                log.error("a rule of retention failed with \(failure)")
            } else {
                log.info("old rows were deleted")
            }
        }
        if let failed = results.first(where: { $0.failure != nil }) {
            throw RetentionFailure(rule: failed.rule, sqlState: failed.failure ?? "")
        }
    }

    /// What became of a rule.
    package struct Result: Sendable, Equatable {
        package var rule: String
        package var rows: Int
        /// The SQLSTATE of its failure; nil after a success.
        package var failure: String?
    }

    private static let rules = "SELECT name, batch FROM people.retention_rules ORDER BY name"
    private static let one = "SELECT people.run_rule($1, $2, false, $3)"
    private static let note = "SELECT people.note_run($1, $2, $3, $4, $5)"

    /// Applies all rules, or one; a rule that fails does not stop the others.
    package static func apply(
        only: String? = nil, in database: Pool, now: Instant, batch: Int32 = batch
    ) async throws -> [Result] {
        let rules = try await database.withSession { session in
            try await session.query(Self.rules).map { row in
                (name: try row.text("name"), batch: try row.optionalInt32("batch"))
            }
        }
        var results: [Result] = []
        for rule in rules where only == nil || only == rule.name {
            results.append(
                try await apply(
                    rule.name, in: database, now: now, batch: min(rule.batch ?? batch, batch)))
        }
        return results
    }

    private static func apply(
        _ rule: String, in database: Pool, now: Instant, batch: Int32
    ) async throws -> Result {
        var result = Result(rule: rule, rows: 0, failure: nil)
        try await database.withSession { session in
            _ = try await session.query(
                note, [.text(rule), .bool(true), .int64(0), .bool(false), .null])
        }
        do {
            var isDone = false
            while !isDone {
                try Task.checkCancellation()
                // The rows of a batch and their count are one commit.
                let rows = try await database.transaction { transaction in
                    let rows = try await transaction.query(
                        one, [.text(rule), .int32(batch), .timestamp(now)]
                    ).int64(0, 0)
                    _ = try await transaction.query(
                        note,
                        [
                            .text(rule), .bool(false), .int64(rows),
                            .bool(rows < Int64(batch)), .null,
                        ])
                    return rows
                }
                result.rows += Int(rows)
                isDone = rows < Int64(batch)
            }
        } catch let error as PostgresError {
            guard let state = error.sqlState else { throw error }
            result.failure = state
            try await database.withSession { session in
                _ = try await session.query(
                    note, [.text(rule), .bool(false), .int64(0), .bool(true), .text(state)])
            }
        }
        return result
    }
}

/// A rule of retention failed.
struct RetentionFailure: Error, CustomStringConvertible {
    var rule: String
    var sqlState: String

    var description: String {
        "the rule of retention \(rule) failed with SQLSTATE \(sqlState); 'errand retention ls' "
            + "shows all"
    }
}
