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
    /// Votes whose keys are lost, so that they can never be counted.
    package var lost: [Int64]
    /// The sessions that hold up the destruction of keys, the oldest first.
    package var holders: [KeyHolder]
    /// The number of keys ready for new votes, and the target.
    package var keys: Int
    package var keysAhead: Int

    /// A session with a transaction that holds up the destruction of keys.
    package struct KeyHolder: Sendable, Equatable {
        package var pid: Int
        package var role: String
        package var applicationName: String
        package var since: Instant
    }

    private static let lostVotes = "SELECT id FROM votes.lost_votes() AS id"
    private static let keyHolders = """
        SELECT pid, role, application_name, since FROM votes.key_holders()
        """
    private static let statement = """
        SELECT count(v.id) AS votes,
            count(*) FILTER (WHERE v.state = 'open'
                AND v.closes_at < $1::timestamptz - interval '1 minute') AS overdue,
            count(*) FILTER (WHERE v.state IN ('closed', 'counted')
                AND v.closed_at < $1::timestamptz - interval '5 minutes') AS unpublished,
            count(*) FILTER (WHERE v.state = 'review'
                AND v.review_until < $1::timestamptz - interval '5 minutes') AS unreviewed,
            count(*) FILTER (WHERE v.state = 'review'
                AND v.review_until >= $1::timestamptz - interval '5 minutes') AS in_review,
            k.closed AS locked, k.ready AS keys,
            (SELECT r.keys_ahead FROM votes.rules r) AS keys_ahead
        FROM votes.key_counts() k LEFT JOIN votes.votes v ON true
        GROUP BY k.closed, k.ready
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
            lost: try await session.query(lostVotes).map { try $0.int64(0) },
            holders: try await session.query(keyHolders).map(KeyHolder.init),
            keys: try count("keys"),
            keysAhead: Int(try row.int32("keys_ahead")))
    }
}

extension VoteHealth.KeyHolder {
    init(_ row: Row) throws {
        pid = Int(try row.int32("pid"))
        role = try row.text("role")
        applicationName = try row.text("application_name")
        since = try row.timestamp("since")
    }
}
