package import ErrandPostgres

/// Which threads are listed; nil filters nothing.
package struct ThreadFilter: Sendable {
    /// Only those that wait for an answer, the longest first.
    package var isWaiting = false
    package var person: Int64?
    package var mission: Int64?
    package var behind: Int64?
    package var limit = 50

    /// Creates a filter that matches all.
    package init() {}
}

/// Reads threads and messages.
package struct ThreadRows: Sendable {
    private let session: Session

    package init(session: Session) { self.session = session }

    private static let from = """
        FROM inquiries.threads t LEFT JOIN missions.missions m ON m.id = t.mission_id
        """
    private static let waiting = """
        SELECT \(ThreadRecord.columns) \(from)
        WHERE t.waiting_since IS NOT NULL AND ($1::bigint IS NULL OR t.person_id = $1)
          AND ($2::bigint IS NULL OR t.mission_id = $2)
          AND (t.waiting_since, t.id) > (coalesce((SELECT b.waiting_since
              FROM inquiries.threads b WHERE b.id = $3), '-infinity'), coalesce($3, 0))
        ORDER BY t.waiting_since, t.id LIMIT $4
        """
    private static let all = """
        SELECT \(ThreadRecord.columns) \(from)
        WHERE ($1::bigint IS NULL OR t.person_id = $1)
          AND ($2::bigint IS NULL OR t.mission_id = $2)
          AND t.id < coalesce($3, 9223372036854775807)
        ORDER BY t.id DESC LIMIT $4
        """

    /// Returns one page of threads: newest first, or those that wait the longest first.
    package func page(_ filter: ThreadFilter) async throws -> [ThreadRecord] {
        try await session.query(
            filter.isWaiting ? Self.waiting : Self.all,
            [
                .optional(filter.person), .optional(filter.mission), .optional(filter.behind),
                .int64(Int64(filter.limit)),
            ]
        ).map(ThreadRecord.init)
    }

    private static let one = "SELECT \(ThreadRecord.columns) \(from) WHERE t.id = $1"
    private static let messages = """
        SELECT m.id, m.at, m.actor, m.alerted_at, m.text
        FROM inquiries.messages m WHERE m.thread_id = $1 ORDER BY m.id
        """

    /// Returns a thread with its messages, oldest first; nil if it does not exist.
    package func thread(
        _ id: Int64
    ) async throws -> (thread: ThreadRecord, messages: [MessageRecord])? {
        let rows = try await session.pipeline(
            [Self.one, Self.messages].map { Statement($0, [.int64(id)]) })
        guard let row = rows[0].first else { return nil }
        return (try ThreadRecord(row), try rows[1].map(MessageRecord.init))
    }

    private static let late = """
        SELECT count(*),
            count(*) FILTER (WHERE m.alert_at < $1::timestamptz - interval '10 minutes')
        FROM inquiries.threads t CROSS JOIN LATERAL (
            SELECT min(w.alert_at) AS alert_at, count(w.alerted_at) AS alerted
            FROM inquiries.messages w
            WHERE w.thread_id = t.id AND w.at >= t.waiting_since AND w.actor IS NULL
        ) AS m
        WHERE t.waiting_since IS NOT NULL AND (m.alerted > 0 OR m.alert_at < $1)
        """
    private static let unanswered = """
        SELECT count(*) FROM inquiries.threads t
        WHERE t.closed_unanswered AND t.closed_at > $1::timestamptz - interval '7 days'
        """

    /// Returns the number of threads that have waited too long for an answer, of those whose alert
    /// no sweep has raised, and of those closed without an answer in the last 7 days.
    package func late(
        now: Instant
    ) async throws -> (waiting: Int, unswept: Int, unanswered: Int) {
        let rows = try await session.pipeline(
            [Self.late, Self.unanswered].map { Statement($0, [.timestamp(now)]) })
        return (
            Int(try rows[0].int64(0, 0)), Int(try rows[0].int64(0, 1)),
            Int(try rows[1].int64(0, 0))
        )
    }
}
