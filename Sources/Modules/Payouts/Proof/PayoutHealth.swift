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
                ON p.run_id = r.id AND p.state = 'returned') AS undecided
        """

    /// Reads the state at an instant.
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
