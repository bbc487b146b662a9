import Errand
package import ErrandPostgres

/// A line of an account: a posting with its transaction.
package struct LineRecord: Sendable {
    package var transactionID: Int64
    package var accountID: Int64
    package var accountKind: String
    /// The owner of the account; nil without one.
    package var owner: Int64?
    package var at: Instant
    package var kind: String
    package var source: String?
    /// Positive: a credit; negative: a debit.
    package var amount: Money
}

/// A transaction with its postings.
package struct TransactionRecord: Sendable {
    package var id: Int64
    package var key: String
    package var kind: String
    /// The effective time.
    package var at: Instant
    package var madeAt: Instant
    package var source: String?
    package var actor: String
    package var note: String?
    /// The transaction that this one reverses, and the one that reverses this one.
    package var reverses: Int64?
    package var reversedBy: Int64?
    package var lines: [LineRecord]
}

/// A filter of lines; nil matches all.
package struct LineFilter: Sendable {
    package var account: Int64?
    package var person: Int64?
    package var source: String?
    package var since: Instant?
    package var before: Instant?
    /// The last transaction of the previous page.
    package var behind: Int64?
    package var limit = 50

    package init() {}
}

/// Reads and reverses transactions.
package struct TransactionRows: Sendable {
    package let session: Session

    package init(session: Session) { self.session = session }

    private static let columns = """
        SELECT p.transaction_id, p.account_id, a.kind AS account_kind,
            nullif(a.owner, 0) AS owner, a.currency, p.at, t.kind, t.source, p.amount
        FROM ledger.postings p JOIN ledger.accounts a ON a.id = p.account_id
        JOIN ledger.transactions t ON t.id = p.transaction_id
        """
    private static let list = """
        \(columns)
        WHERE ($1::bigint IS NULL OR p.account_id = $1)
          AND ($2::bigint IS NULL OR p.account_id IN (
            SELECT o.id FROM ledger.accounts o WHERE o.owner = $2 AND o.kind = 'person'))
          AND ($3::text IS NULL OR t.source = $3)
          AND ($4::timestamptz IS NULL OR p.at >= $4) AND ($5::timestamptz IS NULL OR p.at < $5)
          AND ($6::bigint IS NULL OR p.transaction_id < $6)
        ORDER BY p.transaction_id DESC, p.amount, p.account_id LIMIT $7
        """
    private static let lines = """
        \(columns) WHERE p.transaction_id = $1 ORDER BY p.amount, p.account_id
        """
    private static let one = """
        SELECT t.*, (SELECT r.id FROM ledger.transactions r WHERE r.reverses = t.id) AS reversed_by
        FROM ledger.transactions t WHERE t.id = $1
        """
    private static let reverse = "SELECT ledger.reverse($1, $2, $3) AS id"

    /// Returns lines, newest transaction first.
    ///
    /// The lines of a transaction stay on one page, which may exceed the limit.
    package func page(_ filter: LineFilter) async throws -> [LineRecord] {
        func read(_ filter: LineFilter, _ limit: Int) async throws -> [LineRecord] {
            // Not prepared: the plan depends on the filters.
            try await session.query(
                Self.list,
                [
                    .optional(filter.account), .optional(filter.person), .optional(filter.source),
                    .optional(filter.since), .optional(filter.before), .optional(filter.behind),
                    .int64(Int64(limit)),
                ], prepare: false
            ).map(Self.line)
        }
        var page = try await read(filter, filter.limit)
        guard page.count == filter.limit, let last = page.last else { return page }
        let shown = page.count { $0.transactionID == last.transactionID }
        var rest = filter
        rest.behind = last.transactionID + 1
        // Read the rest of the last transaction, up to 10,000 lines.
        let whole = try await read(rest, shown + 10_000)
        page += whole.prefix { $0.transactionID == last.transactionID }.dropFirst(shown)
        return page
    }

    /// Returns a transaction; nil if the id is unknown.
    package func transaction(_ id: Int64) async throws -> TransactionRecord? {
        let answers = try await session.pipeline([
            Statement(Self.one, [.int64(id)]), Statement(Self.lines, [.int64(id)]),
        ])
        guard let row = answers[0].first else { return nil }
        return TransactionRecord(
            id: id, key: try row.text("key"), kind: try row.text("kind"),
            at: try row.timestamp("at"), madeAt: try row.timestamp("made_at"),
            source: try row.optionalText("source"), actor: try row.text("actor"),
            note: try row.optionalText("note"), reverses: try row.optionalInt64("reverses"),
            reversedBy: try row.optionalInt64("reversed_by"), lines: try answers[1].map(Self.line))
    }

    /// Reverses a transaction and writes an audit line.
    ///
    /// - Parameter reason: 1 to 500 characters, without personal data.
    /// - Returns: the id of the reversal.
    /// - Throws: `PostgresError` with SQLSTATE 23505 if the transaction is already reversed.
    package func reverse(
        _ id: Int64, by operatorName: String, reason: String
    ) async throws -> Int64 {
        try await session.transaction { session in
            let reversal = try session.query(
                Self.reverse, [.int64(id), .text(reason), .text(operatorName)]
            ).int64(0, 0)
            let line = AuditLine(
                operatorName: operatorName, action: "ledger reverse", subject: String(id),
                reason: reason, change: [UInt8](#"{"reversal":\#(reversal)}"#.utf8))
            _ = try session.query(line.statement)
            return reversal
        }
    }

    private static func line(_ row: Row) throws -> LineRecord {
        LineRecord(
            transactionID: try row.int64("transaction_id"),
            accountID: try row.int64("account_id"), accountKind: try row.text("account_kind"),
            owner: try row.optionalInt64("owner"), at: try row.timestamp("at"),
            kind: try row.text("kind"), source: try row.optionalText("source"),
            amount: Money(try row.int64("amount"), try row.currency()))
    }
}
