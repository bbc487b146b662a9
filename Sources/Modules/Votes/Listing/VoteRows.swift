package import ErrandPostgres

/// A filter of votes; nil means any value.
package struct VoteFilter: Sendable {
    package var state: VoteState?
    package var initiator: Int64?
    /// Only votes after this id.
    package var behind: Int64?
    package var limit = 50

    /// Creates a filter that matches all votes.
    package init() {}
}

/// Reads votes, their options and equal names.
package struct VoteRows: Sendable {
    let session: Session

    package init(session: Session) { self.session = session }

    private static let listing = """
        SELECT \(VoteRecord.columns) FROM votes.votes v
        WHERE ($1::text IS NULL OR v.state::text = $1) AND ($2::bigint IS NULL OR v.initiator = $2)
          AND v.id < coalesce($3, 9223372036854775807)
        ORDER BY v.id DESC LIMIT $4
        """

    /// Returns one page of matching votes, newest first.
    package func page(_ filter: VoteFilter) async throws -> [VoteRecord] {
        try await session.query(
            Self.listing,
            [
                .optional(filter.state?.rawValue), .optional(filter.initiator),
                .optional(filter.behind), .int64(Int64(filter.limit)),
            ]
        ).map(VoteRecord.init)
    }

    private static let one = "SELECT \(VoteRecord.columns) FROM votes.votes v WHERE v.id = $1"
    private static let options = """
        SELECT o.number, o.label, CASE WHEN v.state = 'published' THEN o.ballots END AS ballots
        FROM votes.options o JOIN votes.votes v ON v.id = o.vote_id
        WHERE o.vote_id = $1 ORDER BY o.number
        """

    /// Returns a vote with its options; nil if it does not exist.
    package func vote(_ id: Int64) async throws -> (vote: VoteRecord, options: [VoteOption])? {
        let rows = try await session.pipeline(
            [Self.one, Self.options].map { Statement($0, [.int64(id)]) })
        guard let row = rows[0].first else { return nil }
        let options = try rows[1].map { row in
            VoteOption(
                number: Int(try row.int16("number")), label: try row.text("label"),
                ballots: try row.optionalInt32("ballots").map(Int.init))
        }
        return (try VoteRecord(row), options)
    }

    private static let entries = """
        SELECT e.name_key, e.state::text AS state, e.actor, e.reason, p.person_id, p.name,
            p.address, p.is_rejected
        FROM votes.exceptions e
        CROSS JOIN LATERAL (VALUES (e.name_key), (votes.erased_key(e.vote_id, e.name_key))) k (key)
        JOIN votes.participants p
            ON p.vote_id = e.vote_id AND p.name_key = k.key AND p.has_cast
        WHERE e.vote_id = $1 ORDER BY e.name_key, p.person_id
        """

    /// Returns the voters with equal names; erased ones without a name, and none once the vote is
    /// published.
    package func exceptions(of vote: Int64) async throws -> [ExceptionEntry] {
        try await session.query(Self.entries, [.int64(vote)]).map { row in
            ExceptionEntry(
                nameKey: try row.text("name_key"), state: try row.text("state"),
                person: try row.int64("person_id"), name: try row.optionalText("name"),
                address: try row.optionalText("address"),
                isRejected: try row.bool("is_rejected"), actor: try row.optionalText("actor"),
                reason: try row.optionalText("reason"))
        }
    }

    private static let proof = """
        SELECT is_included, reason, position, size, root, ARRAY(
            SELECT encode(h, 'hex') FROM unnest(path) WITH ORDINALITY AS u (h, n) ORDER BY n)
            AS path
        FROM votes.verify_receipt($1)
        """

    /// The database's verdict on a receipt, with the proof.
    package struct Verdict: Sendable {
        package var isIncluded: Bool
        /// ok, malformed, not_published or not_included.
        package var reason: String
        package var index: Int?
        package var size: Int?
        /// The hashes in hexadecimal, lowest first.
        package var path: [String]
        package var root: [UInt8]?
    }

    package func verify(_ receipt: String) async throws -> Verdict {
        let rows = try await session.query(Self.proof, [.text(receipt)])
        guard let row = rows.first else { throw PostgresError.decoding("no row") }
        return Verdict(
            isIncluded: try row.bool("is_included"), reason: try row.text("reason"),
            index: try row.optionalInt32("position").map(Int.init),
            size: try row.optionalInt32("size").map(Int.init), path: try row.textArray("path"),
            root: try row.optionalBytes("root"))
    }
}
