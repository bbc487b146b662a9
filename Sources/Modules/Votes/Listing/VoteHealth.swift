package import ErrandPostgres

/// The counts of votes that the doctor checks.
package struct VoteHealth: Sendable, Equatable {
    /// The number of votes.
    package var votes: Int
    /// Open votes whose deadline passed more than a minute ago.
    package var overdue: Int
    /// Votes closed more than five minutes ago that are neither in review nor published.
    package var unpublished: Int
    /// Votes in review after the time limit.
    package var unreviewed: Int
    /// Votes in review within the time limit.
    package var inReview: Int
    /// Votes whose keys are not open, so that no ballot can be cast or counted.
    package var locked: Int
    /// The number of keys ready for new votes, and the target.
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

    /// Reads the counts as of an instant.
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
