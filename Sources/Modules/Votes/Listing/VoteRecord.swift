package import ErrandPostgres

/// Where a vote stands.
package enum VoteState: String, Sendable, CaseIterable {
    /// Or to be opened at its time.
    case open
    /// To be counted.
    case closed
    /// Its initiator looks at equal names.
    case review
    /// To be published.
    case counted
    case published, cancelled
}

/// A vote as operators see it: nothing of what was chosen before its result is out.
package struct VoteRecord: Sendable {
    package var id: Int64
    package var subject: String
    package var initiator: Int64
    package var state: VoteState
    package var opensAt: Instant
    package var closesAt: Instant
    package var expected: Int?
    package var participants: Int
    package var closedAt: Instant?
    package var closedFor: String?
    package var reviewUntil: Instant?
    /// Names that are to be decided.
    package var openExceptions: Int
    package var publishedAt: Instant?
    /// Of a published vote: how many ballots count.
    package var ballots: Int?
    package var root: [UInt8]?
    package var hasUnresolved: Bool
    package var place: String?
    package var hasPassword: Bool

    static let columns = """
        v.id, v.subject, v.initiator, v.state::text AS state, v.opens_at, v.closes_at, v.expected,
        (SELECT count(*) FROM votes.participants p WHERE p.vote_id = v.id) AS participants,
        v.closed_at, v.closed_for::text AS closed_for, v.review_until,
        (SELECT count(*) FROM votes.exceptions e WHERE e.vote_id = v.id AND e.state = 'open')
            AS open_exceptions,
        v.published_at, CASE WHEN v.state = 'published' THEN v.ballots END AS ballots,
        CASE WHEN v.state = 'published' THEN v.root END AS root, v.has_unresolved, v.place_name,
        votes.has_password(v.id) AS has_password
        """

    init(_ row: Row) throws {
        id = try row.int64("id")
        subject = try row.text("subject")
        initiator = try row.int64("initiator")
        let word = try row.text("state")
        guard let state = VoteState(rawValue: word) else {
            throw PostgresError.decoding("a vote is \(word), which this program does not know")
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
        ballots = try row.optionalInt32("ballots").map(Int.init)
        root = try row.optionalBytes("root")
        hasUnresolved = try row.bool("has_unresolved")
        place = try row.optionalText("place_name")
        hasPassword = try row.bool("has_password")
    }
}

/// An option of a vote; what it got, once the result is out.
package struct VoteOption: Sendable {
    package var number: Int
    package var label: String
    package var ballots: Int?
}

/// An entry of a name that several of those who cast have.
package struct ExceptionEntry: Sendable {
    package var nameKey: String
    /// open, validated, rejected or unresolved.
    package var state: String
    package var person: Int64
    package var name: String?
    package var address: String?
    package var isRejected: Bool
    /// Who decided, and why.
    package var actor: String?
    package var reason: String?
}
