package import ErrandPostgres

/// Which threads are listed; nil filters nothing.
package struct ThreadFilter: Sendable {
    /// Only those that wait for an answer, the longest first.
    package var isWaiting = false
    package var person: Int64?
    package var mission: Int64?
    /// The last thread of the page before; of those that wait, its ``ThreadRecord/waitingFrom``.
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
        SELECT \(ThreadRecord.columns(now: "$5")) \(from)
        WHERE t.waiting_from > coalesce($3, 0) AND ($1::bigint IS NULL OR t.person_id = $1)
          AND ($2::bigint IS NULL OR t.mission_id = $2)
        ORDER BY t.waiting_from LIMIT $4
        """
    private static let all = """
        SELECT \(ThreadRecord.columns(now: "$5")) \(from)
        WHERE ($1::bigint IS NULL OR t.person_id = $1)
          AND ($2::bigint IS NULL OR t.mission_id = $2)
          AND t.id < coalesce($3, 9223372036854775807)
        ORDER BY t.id DESC LIMIT $4
        """

    /// Returns one page of threads: newest first, or those that wait the longest first.
    package func page(_ filter: ThreadFilter, now: Instant) async throws -> [ThreadRecord] {
        try await session.query(
            filter.isWaiting ? Self.waiting : Self.all,
            [
                .optional(filter.person), .optional(filter.mission), .optional(filter.behind),
                .int64(Int64(filter.limit)), .timestamp(now),
            ]
        ).map(ThreadRecord.init)
    }

    private static let one =
        "SELECT \(ThreadRecord.columns(now: "$2")) \(from) WHERE t.id = $1"
    private static let messages = """
        SELECT m.id, m.at, m.actor, m.alerted_at, m.text
        FROM inquiries.messages m WHERE m.thread_id = $1 ORDER BY m.id
        """

    /// Returns a thread with its messages, oldest first; nil if it does not exist.
    package func thread(
        _ id: Int64, now: Instant
    ) async throws -> (thread: ThreadRecord, messages: [MessageRecord])? {
        let rows = try await session.pipeline([
            Statement(Self.one, [.int64(id), .timestamp(now)]),
            Statement(Self.messages, [.int64(id)]),
        ])
        guard let row = rows[0].first else { return nil }
        return (try ThreadRecord(row), try rows[1].map(MessageRecord.init))
    }

    private static let late = """
        SELECT t.id, coalesce(m.alert_at < $1::timestamptz - interval '10 minutes', false)
        FROM inquiries.threads t CROSS JOIN LATERAL (
            SELECT min(w.alert_at) AS alert_at, count(w.alerted_at) AS alerted
            FROM inquiries.messages w
            WHERE w.thread_id = t.id AND w.id >= t.waiting_from AND w.actor IS NULL
        ) AS m
        WHERE t.waiting_from IS NOT NULL AND (m.alerted > 0 OR m.alert_at < $1)
        ORDER BY t.waiting_from
        """
    private static let takesAlerts = """
        SELECT EXISTS (SELECT FROM notification.endpoints e
            WHERE e.owner = 'operator' AND e.disabled_at IS NULL
              AND e.events && '{inquiry.waiting,*}')
        """
    private static let unanswered = """
        SELECT count(*) FROM inquiries.threads t
        WHERE t.closed_unanswered AND t.closed_at > $1::timestamptz - interval '7 days'
        """

    /// What waits too long for an answer.
    package struct Late: Sendable {
        /// The number of threads.
        package var waiting: Int
        /// Of these, those whose alert is over 10 minutes late, the longest first.
        package var notAlerted: [Int64]
        /// Whether an endpoint takes alerts.
        package var takesAlerts: Bool
        /// The number of threads that were closed without an answer in the last 7 days.
        package var unanswered: Int
    }

    /// Returns what waits too long for an answer.
    package func late(now: Instant) async throws -> Late {
        let rows = try await session.pipeline([
            Statement(Self.late, [.timestamp(now)]), Statement(Self.takesAlerts),
            Statement(Self.unanswered, [.timestamp(now)]),
        ])
        return Late(
            waiting: rows[0].count,
            notAlerted: try rows[0].filter { try $0.bool(1) }.map { try $0.int64(0) },
            takesAlerts: try rows[1].bool(0, 0), unanswered: Int(try rows[2].int64(0, 0)))
    }
}
