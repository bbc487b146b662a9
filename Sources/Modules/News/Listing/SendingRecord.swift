package import ErrandPostgres

/// The state of a sending.
package enum SendingState: String, Sendable, CaseIterable {
    case draft, running, paused, done, cancelled
}

/// A sending as operators see it.
package struct SendingRecord: Sendable {
    package var id: Int64
    package var kind: String
    package var audience: String
    package var version: String?
    package var headline: String
    package var summary: String
    package var body: String
    package var state: SendingState
    package var stateSince: Instant
    package var createdAt: Instant
    package var createdBy: String
    package var startedAt: Instant?
    package var startedBy: String?
    package var endedAt: Instant?
    package var chunkAt: Instant?
    /// The number of people it was for when it started.
    package var people: Int?
    package var notified: Int
    package var skipped: Int
    private var seenBefore: Int

    static let columns = """
        s.id, s.kind, s.audience, s.version, s.headline, s.summary, s.body,
        s.state::text AS state, s.state_since, s.created_at, s.created_by, s.started_at,
        s.started_by, s.ended_at, s.chunk_at, s.people, s.notified, s.skipped, s.seen_before
        """

    init(_ row: Row) throws {
        id = try row.int64("id")
        kind = try row.text("kind")
        audience = try row.text("audience")
        version = try row.optionalText("version")
        headline = try row.text("headline")
        summary = try row.text("summary")
        body = try row.text("body")
        let state = try row.text("state")
        guard let known = SendingState(rawValue: state) else {
            throw PostgresError.decoding("an unknown state of a sending: \(state)")
        }
        self.state = known
        stateSince = try row.timestamp("state_since")
        createdAt = try row.timestamp("created_at")
        createdBy = try row.text("created_by")
        startedAt = try row.optionalTimestamp("started_at")
        startedBy = try row.optionalText("started_by")
        endedAt = try row.optionalTimestamp("ended_at")
        chunkAt = try row.optionalTimestamp("chunk_at")
        people = try row.optionalInt64("people").map(Int.init)
        notified = Int(try row.int64("notified"))
        skipped = Int(try row.int64("skipped"))
        seenBefore = Int(try row.int64("seen_before"))
    }

    /// The number of people who are still to be notified; nil for a draft.
    package var left: Int? {
        guard let people, state != .draft else { return nil }
        return state == .done ? 0 : max(0, people - notified - skipped)
    }

    /// The people per second since it was started or resumed last; nil without a chunk since.
    package var rate: Double? {
        guard state == .running, let chunkAt else { return nil }
        let seconds = Double(chunkAt.microseconds - stateSince.microseconds) / 1_000_000
        let seen = notified + skipped - seenBefore
        return seconds > 0 && seen > 0 ? Double(seen) / seconds : nil
    }

    /// How long the rest takes at this rate; nil if it is not known.
    package var remaining: Duration? {
        guard let rate, let left else { return nil }
        return .seconds(Double(left) / rate)
    }
}
