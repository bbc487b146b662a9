package import ErrandPostgres

/// Reads sendings.
package struct SendingRows: Sendable {
    private let session: Session

    package init(session: Session) { self.session = session }

    private static let page = """
        SELECT \(SendingRecord.columns) FROM news.sendings s
        WHERE ($1::text IS NULL OR s.state = $1::news.sending_state)
          AND s.id < coalesce($2, 9223372036854775807)
        ORDER BY s.id DESC LIMIT $3
        """

    /// Returns one page of sendings, newest first.
    package func page(
        _ state: SendingState?, behind: Int64?, limit: Int
    ) async throws -> [SendingRecord] {
        try await session.query(
            Self.page, [.optional(state?.rawValue), .optional(behind), .int64(Int64(limit))]
        ).map(SendingRecord.init)
    }

    private static let one = """
        SELECT \(SendingRecord.columns) FROM news.sendings s WHERE s.id = $1
        """

    /// Returns a sending; nil if it does not exist.
    package func sending(_ id: Int64) async throws -> SendingRecord? {
        try await session.query(Self.one, [.int64(id)]).first.map(SendingRecord.init)
    }

    private static let check = "SELECT news.expect_draft($1, $2, $3, $4, $5, $6, $7)"
    private static let size = "SELECT news.expect_size($1, $2)"
    private static let countList = """
        SELECT count(*) FROM people.people p
        WHERE p.id = ANY ($1) AND p.blocked_at IS NULL AND p.erased_at IS NULL
        """
    private static let countPeople = "SELECT news.count_people($1, $2, $3)"

    /// Checks a draft as it is checked when it is recorded and started, and counts the people whom
    /// it would be for at a time.
    ///
    /// - Parameter sending: the id of a draft that is recorded; nil for a new one.
    /// - Throws: ``SendingError`` for what cannot be sent.
    package func check(
        _ draft: SendingDraft, sending: Int64?, now: Instant
    ) async throws -> Int {
        do {
            if sending == nil {
                _ = try await session.query(Self.check, draft.parameters)
            }
            let count =
                if let people = draft.people, sending == nil {
                    try await session.query(Self.countList, [.int64Array(people)]).int64(0, 0)
                } else {
                    try await session.query(
                        Self.countPeople,
                        [.text(draft.audience), .optional(sending), .timestamp(now)]
                    ).int64(0, 0)
                }
            _ = try await session.query(Self.size, [.text(draft.body), .int64(count)])
            return Int(count)
        } catch {
            throw SendingError.of(error)
        }
    }

    private static let stuck = """
        SELECT s.id, s.state = 'running' FROM news.sendings s
        WHERE s.state = 'paused' AND s.state_since < $1::timestamptz - interval '1 day'
            OR s.state = 'running'
              AND greatest(s.chunk_at, s.state_since) < $1::timestamptz - interval '10 minutes'
        ORDER BY s.id
        """

    /// Returns the sendings that were paused over a day ago, and those that run without a chunk in
    /// the last ten minutes.
    package func stuck(now: Instant) async throws -> [(id: Int64, isRunning: Bool)] {
        try await session.query(Self.stuck, [.timestamp(now)]).map {
            (try $0.int64(0), try $0.bool(1))
        }
    }
}
