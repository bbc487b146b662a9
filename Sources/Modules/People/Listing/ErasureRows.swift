package import ErrandPostgres

/// An erasure of a person.
package struct ErasureRecord: Sendable {
    package var id: Int64
    package var personID: Int64
    package var cause: String
    package var state: String
    package var requestedAt: Instant
    package var startsAt: Instant
    package var dueAt: Instant
    package var endedAt: Instant?
    /// The module that failed last, or `block` or `end`, with the SQLSTATE.
    package var failure: String?
    /// The modules that have erased the person.
    package var steps: [String]

    init(_ row: Row) throws {
        id = try row.int64("id")
        personID = try row.int64("person_id")
        cause = try row.text("cause")
        state = try row.text("state")
        requestedAt = try row.timestamp("requested_at")
        startsAt = try row.timestamp("starts_at")
        dueAt = try row.timestamp("due_at")
        endedAt = try row.optionalTimestamp("ended_at")
        failure = try row.optionalText("failure")
        steps = try row.textArray("steps")
    }
}

/// A certificate of an erasure.
package struct CertificateRecord: Sendable {
    package var erasureID: Int64
    package var issuedAt: Instant
    package var body: String
    package var sha256: String
    /// Whether hash, text and counts agree.
    package var isIntact: Bool

    init(_ row: Row) throws {
        erasureID = try row.int64("erasure_id")
        issuedAt = try row.timestamp("issued_at")
        body = try row.text("body")
        sha256 = try row.text("sha256")
        isIntact = try row.bool("is_intact")
    }
}

/// Reads and changes the rows of erasures; changes are recorded in the audit log.
package struct ErasureRows: Sendable {
    private let session: Session

    package init(session: Session) { self.session = session }

    private static let ofPerson = """
        SELECT e.id, e.person_id, e.cause, e.state, e.requested_at, e.starts_at, e.due_at,
            e.ended_at, e.failure, ARRAY(SELECT s.module FROM people.erasure_steps s
                WHERE s.erasure_id = e.id ORDER BY s.finished_at)::text[] AS steps
        FROM people.erasures e WHERE e.person_id = $1 ORDER BY e.id
        """

    /// Returns the erasures of a person, oldest first.
    package func erasures(of person: Int64) async throws -> [ErasureRecord] {
        try await session.query(Self.ofPerson, [.int64(person)]).map(ErasureRecord.init)
    }

    private static let request = """
        SELECT p.erased_at IS NOT NULL AS is_erased,
            CASE WHEN p.erased_at IS NULL
                THEN (people.open_erasure(p.id, 'operator', $2)).state END AS state
        FROM people.people p WHERE p.id = $1
        """

    /// Requests an erasure, and writes the audit line.
    ///
    /// - Returns: the state; `finished` for a person who was erased before, nil if nobody has the
    ///   id.
    package func request(
        _ person: Int64, reason: String, note: Statement
    ) async throws -> String? {
        try await session.transaction { session in
            let rows = try session.query(Self.request, [.int64(person), .text(reason)])
            guard let row = rows.first else { return nil }
            guard try !row.bool("is_erased") else { return "finished" }
            _ = try session.pipeline([note])
            return try row.text("state")
        }
    }

    private static let keep = "SELECT people.keep($1, $2, $3)"

    /// Stops an erasure that has not started; returns the state that it had, nil if there is none.
    package func keep(
        _ person: Int64, actor: String, reason: String, note: Statement
    ) async throws -> String? {
        try await session.transaction { session in
            let state = try session.query(
                Self.keep, [.int64(person), .text(actor), .text(reason)]
            ).first?.optionalText(0)
            if state == "requested" { _ = try session.pipeline([note]) }
            return state
        }
    }

    private static let certificates = """
        SELECT erasure_id, issued_at, body, sha256, is_intact FROM people.certificate_of($1)
        """

    /// Returns the certificates of a person, oldest first.
    package func certificates(of person: Int64) async throws -> [CertificateRecord] {
        try await session.query(Self.certificates, [.int64(person)]).map(CertificateRecord.init)
    }

    private static let suppressed = """
        SELECT person_id, max(ended_at) AS erased_at FROM people.erasures
        WHERE state = 'finished' GROUP BY person_id ORDER BY person_id
        """

    /// Returns the erased people, by id.
    package func suppressed() async throws -> [Suppression] {
        try await session.query(Self.suppressed).map {
            Suppression(
                person: try $0.int64("person_id"), erasedAt: try $0.timestamp("erased_at"))
        }
    }

    private static let forgotten = "SELECT people.count_forgotten($1, $2)"

    /// Counts those of the people who are in the database, and whose erasure nobody has requested.
    package func countForgotten(_ list: [Suppression]) async throws -> Int {
        Int(try await session.query(Self.forgotten, Suppression.parameters(list)).int64(0, 0))
    }

    private static let suppress = "SELECT people.suppress($1, $2)"

    /// Requests the erasure of those of the people who are in the database and are not erased;
    /// returns them.
    package func suppress(_ list: [Suppression], note: Statement) async throws -> [Int64] {
        try await session.transaction { session in
            let found = try session.query(Self.suppress, Suppression.parameters(list))
                .map { try $0.int64(0) }
            if !found.isEmpty { _ = try session.pipeline([note]) }
            return found
        }
    }
}
