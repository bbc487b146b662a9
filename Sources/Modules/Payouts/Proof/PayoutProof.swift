package import ErrandPostgres

/// The result of comparing payouts with the ledger, the files and each other.
package struct PayoutProof: Sendable, Equatable {
    /// The number of payouts checked.
    package var payouts: Int
    /// Descriptions of the first faults of each kind; empty if there are none.
    package var faults: [String]
}

extension PayoutProof {
    private static let count = "SELECT count(*) FROM payouts.payouts"

    /// The checks; each returns a fault per row, at most ``shown``.
    private static let checks = [
        // The debits of a person equal the sum of their payouts.
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
        SELECT format('account %s: %s was debited, but its payouts sum to %s',
            account_id, coalesce(t.amount, 0), coalesce(p.amount, 0))
        FROM paid p FULL JOIN taken t USING (account_id)
        WHERE coalesce(t.amount, 0) <> coalesce(p.amount, 0) ORDER BY account_id LIMIT $1
        """,
        // Issued payouts are in one account, settled payouts in the other.
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
        SELECT format('%s in %s: the ledger has %s, but the payouts sum to %s', place, currency,
            coalesce(k.amount, 0), coalesce(e.amount, 0))
        FROM expected e FULL JOIN kept k USING (place, currency)
        WHERE coalesce(k.amount, 0) <> coalesce(e.amount, 0) ORDER BY place, currency LIMIT $1
        """,
        // The totals of each chunk match its payouts.
        """
        SELECT format('run %s, chunk %s: it says %s payouts of %s, but has %s of %s', c.run_id,
            c.number, c.payouts + c.held, c.amount + c.held_amount, s.count, s.amount)
        FROM payouts.chunks c LEFT JOIN (
            SELECT p.run_id, p.chunk, count(*) AS count, sum(p.amount) AS amount
            FROM payouts.payouts p WHERE p.chunk IS NOT NULL GROUP BY 1, 2
        ) s ON s.run_id = c.run_id AND s.chunk = c.number
        WHERE (c.payouts + c.held, c.amount + c.held_amount)
            IS DISTINCT FROM (coalesce(s.count, 0), coalesce(s.amount, 0))
        ORDER BY c.run_id, c.number LIMIT $1
        """,
        // One payout per person, quarter and currency, except replacements.
        """
        SELECT format('run %s: account %s has %s payouts', p.run_id, p.account_id, count(*))
        FROM payouts.payouts p WHERE p.replaces IS NULL
        GROUP BY p.run_id, p.account_id HAVING count(*) > 1 ORDER BY 1 LIMIT $1
        """,
        // Each issued payout is an item of exactly one file.
        """
        SELECT format('payout %s is %s, but in %s files', p.id, p.state, count(i.payout_id))
        FROM payouts.payouts p LEFT JOIN payouts.items i
            ON i.file_id = p.file_id AND i.payout_id = p.id
        WHERE p.state IN ('issued', 'settled', 'returned') OR p.file_id IS NOT NULL
        GROUP BY p.id HAVING count(i.payout_id) <> 1 ORDER BY p.id LIMIT $1
        """,
        """
        SELECT format('file %s: it says %s payouts of %s, but has %s of %s', f.id, f.payouts,
            f.amount, s.count, s.amount)
        FROM payouts.files f LEFT JOIN (
            SELECT i.file_id, count(*) AS count, sum(p.amount) AS amount
            FROM payouts.items i JOIN payouts.payouts p ON p.id = i.payout_id GROUP BY 1
        ) s ON s.file_id = f.id
        WHERE (f.payouts, f.amount)
            IS DISTINCT FROM (coalesce(s.count, 0), coalesce(s.amount, 0))
        ORDER BY f.id LIMIT $1
        """,
        // Each cheque number is used once and comes from its series.
        """
        SELECT format('cheque %s of series %s is on %s payouts; the series is at %s',
            p.cheque_number, s.name, count(*), s.last)
        FROM payouts.payouts p
        JOIN payouts.files f ON f.id = p.file_id
        JOIN payouts.series s ON s.name = f.series
        WHERE p.cheque_number IS NOT NULL GROUP BY p.cheque_number, s.name, s.last
        HAVING count(*) > 1 OR p.cheque_number > s.last ORDER BY 1 LIMIT $1
        """,
    ]

    /// Maximum number of reported faults of one kind.
    package static let shown = 20

    /// Compares all payouts with the ledger, their files and each other in one snapshot.
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
