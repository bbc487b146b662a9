package import ErrandPostgres

/// On which side of the books an amount stands.
package enum Side: String, Sendable {
    case debit, credit
}

/// An account, or all of one kind and currency together.
package struct AccountRecord: Sendable {
    /// Nil where it stands for all of its kind.
    package var id: Int64?
    package var kind: String
    /// The person or establishment; nil of nobody's, and where it stands for all of its kind.
    package var owner: Int64?
    /// How many accounts it stands for.
    package var count: Int
    /// On which side its balance stands as a rule.
    package var side: Side
    /// Above zero a credit, below zero a debit.
    package var balance: Money
}

/// Which accounts are asked for; nil: all.
package struct AccountFilter: Sendable {
    package var kind: String?
    package var owner: Int64?
    package var currency: Currency?
    /// Only what counts before this instant.
    package var at: Instant?
    /// Only those behind this account, the last of the page before.
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

    /// The trial balance: what all accounts of a kind hold together, by currency.
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

    /// Single accounts, in the order of their ids.
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

    /// The kinds of account that there are.
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
    /// The currency in the column of that name.
    package func currency() throws(PostgresError) -> Currency {
        let code = try text("currency")
        guard let currency = Currency(code) else {
            throw .decoding("the currency \(code) is not known to this program")
        }
        return currency
    }
}
