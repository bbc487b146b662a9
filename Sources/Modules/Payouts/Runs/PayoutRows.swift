package import ErrandGregorian
package import ErrandLedger
package import ErrandPostgres

/// A payout: one payment to one person for one quarter.
package struct PayoutRecord: Sendable {
    package var id: Int64
    package var runID: Int64
    package var quarter: Quarter
    package var payDate: CivilDate
    package var person: Int64
    package var accountID: Int64
    package var amount: Money
    package var state: PayoutState
    /// The method; nil before the issue, unless one was requested.
    package var method: PayoutMethod?
    package var reason: String?
    package var fileID: Int64?
    package var chequeNumber: Int64?
    /// The payout that this one replaces, and the one that replaces it.
    package var replaces: Int64?
    package var replacedBy: Int64?

    /// The reference in bank files and their returns.
    package var reference: String { PayoutReference.text(of: id) }
}

/// The reference of a payout in bank files, unique forever.
package enum PayoutReference {
    /// The reference of an id, such as `P4711`.
    package static func text(of id: Int64) -> String { "P\(id)" }

    /// The payout id of a reference; nil if it is not ours.
    package static func id(of text: String) -> Int64? {
        guard text.first == "P", let id = Int64(text.dropFirst()), id > 0,
            self.text(of: id) == text
        else { return nil }
        return id
    }
}

/// A recorded change of a run or a payout.
package struct ChangeRecord: Sendable {
    package var at: Instant
    package var action: String
    package var actor: String
    /// The login of PostgreSQL; nil for changes by older versions.
    package var login: String?
    package var reason: String?
    /// The number of changed payouts and their sum; nil for changes of the run itself.
    package var payouts: Int?
    package var amount: Money?
    package var transactionID: Int64?
    package var payoutID: Int64?
}

/// A filter of payouts; nil matches all.
package struct PayoutFilter: Sendable {
    package var quarter: Quarter?
    package var state: PayoutState?
    package var person: Int64?
    package var method: PayoutMethod?
    package var chequeNumber: Int64?
    /// The id of the last payout of the previous page.
    package var behind: Int64 = 0
    package var limit = 50

    package init() {}
}

/// Reads payouts.
package struct PayoutRows: Sendable {
    package let session: Session

    package init(session: Session) { self.session = session }

    private static let columns = """
        p.id, p.run_id, r.quarter, r.pay_date::text AS pay_date, p.person_id, p.account_id,
        p.amount, p.currency, p.state::text AS state, p.method::text AS method, p.reason,
        p.file_id, p.cheque_number, p.replaces,
        (SELECT n.id FROM payouts.payouts n WHERE n.replaces = p.id) AS replaced_by
        """
    private static let list = """
        SELECT \(columns) FROM payouts.payouts p JOIN payouts.runs r ON r.id = p.run_id
        WHERE p.id > $1 AND ($2::text IS NULL OR r.quarter = $2)
          AND ($3::text IS NULL OR p.state = $3::payouts.payout_state)
          AND ($4::bigint IS NULL OR p.account_id IN (
            SELECT a.id FROM ledger.accounts a WHERE a.owner = $4 AND a.kind = 'person'))
          AND ($5::text IS NULL OR p.method = $5::payouts.method)
          AND ($6::bigint IS NULL OR p.cheque_number = $6)
        ORDER BY p.id LIMIT $7
        """
    private static let one = """
        SELECT \(columns) FROM payouts.payouts p JOIN payouts.runs r ON r.id = p.run_id
        WHERE p.id = $1
        """
    private static let ofPayout = """
        SELECT c.at, c.action, c.actor, c.login, c.reason, c.payouts, c.amount, c.currency,
            c.transaction_id, c.payout_id
        FROM payouts.changes c WHERE c.payout_id = $1
            OR c.id = (SELECT p.settlement FROM payouts.payouts p WHERE p.id = $1)
        ORDER BY c.id
        """
    private static let ofRun = """
        SELECT c.at, c.action, c.actor, c.login, c.reason, c.payouts, c.amount, c.currency,
            c.transaction_id, c.payout_id
        FROM payouts.changes c WHERE c.run_id = $1 AND c.payout_id IS NULL
        ORDER BY c.id DESC LIMIT $2
        """

    /// Returns payouts, sorted by id.
    package func page(_ filter: PayoutFilter) async throws -> [PayoutRecord] {
        // Not prepared: a generic plan would read all payouts.
        try await session.query(
            Self.list,
            [
                .int64(filter.behind), .optional(filter.quarter?.description),
                .optional(filter.state?.rawValue), .optional(filter.person),
                .optional(filter.method?.rawValue), .optional(filter.chequeNumber),
                .int64(Int64(filter.limit)),
            ], prepare: false
        ).map(Self.record)
    }

    /// Returns a payout; nil if the id is unknown.
    package func payout(_ id: Int64) async throws -> PayoutRecord? {
        try await session.query(Self.one, [.int64(id)]).first.map(Self.record)
    }

    /// Returns the changes of a payout, oldest first.
    package func changes(ofPayout id: Int64) async throws -> [ChangeRecord] {
        try await session.query(Self.ofPayout, [.int64(id)]).map(Self.change)
    }

    /// Returns the changes of a run or of many of its payouts, newest first.
    package func changes(ofRun id: Int64, limit: Int) async throws -> [ChangeRecord] {
        try await session.query(Self.ofRun, [.int64(id), .int64(Int64(limit))]).map(Self.change)
    }

    private static func record(_ row: Row) throws -> PayoutRecord {
        let name = try row.text("quarter")
        guard let quarter = Quarter(name) else {
            throw PostgresError.decoding("\(name) is not a quarter")
        }
        let method: PayoutMethod? =
            try row.optionalText("method") == nil ? nil : try row.state("method")
        return PayoutRecord(
            id: try row.int64("id"), runID: try row.int64("run_id"), quarter: quarter,
            payDate: try row.civilDate("pay_date"), person: try row.int64("person_id"),
            accountID: try row.int64("account_id"),
            amount: Money(try row.int64("amount"), try row.currency()),
            state: try row.state("state"), method: method, reason: try row.optionalText("reason"),
            fileID: try row.optionalInt64("file_id"),
            chequeNumber: try row.optionalInt64("cheque_number"),
            replaces: try row.optionalInt64("replaces"),
            replacedBy: try row.optionalInt64("replaced_by"))
    }

    private static func change(_ row: Row) throws -> ChangeRecord {
        var amount: Money?
        if let units = try row.optionalInt64("amount"), try row.optionalText("currency") != nil {
            amount = Money(units, try row.currency())
        }
        return ChangeRecord(
            at: try row.timestamp("at"), action: try row.text("action"),
            actor: try row.text("actor"), login: try row.optionalText("login"),
            reason: try row.optionalText("reason"),
            payouts: try row.optionalInt64("payouts").map { Int($0) }, amount: amount,
            transactionID: try row.optionalInt64("transaction_id"),
            payoutID: try row.optionalInt64("payout_id"))
    }
}
