package import ErrandPostgres

/// What was found when payouts were compared with the ledger, the files and each other.
package struct PayoutProof: Sendable, Equatable {
    /// Payouts that were looked at.
    package var payouts: Int
    /// The faults, the first ones of each kind, in words; none: all is as it should be.
    package var faults: [String]
}

extension PayoutProof {
    private static let count = "SELECT count(*) FROM payouts.payouts"

    /// Each gives the words of a fault a row, at most ``shown`` of them.
    private static let checks = [
        // What was taken from a person is what they are paid, to the cent.
        """
        WITH paid AS (
            SELECT p.account_id, sum(p.amount) AS amount FROM payouts.payouts p
            WHERE payouts.place_of(p.state) <> 'person' GROUP BY 1
        ), taken AS (
            SELECT l.account_id, -sum(l.amount) AS amount
            FROM ledger.transactions t
            JOIN ledger.postings l ON l.transaction_id = t.id
            JOIN ledger.accounts a ON a.id = l.account_id AND a.kind = 'person'
            WHERE t.kind IN ('payout', 'payout_back') GROUP BY 1
        )
        SELECT format('account %s: %s were taken from it, and its payouts are of %s',
            account_id, coalesce(t.amount, 0), coalesce(p.amount, 0))
        FROM paid p FULL JOIN taken t USING (account_id)
        WHERE coalesce(t.amount, 0) <> coalesce(p.amount, 0) ORDER BY account_id LIMIT $1
        """,
        // What is on its way is in the one account, what the bank has paid in the other.
        """
        WITH expected AS (
            SELECT payouts.place_of(p.state) AS place, p.currency, sum(p.amount) AS amount
            FROM payouts.payouts p WHERE payouts.place_of(p.state) <> 'person' GROUP BY 1, 2
        ), kept AS (
            SELECT a.kind AS place, a.currency, sum(l.amount) AS amount
            FROM ledger.accounts a JOIN ledger.postings l ON l.account_id = a.id
            JOIN ledger.transactions t ON t.id = l.transaction_id
            WHERE a.kind IN ('payouts_in_transit', 'bank')
              AND t.kind IN ('payout', 'payout_back', 'payout_settled') GROUP BY 1, 2
        )
        SELECT format('%s in %s: the ledger has %s, the payouts are of %s', place, currency,
            coalesce(k.amount, 0), coalesce(e.amount, 0))
        FROM expected e FULL JOIN kept k USING (place, currency)
        WHERE coalesce(k.amount, 0) <> coalesce(e.amount, 0) ORDER BY place, currency LIMIT $1
        """,
        // Each chunk has the payouts that it says it has.
        """
        SELECT format('run %s, chunk %s: it says %s payouts of %s, and has %s of %s', c.run_id,
            c.number, c.payouts + c.held, c.amount + c.held_amount, s.count, s.amount)
        FROM payouts.chunks c LEFT JOIN (
            SELECT p.run_id, p.chunk, count(*) AS count, sum(p.amount) AS amount
            FROM payouts.payouts p WHERE p.chunk IS NOT NULL GROUP BY 1, 2
        ) s ON s.run_id = c.run_id AND s.chunk = c.number
        WHERE (c.payouts + c.held, c.amount + c.held_amount)
            IS DISTINCT FROM (coalesce(s.count, 0), coalesce(s.amount, 0))
        ORDER BY c.run_id, c.number LIMIT $1
        """,
        // One payout a person, a quarter and a currency, beside what replaces others.
        """
        SELECT format('run %s: account %s has %s payouts', p.run_id, p.account_id, count(*))
        FROM payouts.payouts p WHERE p.replaces IS NULL
        GROUP BY p.run_id, p.account_id HAVING count(*) > 1 ORDER BY 1 LIMIT $1
        """,
        // What was issued is in one file, which says so.
        """
        SELECT format('payout %s is %s, and in %s files', p.id, p.state, count(i.payout_id))
        FROM payouts.payouts p LEFT JOIN payouts.items i
            ON i.file_id = p.file_id AND i.payout_id = p.id
        WHERE p.state IN ('issued', 'settled', 'returned') OR p.file_id IS NOT NULL
        GROUP BY p.id HAVING count(i.payout_id) <> 1 ORDER BY p.id LIMIT $1
        """,
        """
        SELECT format('file %s: it says %s payouts of %s, and has %s of %s', f.id, f.payouts,
            f.amount, s.count, s.amount)
        FROM payouts.files f LEFT JOIN (
            SELECT i.file_id, count(*) AS count, sum(p.amount) AS amount
            FROM payouts.items i JOIN payouts.payouts p ON p.id = i.payout_id GROUP BY 1
        ) s ON s.file_id = f.id
        WHERE (f.payouts, f.amount)
            IS DISTINCT FROM (coalesce(s.count, 0), coalesce(s.amount, 0))
        ORDER BY f.id LIMIT $1
        """,
        // No number is on two cheques, or was not given out.
        """
        SELECT format('cheque %s of series %s is on %s payouts, and the series is at %s',
            p.cheque_number, s.name, count(*), s.last)
        FROM payouts.payouts p
        JOIN payouts.files f ON f.id = p.file_id
        JOIN payouts.series s ON s.name = f.series
        WHERE p.cheque_number IS NOT NULL GROUP BY p.cheque_number, s.name, s.last
        HAVING count(*) > 1 OR p.cheque_number > s.last ORDER BY 1 LIMIT $1
        """,
    ]

    /// Faults of one kind that are told.
    package static let shown = 20

    /// Compares all payouts with the ledger, their files and each other, as of one moment.
    package static func make(_ pool: Pool) async throws -> PayoutProof {
        try await pool.transaction { transaction in
            try await transaction.query(
                "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            let count = try await transaction.query(Self.count).int64(0, 0)
            let answers = try await transaction.pipeline(
                checks.map { Statement($0, [.int64(Int64(shown))]) })
            return PayoutProof(
                payouts: Int(count),
                faults: try answers.flatMap { rows in try rows.map { try $0.text(0) } })
        }
    }
}
