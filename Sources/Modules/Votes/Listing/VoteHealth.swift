package import ErrandPostgres

/// What the doctor asks of the votes.
package struct VoteHealth: Sendable, Equatable {
    /// Votes that there are.
    package var votes: Int
    /// Open ones whose end was more than a minute ago.
    package var overdue: Int
    /// Closed more than five minutes ago, and neither in review nor published.
    package var unpublished: Int
    /// In review, for longer than the rules let their initiators think.
    package var unreviewed: Int
    /// In review, within that time.
    package var inReview: Int
    /// Votes whose keys are not open: nobody can cast in these, or count them.
    package var locked: Int
    /// Keys that are ready for votes to come, and how many are meant to be.
    package var keys: Int
    package var keysAhead: Int

    private static let statement = """
        SELECT count(*) AS votes,
            count(*) FILTER (WHERE v.state = 'open'
                AND v.closes_at < $1::timestamptz - interval '1 minute') AS overdue,
            count(*) FILTER (WHERE v.state IN ('closed', 'counted')
                AND v.closed_at < $1::timestamptz - interval '5 minutes') AS unpublished,
            count(*) FILTER (WHERE v.state = 'review'
                AND v.review_until < $1::timestamptz - interval '5 minutes') AS unreviewed,
            count(*) FILTER (WHERE v.state = 'review'
                AND v.review_until >= $1::timestamptz - interval '5 minutes') AS in_review,
            (SELECT count(*) FROM votes.keys k LEFT JOIN votes.open_keys o ON o.key_id = k.id
                WHERE k.sealed IS NOT NULL AND k.vote_id IS NOT NULL AND o.key_id IS NULL)
                AS locked,
            (SELECT count(*) FROM votes.keys k JOIN votes.open_keys o ON o.key_id = k.id
                WHERE k.sealed IS NOT NULL AND k.vote_id IS NULL) AS keys,
            (SELECT r.keys_ahead FROM votes.rules r) AS keys_ahead
        FROM votes.votes v
        """

    /// As of an instant.
    package static func read(_ session: Session, now: Instant) async throws -> VoteHealth {
        let rows = try await session.query(statement, [.timestamp(now)])
        guard let row = rows.first else { throw PostgresError.decoding("no row") }
        func count(_ name: String) throws -> Int { Int(try row.int64(name)) }
        return VoteHealth(
            votes: try count("votes"), overdue: try count("overdue"),
            unpublished: try count("unpublished"), unreviewed: try count("unreviewed"),
            inReview: try count("in_review"), locked: try count("locked"),
            keys: try count("keys"), keysAhead: Int(try row.int32("keys_ahead")))
    }
}
