import Errand
package import ErrandPostgres

/// The operators' changes of votes; each is recorded in the audit log.
///
/// - Throws: ``VoteError`` if the schema refuses a change.
package struct VoteChanges: Sendable {
    private let session: Session
    private let actor: String

    package init(session: Session, actor: String) {
        self.session = session
        self.actor = actor
    }

    private func run<Value: Sendable>(
        _ action: String, _ vote: Int64?, reason: String?, _ sql: String,
        _ parameters: [Parameter], read: @escaping @Sendable (Rows) throws -> Value
    ) async throws -> Value {
        let line = AuditLine(
            operatorName: actor, action: "vote \(action)",
            subject: vote.map { "vote \($0)" } ?? "votes", reason: reason, change: nil)
        do {
            return try await session.transaction { session in
                let rows = try session.pipeline([CloseVote.limit, Statement(sql, parameters)])
                let value = try read(rows[1])
                _ = try session.pipeline([line.statement])
                return value
            }
        } catch let error as PostgresError {
            if let refusal = VoteError(error) { throw refusal }
            throw error
        }
    }

    /// Closes a vote now; returns false if it was already closed.
    package func close(_ vote: Int64, reason: String?) async throws -> Bool {
        try await run(
            "close", vote, reason: reason, "SELECT votes.close($1, true) IS NOT NULL",
            [.int64(vote)]
        ) { try $0.bool(0, 0) }
    }

    /// Resolves the entries of one name; returns the number of unresolved names.
    ///
    /// - Parameter rejected: the people whose ballots are excluded from the count; empty if all
    ///   count.
    package func decide(
        _ vote: Int64, name: String, rejected: [Int64], reason: String?
    ) async throws -> Int {
        try await run(
            "resolve", vote, reason: reason, "SELECT votes.decide($1, $2, $3, $4, $5)",
            [
                .int64(vote), .text(name), .int64Array(rejected), .text(actor), .optional(reason),
            ]
        ) { Int(try $0.int64(0, 0)) }
    }

    /// Ends a review early: unresolved names count, and the result states that.
    package func endReview(_ vote: Int64, now: Instant, reason: String?) async throws -> Bool {
        try await run(
            "publish", vote, reason: reason, "SELECT votes.end_review($1, $2, true)",
            [.int64(vote), .timestamp(now)]
        ) { try $0.bool(0, 0) }
    }

    /// Enqueues the count or publication of a vote again; returns false if it awaits neither.
    package func goOn(_ vote: Int64, reason: String?) async throws -> Bool {
        try await run(
            "publish", vote, reason: reason, Self.goOn,
            [.int64(vote), .text(CountVote.kind), .text(PublishVote.kind)]
        ) { !$0.isEmpty }
    }

    private static let goOn = """
        SELECT errand.enqueue(CASE state WHEN 'closed' THEN $2 ELSE $3 END,
            jsonb_build_object('vote_id', id))
        FROM votes.votes WHERE id = $1 AND state IN ('closed', 'counted')
        """

    /// Erases a person from one vote or all; returns the number of votes.
    package func erase(_ person: Int64, vote: Int64?, reason: String?) async throws -> Int {
        try await run(
            "erase", vote, reason: reason, "SELECT votes.forget($1, $2)",
            [.int64(person), .optional(vote)]
        ) { Int(try $0.int64(0, 0)) }
    }
}
