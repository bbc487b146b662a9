package import ErrandLedger
package import ErrandPostgres

/// The state of runs and payouts, for the doctor.
package struct PayoutHealth: Sendable {
    /// Runs whose close started more than an hour ago and has not ended.
    package var stuckRuns: [Quarter]
    /// Runs with an issue that started more than an hour ago and has not ended.
    package var unfinishedIssues: [Quarter]
    /// Closed runs that are not issued, with a pay date in the next three days or the past.
    package var lateRuns: [Quarter]
    /// The number of held payouts of all runs.
    package var held: Int
    /// The number of pending payouts of runs that were already issued.
    package var waiting: Int
    /// The number of returned payouts that need a decision.
    package var undecided: Int
    /// The number of erased people with a balance, which no run pays; at most 1,000.
    package var erased: Int
    /// The first of these people.
    package var firstErased: Int?
    /// The number of runs.
    package var runs: Int

    private static let stuck = """
        SELECT quarter FROM payouts.runs
        WHERE state = 'preview' AND closing_at < $1::timestamptz - interval '1 hour'
        ORDER BY cut_off
        """
    private static let unfinished = """
        SELECT r.quarter FROM payouts.issues i JOIN payouts.runs r ON r.id = i.run_id
        WHERE i.published_at IS NULL AND i.made_at < $1::timestamptz - interval '1 hour'
        ORDER BY r.cut_off
        """
    private static let late = """
        SELECT quarter FROM payouts.runs
        WHERE state IN ('closed', 'approved') AND pay_date - 3 <= $1::timestamptz::date
        ORDER BY cut_off
        """
    private static let counts = """
        SELECT (SELECT count(*) FROM payouts.runs) AS runs,
            (SELECT count(*) FROM payouts.runs r JOIN payouts.payouts p
                ON p.run_id = r.id AND p.state = 'held') AS held,
            (SELECT count(*) FROM payouts.runs r JOIN payouts.payouts p
                ON p.run_id = r.id AND p.state = 'pending'
                WHERE r.state IN ('issued', 'settled')) AS waiting,
            (SELECT count(*) FROM payouts.runs r JOIN payouts.payouts p
                ON p.run_id = r.id AND p.state = 'returned'
                WHERE NOT EXISTS (SELECT FROM people.people e
                    WHERE e.id = p.person_id AND e.erased_at IS NOT NULL)) AS undecided
        """
    private static let owedToErased = """
        SELECT count(*), min(x.id) FROM (
            SELECT p.id FROM people.people p
            WHERE p.erased_at IS NOT NULL AND EXISTS (
                SELECT FROM ledger.accounts a
                JOIN ledger.balances b ON b.account_id = a.id AND b.slice = 0 AND b.amount > 0
                WHERE a.owner = p.id AND a.kind = 'person')
            LIMIT 1000) AS x
        """

    /// Reads the state at an instant.
    package static func read(_ session: Session, now: Instant) async throws -> PayoutHealth {
        let answers = try await session.pipeline(
            [stuck, unfinished, late].map { Statement($0, [.timestamp(now)]) }
                + [Statement(counts), Statement(owedToErased)])
        func quarters(_ rows: Rows) throws -> [Quarter] {
            try rows.compactMap { Quarter(try $0.text(0)) }
        }
        return PayoutHealth(
            stuckRuns: try quarters(answers[0]), unfinishedIssues: try quarters(answers[1]),
            lateRuns: try quarters(answers[2]), held: Int(try answers[3].int64(0, 1)),
            waiting: Int(try answers[3].int64(0, 2)), undecided: Int(try answers[3].int64(0, 3)),
            erased: Int(try answers[4].int64(0, 0)),
            firstErased: try answers[4].first?.optionalInt64("min").map { Int($0) },
            runs: Int(try answers[3].int64(0, 0)))
    }
}
