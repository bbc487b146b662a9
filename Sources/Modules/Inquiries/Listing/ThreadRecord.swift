package import ErrandPostgres

/// A thread as operators see it, without its messages.
package struct ThreadRecord: Sendable {
    package var id: Int64
    package var person: Int64
    package var mission: Int64?
    package var missionTitle: String?
    /// waiting, answered, closed, or unanswered: closed without an answer.
    package var state: String
    package var openedAt: Instant
    package var lastAt: Instant
    package var waitingSince: Instant?
    /// The person's first message since the last answer.
    package var waitingFrom: Int64?
    /// Whether a message waits for longer than it takes to alert operators.
    package var isLate: Bool
    package var messages: Int
    package var closedAt: Instant?
    package var closedBy: String?

    /// The columns of `t`, a thread, and `m`, its mission or nulls.
    ///
    /// - Parameter now: the parameter with the time, such as `$2`.
    static func columns(now: String) -> String {
        """
        t.id, t.person_id, t.mission_id, m.title,
        CASE WHEN t.closed_unanswered THEN 'unanswered' WHEN t.closed_at IS NOT NULL THEN 'closed'
            WHEN t.waiting_since IS NOT NULL THEN 'waiting' ELSE 'answered' END AS state,
        t.opened_at, t.last_at, t.waiting_since, t.waiting_from, t.closed_at, t.closed_by,
        t.waiting_from IS NOT NULL AND EXISTS (SELECT FROM inquiries.messages w
            WHERE w.thread_id = t.id AND w.id >= t.waiting_from
              AND (w.alerted_at IS NOT NULL OR w.alert_at <= \(now))) AS is_late,
        (SELECT count(*) FROM inquiries.messages c WHERE c.thread_id = t.id) AS messages
        """
    }

    init(_ row: Row) throws {
        id = try row.int64("id")
        person = try row.int64("person_id")
        mission = try row.optionalInt64("mission_id")
        missionTitle = try row.optionalText("title")
        state = try row.text("state")
        openedAt = try row.timestamp("opened_at")
        lastAt = try row.timestamp("last_at")
        waitingSince = try row.optionalTimestamp("waiting_since")
        waitingFrom = try row.optionalInt64("waiting_from")
        isLate = try row.bool("is_late")
        messages = Int(try row.int64("messages"))
        closedAt = try row.optionalTimestamp("closed_at")
        closedBy = try row.optionalText("closed_by")
    }
}

/// A message of a thread.
package struct MessageRecord: Sendable {
    package var id: Int64
    package var at: Instant
    /// The agent who wrote it; nil for the person.
    package var actor: String?
    /// When operators were alerted of it.
    package var alertedAt: Instant?
    package var text: String

    init(_ row: Row) throws {
        id = try row.int64("id")
        at = try row.timestamp("at")
        actor = try row.optionalText("actor")
        alertedAt = try row.optionalTimestamp("alerted_at")
        text = try row.text("text")
    }
}
