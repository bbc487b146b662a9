package import ErrandPostgres

/// A filter of codes and links; nil means any value.
package struct AccountFilter: Sendable {
    package var address: String?
    package var person: Int64?
    /// Only rows after this id.
    package var behind: Int64?
    package var limit = 50

    /// Creates a filter that matches all.
    package init() {}

    var parameters: [Parameter] {
        [.optional(address), .optional(person), .optional(behind), .int64(Int64(limit))]
    }
}

/// Reads what was requested for accounts; never a code or a token.
package struct AccountRows: Sendable {
    let session: Session

    package init(session: Session) { self.session = session }

    private static let codes = """
        SELECT \(CodeRecord.columns) FROM accounts.codes c
        WHERE ($1::text IS NULL OR c.address_key = lower($1))
          AND ($2::bigint IS NULL OR c.person_id = $2)
          AND c.id < coalesce($3, 9223372036854775807)
        ORDER BY c.id DESC LIMIT $4
        """

    /// Returns one page of codes, newest first.
    package func codes(_ filter: AccountFilter) async throws -> [CodeRecord] {
        try await session.query(Self.codes, filter.parameters).map(CodeRecord.init)
    }

    private static let links = """
        SELECT \(LinkRecord.columns) FROM accounts.links l
        WHERE ($1::text IS NULL OR l.address_key = lower($1))
          AND ($2::bigint IS NULL OR l.person_id = $2 OR l.inviter_id = $2)
          AND l.id < coalesce($3, 9223372036854775807) AND l.kind = $5
        ORDER BY l.id DESC LIMIT $4
        """

    /// Returns one page of links of a kind, newest first.
    package func links(_ kind: LinkKind, _ filter: AccountFilter) async throws -> [LinkRecord] {
        try await session.query(Self.links, filter.parameters + [.text(kind.rawValue)])
            .map(LinkRecord.init)
    }

    private static let templates = """
        SELECT t.app, t.kind, t.template, t.changed_at FROM accounts.link_templates t
        ORDER BY t.app, t.kind
        """

    /// Returns the templates of all apps.
    package func templates() async throws -> [LinkTemplate] {
        try await session.query(Self.templates).map(LinkTemplate.init)
    }

    private static let late = """
        SELECT (SELECT count(*) FROM accounts.codes c WHERE c.sent_at IS NULL
                AND c.ended_at IS NULL AND c.expires_at > $1
                AND c.requested_at < $1::timestamptz - interval '1 minute')
            + (SELECT count(*) FROM accounts.links l WHERE l.sent_at IS NULL
                AND l.ended_at IS NULL AND l.expires_at > $1
                AND l.requested_at < $1::timestamptz - interval '1 minute')
        """

    /// Returns the number of codes and links that have waited for a worker for over a minute.
    package func late(now: Instant) async throws -> Int {
        Int(try await session.query(Self.late, [.timestamp(now)]).int64(0, 0))
    }

    private static let rolledBack = "SELECT accounts.rolled_back()"

    /// Returns the number of codes with wrong tries that a program has rolled back.
    package func rolledBack() async throws -> Int {
        Int(try await session.query(Self.rolledBack).int64(0, 0))
    }
}
