package import ErrandPostgres

/// The debit or credit side of the books.
package enum Side: String, Sendable {
    case debit, credit
}

/// An account, or the total of one kind and currency.
package struct AccountRecord: Sendable {
    /// Nil for a total.
    package var id: Int64?
    package var kind: String
    /// The person or establishment; nil for accounts without an owner and for totals.
    package var owner: Int64?
    /// The number of accounts.
    package var count: Int
    /// The normal side of the balance.
    package var side: Side
    /// Positive: a credit; negative: a debit.
    package var balance: Money
}

/// A filter of accounts; nil matches all.
package struct AccountFilter: Sendable {
    package var kind: String?
    package var owner: Int64?
    package var currency: Currency?
    /// Only transactions before this instant.
    package var at: Instant?
    /// The id of the last account of the previous page.
    package var behind: Int64?
    package var limit = 50

    package init() {}
}

/// Reads accounts with their balances.
package struct AccountRows: Sendable {
    package let session: Session

    package init(session: Session) { self.session = session }

    private static let total = """
        SELECT NULL::bigint AS id, a.kind, NULL::bigint AS owner, a.currency, k.side,
            count(*) AS count, coalesce(sum(b.amount), 0)::bigint AS balance
        FROM ledger.accounts a JOIN ledger.account_kinds k USING (kind)
        CROSS JOIN LATERAL (
            SELECT sum(b.amount) AS amount FROM ledger.balances b WHERE b.account_id = a.id
        ) b
        WHERE $1::text IS NULL OR a.currency = $1
        GROUP BY a.kind, a.currency, k.side ORDER BY a.currency, a.kind
        """
    private static let totalAt = """
        SELECT NULL::bigint AS id, a.kind, NULL::bigint AS owner, a.currency, k.side,
            count(*) AS count, coalesce(sum(p.amount), 0)::bigint AS balance
        FROM ledger.accounts a JOIN ledger.account_kinds k USING (kind)
        LEFT JOIN (
            SELECT account_id, sum(amount) AS amount FROM ledger.postings
            WHERE at < $2 GROUP BY account_id
        ) p ON p.account_id = a.id
        WHERE $1::text IS NULL OR a.currency = $1
        GROUP BY a.kind, a.currency, k.side ORDER BY a.currency, a.kind
        """
    private static let list = """
        SELECT a.id, a.kind, nullif(a.owner, 0) AS owner, a.currency, k.side, 1::bigint AS count,
            CASE WHEN $4::timestamptz IS NULL THEN ledger.balance(a.id)
                ELSE ledger.balance_at(a.id, $4) END AS balance
        FROM ledger.accounts a JOIN ledger.account_kinds k USING (kind)
        WHERE ($1::text IS NULL OR a.kind = $1) AND ($2::bigint IS NULL OR a.owner = $2)
          AND ($3::text IS NULL OR a.currency = $3) AND ($5::bigint IS NULL OR a.id > $5)
        ORDER BY a.id LIMIT $6
        """

    /// Returns the trial balance: the total of each account kind, by currency.
    package func totals(_ filter: AccountFilter) async throws -> [AccountRecord] {
        let currency = Parameter.optional(filter.currency?.code)
        let rows =
            if let at = filter.at {
                try await session.query(Self.totalAt, [currency, .timestamp(at)])
            } else {
                try await session.query(Self.total, [currency])
            }
        return try rows.map(Self.record)
    }

    /// Returns accounts, sorted by id.
    package func page(_ filter: AccountFilter) async throws -> [AccountRecord] {
        try await session.query(
            Self.list,
            [
                .optional(filter.kind), .optional(filter.owner), .optional(filter.currency?.code),
                .optional(filter.at), .optional(filter.behind), .int64(Int64(filter.limit)),
            ]
        ).map(Self.record)
    }

    private static let kinds = "SELECT kind FROM ledger.account_kinds ORDER BY kind"

    /// Returns the kinds of accounts.
    package func kinds() async throws -> [String] {
        try await session.query(Self.kinds).map { try $0.text(0) }
    }

    private static func record(_ row: Row) throws -> AccountRecord {
        let side = try row.text("side")
        guard let side = Side(rawValue: side) else {
            throw PostgresError.decoding("ledger.account_kinds has the side \(side)")
        }
        return AccountRecord(
            id: try row.optionalInt64("id"), kind: try row.text("kind"),
            owner: try row.optionalInt64("owner"), count: Int(try row.int64("count")), side: side,
            balance: Money(try row.int64("balance"), try row.currency()))
    }
}

extension Row {
    /// The value of the column `currency`.
    package func currency() throws(PostgresError) -> Currency {
        let code = try text("currency")
        guard let currency = Currency(code) else {
            throw .decoding("unknown currency \(code)")
        }
        return currency
    }
}
