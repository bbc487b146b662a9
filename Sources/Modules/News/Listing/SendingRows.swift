package import ErrandPostgres

/// Reads sendings.
package struct SendingRows: Sendable {
    private let session: Session

    package init(session: Session) { self.session = session }

    private static let page = """
        SELECT \(SendingRecord.columns) FROM news.sendings s
        WHERE ($1::text IS NULL OR s.state::text = $1)
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

    /// Counts the people whom a draft, or a new sending with these people, would be for at a time.
    package func count(
        _ audience: String, sending: Int64?, people: [Int64]?, now: Instant
    ) async throws -> Int {
        if let people, sending == nil {
            return Int(
                try await session.query(
                    "SELECT count(*) FROM people.people p WHERE p.id = ANY ($1)",
                    [.int64Array(people)]
                ).int64(0, 0))
        }
        return Int(
            try await session.query(
                "SELECT news.count_people($1, $2, $3)",
                [.text(audience), .optional(sending), .timestamp(now)]
            ).int64(0, 0))
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
