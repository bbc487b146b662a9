package import ErrandPostgres

/// The state of a vote.
package enum VoteState: String, Sendable, CaseIterable {
    /// Open, or scheduled to open.
    case open
    /// Waits for the count.
    case closed
    /// The initiator resolves equal names.
    case review
    /// Waits for the publication.
    case counted
    case published, cancelled
}

/// A vote for operators, without ballots until its result is published.
package struct VoteRecord: Sendable {
    package var id: Int64
    package var subject: String
    package var initiator: Int64
    /// The name under which the initiator is shown.
    package var initiatorName: String?
    package var state: VoteState
    package var opensAt: Instant
    package var closesAt: Instant
    package var expected: Int?
    package var participants: Int
    package var closedAt: Instant?
    package var closedFor: String?
    package var reviewUntil: Instant?
    /// The number of unresolved names.
    package var openExceptions: Int
    package var publishedAt: Instant?
    /// The number of participants who have cast a ballot, of a published vote.
    package var cast: Int?
    /// The number of ballots that count, of a published vote.
    package var ballots: Int?
    package var root: [UInt8]?
    package var hasUnresolved: Bool
    package var place: String?
    package var hasPassword: Bool
    /// Whether joining needs an address.
    package var asksAddress: Bool

    static let columns = """
        v.id, v.subject, v.initiator, v.initiator_name, v.state::text AS state, v.opens_at,
        v.closes_at, v.expected,
        (SELECT count(*) FROM votes.participants p WHERE p.vote_id = v.id) AS participants,
        v.closed_at, v.closed_for::text AS closed_for, v.review_until,
        (SELECT count(*) FROM votes.exceptions e WHERE e.vote_id = v.id AND e.state = 'open')
            AS open_exceptions,
        v.published_at, CASE WHEN v.state = 'published' THEN v.ballots END AS ballots,
        CASE WHEN v.state = 'published' THEN v.voters END AS voters,
        CASE WHEN v.state = 'published' THEN v.root END AS root, v.has_unresolved, v.place_name,
        votes.has_password(v.id) AS has_password, v.asks_address
        """

    init(_ row: Row) throws {
        id = try row.int64("id")
        subject = try row.text("subject")
        initiator = try row.int64("initiator")
        initiatorName = try row.optionalText("initiator_name")
        let word = try row.text("state")
        guard let state = VoteState(rawValue: word) else {
            throw PostgresError.decoding("unknown vote state \(word)")
        }
        self.state = state
        opensAt = try row.timestamp("opens_at")
        closesAt = try row.timestamp("closes_at")
        expected = try row.optionalInt32("expected").map(Int.init)
        participants = Int(try row.int64("participants"))
        closedAt = try row.optionalTimestamp("closed_at")
        closedFor = try row.optionalText("closed_for")
        reviewUntil = try row.optionalTimestamp("review_until")
        openExceptions = Int(try row.int64("open_exceptions"))
        publishedAt = try row.optionalTimestamp("published_at")
        cast = try row.optionalInt32("voters").map(Int.init)
        ballots = try row.optionalInt32("ballots").map(Int.init)
        root = try row.optionalBytes("root")
        hasUnresolved = try row.bool("has_unresolved")
        place = try row.optionalText("place_name")
        hasPassword = try row.bool("has_password")
        asksAddress = try row.bool("asks_address")
    }
}

/// An option of a vote, with its ballots once the result is published.
package struct VoteOption: Sendable {
    package var number: Int
    package var label: String
    package var ballots: Int?
}

/// A voter whose name several voters entered.
package struct ExceptionEntry: Sendable {
    package var nameKey: String
    /// open, validated, rejected or unresolved.
    package var state: String
    package var person: Int64
    package var name: String?
    package var address: String?
    package var isRejected: Bool
    /// The author of the decision, and the reason.
    package var actor: String?
    package var reason: String?
}
