package import ErrandLedger
package import ErrandPostgres

/// What the doctor asks of the payouts.
package struct PayoutHealth: Sendable {
    /// Runs that were begun to be closed more than an hour ago, and are not closed.
    package var stuckRuns: [Quarter]
    /// Runs whose files were begun more than an hour ago, and are not all there.
    package var unfinishedIssues: [Quarter]
    /// Runs that are closed and not issued, with their pay dates within three days or past.
    package var lateRuns: [Quarter]
    /// Payouts that are held, of all runs.
    package var held: Int
    /// Payouts that are to be issued again, of runs that were issued before.
    package var waiting: Int
    /// Payouts that came back, of which nobody has decided what becomes of them.
    package var undecided: Int
    /// Runs that there are.
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
                ON p.run_id = r.id AND p.state = 'returned') AS undecided
        """

    /// As of an instant.
    package static func read(_ session: Session, now: Instant) async throws -> PayoutHealth {
        let answers = try await session.pipeline(
            [stuck, unfinished, late].map { Statement($0, [.timestamp(now)]) }
                + [Statement(counts)])
        func quarters(_ rows: Rows) throws -> [Quarter] {
            try rows.compactMap { Quarter(try $0.text(0)) }
        }
        return PayoutHealth(
            stuckRuns: try quarters(answers[0]), unfinishedIssues: try quarters(answers[1]),
            lateRuns: try quarters(answers[2]), held: Int(try answers[3].int64(0, 1)),
            waiting: Int(try answers[3].int64(0, 2)), undecided: Int(try answers[3].int64(0, 3)),
            runs: Int(try answers[3].int64(0, 0)))
    }
}
