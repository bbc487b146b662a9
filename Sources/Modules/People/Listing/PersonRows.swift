package import ErrandPostgres

/// The state of a person's account.
package enum PersonState: String, Sendable, CaseIterable {
    case active, blocked, erased
}

/// A person, without address, birth date and other facts.
package struct PersonRecord: Sendable {
    package var id: Int64
    package var state: PersonState
    package var createdAt: Instant
    package var lastSeenAt: Instant
    package var timeZone: String
    package var blockedAt: Instant?
    package var erasedAt: Instant?
    /// What keeps the person from money and goods, or `none`.
    package var obstacle: String

    init(_ row: Row) throws {
        id = try row.int64("id")
        state = PersonState(rawValue: try row.text("state")) ?? .active
        createdAt = try row.timestamp("created_at")
        lastSeenAt = try row.timestamp("last_seen_at")
        timeZone = try row.text("time_zone")
        blockedAt = try row.optionalTimestamp("blocked_at")
        erasedAt = try row.optionalTimestamp("erased_at")
        obstacle = try row.text("obstacle")
    }
}

/// A consent of a person.
package struct ConsentRecord: Sendable {
    package var what: String
    package var version: String
    package var givenAt: Instant
    package var replacedAt: Instant?
    package var withdrawnAt: Instant?

    init(_ row: Row) throws {
        what = try row.text("what")
        version = try row.text("version")
        givenAt = try row.timestamp("given_at")
        replacedAt = try row.optionalTimestamp("replaced_at")
        withdrawnAt = try row.optionalTimestamp("withdrawn_at")
    }
}

/// Reads the rows of people.
package struct PersonRows: Sendable {
    private let session: Session

    package init(session: Session) { self.session = session }

    private static let columns = """
        id, created_at, last_seen_at, time_zone, blocked_at, erased_at,
            people.obstacle(id) AS obstacle,
            CASE WHEN erased_at IS NOT NULL THEN 'erased'
                WHEN blocked_at IS NOT NULL THEN 'blocked' ELSE 'active' END AS state
        """
    /// Each in the words of an index; nobody is erased without being blocked.
    private static func page(_ state: PersonState?) -> String {
        let condition =
            switch state {
            case nil: "true"
            case .active: "blocked_at IS NULL"
            case .blocked: "blocked_at IS NOT NULL AND erased_at IS NULL"
            case .erased: "erased_at IS NOT NULL"
            }
        return """
            SELECT \(columns) FROM people.people
            WHERE id < coalesce($1::bigint, 9223372036854775807) AND \(condition)
            ORDER BY id DESC LIMIT $2
            """
    }
    private static let one = "SELECT \(columns) FROM people.people WHERE id = $1"
    private static let consents = """
        SELECT what, version, given_at, replaced_at, withdrawn_at
        FROM people.consents WHERE person_id = $1 ORDER BY id
        """

    /// Returns one page of people, newest id first.
    package func page(
        state: PersonState?, behind: Int64?, limit: Int
    ) async throws -> [PersonRecord] {
        try await session.query(
            Self.page(state), [.optional(behind), .int64(Int64(limit))]
        ).map(PersonRecord.init)
    }

    /// Returns a person and their consents; nil if nobody has the id.
    package func person(
        _ id: Int64
    ) async throws -> (person: PersonRecord, consents: [ConsentRecord])? {
        let rows = try await session.pipeline(
            [Self.one, Self.consents].map { Statement($0, [.int64(id)]) })
        guard let row = rows[0].first else { return nil }
        return (try PersonRecord(row), try rows[1].map(ConsentRecord.init))
    }

    private static let data = """
        SELECT CASE WHEN EXISTS (SELECT FROM people.people WHERE id = $1)
            THEN people.personal_data($1) END AS data
        """
    private static let facts = "SELECT people.facts_of($1) AS facts"

    /// Returns a person's facts as JSON, addresses included.
    package func facts(of id: Int64) async throws -> [UInt8]? {
        try await session.query(Self.facts, [.int64(id)]).first?.optionalJSON("facts")
    }

    /// Returns all that is known of a person as JSON, and writes the audit line; nil if nobody has
    /// the id.
    package func export(_ id: Int64, note: Statement) async throws -> [UInt8]? {
        try await session.transaction { session in
            let data = try session.query(Self.data, [.int64(id)]).first?.optionalJSON("data")
            if data != nil { _ = try session.pipeline([note]) }
            return data
        }
    }
}
