package import ErrandGregorian
package import ErrandPostgres
package import ErrandRecurrence

/// The rules for paying rewards, from `ledger.pay_rules`.
package struct PayRules: Sendable, Equatable {
    /// The time zone in which quarters start at midnight.
    package var timeZone: String
    /// The pay day in the month after a quarter, 1 to 28.
    package var payDay: Int

    private static let statement = "SELECT time_zone, pay_day FROM ledger.pay_rules"

    package static func read(_ session: Session) async throws -> PayRules {
        guard let row = try await session.query(statement).first else {
            throw PostgresError.decoding("ledger.pay_rules has no row: insert one with defaults")
        }
        return PayRules(timeZone: try row.text(0), payDay: Int(try row.int16(1)))
    }

    /// The next pay date at an instant.
    package func nextPayDate(at now: Instant, in zone: Zone) -> CivilDate {
        Quarter.nextPayDate(from: LocalTime(now.wholeSecond, in: zone).date, dayOfMonth: payDay)
    }
}

/// A person's balance in one currency.
package struct RewardRecord: Sendable {
    package var person: Int64
    package var accountID: Int64
    package var balance: Money
    /// The amount and the effective time of the last payout.
    package var lastPayout: (amount: Money, at: Instant)?
    /// Lines since the last payout, newest first, up to the limit.
    package var lines: [LineRecord] = []
}

/// Reads the rewards of people.
package struct RewardRows: Sendable {
    /// The kind of payout transactions.
    package static let payoutKind = "payout"

    package let session: Session

    package init(session: Session) { self.session = session }

    private static let list = """
        SELECT a.owner, a.id, a.currency, b.amount
        FROM ledger.accounts a JOIN ledger.balances b ON b.account_id = a.id AND b.slice = 0
        WHERE a.kind = 'person' AND a.currency = $1 AND a.owner > $2 AND b.amount <> 0
          AND b.amount >= $3
        ORDER BY a.owner LIMIT $4
        """
    private static let accounts = """
        SELECT a.owner, a.id, a.currency, ledger.balance(a.id) AS amount
        FROM ledger.accounts a WHERE a.kind = 'person' AND a.owner = $1 ORDER BY a.currency
        """
    private static let exists = """
        SELECT EXISTS (SELECT FROM people.people WHERE id = $1)
            OR EXISTS (SELECT FROM ledger.accounts WHERE owner = $1 AND kind = 'person')
        """
    private static let payout = """
        SELECT p.amount, p.at
        FROM ledger.postings p JOIN ledger.transactions t ON t.id = p.transaction_id
        WHERE p.account_id = $1 AND t.kind = $2
          AND NOT EXISTS (SELECT FROM ledger.transactions r WHERE r.reverses = t.id)
        ORDER BY p.at DESC, p.transaction_id DESC LIMIT 1
        """

    /// Returns people with a nonzero balance, sorted by id.
    ///
    /// - Parameters:
    ///   - minBalance: the minimum balance, in minor units.
    ///   - behind: the id of the last person of the previous page.
    package func page(
        _ currency: Currency, minBalance: Int64 = .min, behind: Int64 = 0, limit: Int
    ) async throws -> [RewardRecord] {
        try await session.query(
            Self.list,
            [.text(currency.code), .int64(behind), .int64(minBalance), .int64(Int64(limit))]
        ).map(Self.record)
    }

    /// Returns a person's balances by currency, with the lines since the last payout; nil if the
    /// person does not exist.
    package func person(_ id: Int64, lines limit: Int) async throws -> [RewardRecord]? {
        guard try await session.query(Self.exists, [.int64(id)]).bool(0, 0) else { return nil }
        var records = try await session.query(Self.accounts, [.int64(id)]).map(Self.record)
        for place in records.indices {
            let account = records[place].accountID
            let paid = try await session.query(
                Self.payout, [.int64(account), .text(Self.payoutKind)])
            var filter = LineFilter()
            filter.account = account
            filter.limit = limit
            if let row = paid.first {
                let money = Money(try row.int64("amount"), records[place].balance.currency)
                records[place].lastPayout = (money, try row.timestamp("at"))
                filter.since = try row.timestamp("at")
            }
            records[place].lines = try await TransactionRows(session: session).page(filter)
                .filter { $0.kind != Self.payoutKind }
        }
        return records
    }

    private static func record(_ row: Row) throws -> RewardRecord {
        RewardRecord(
            person: try row.int64("owner"), accountID: try row.int64("id"),
            balance: Money(try row.int64("amount"), try row.currency()))
    }
}
