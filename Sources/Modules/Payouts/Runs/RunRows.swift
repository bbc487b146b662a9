package import ErrandLedger
package import ErrandPostgres

/// Reads runs.
package struct RunRows: Sendable {
    package let session: Session

    package init(session: Session) { self.session = session }

    private static let list = """
        SELECT r.id, r.quarter, r.state::text AS state, r.cut_off, r.pay_date::text AS pay_date,
            r.made_at, r.closing_at, r.closed_at, r.closed_by, r.closed_by_login, r.approved_at,
            r.approved_by, r.approved_by_login, r.issued_at, r.settled_at, r.chunks_left,
            (SELECT count(*) FROM payouts.chunks c WHERE c.run_id = r.id) AS chunks,
            CASE WHEN r.closed_at IS NOT NULL THEN payouts.deviation(r.id)::text END AS deviation
        FROM payouts.runs r
        WHERE ($1::text IS NULL OR r.quarter = $1)
          AND ($2::text IS NULL OR r.state::text = $2)
        ORDER BY r.cut_off DESC LIMIT $3
        """
    private static let totals = """
        SELECT c.currency, sum(c.payouts)::bigint AS payouts, sum(c.amount)::bigint AS amount,
            sum(c.held)::bigint AS held, sum(c.held_amount)::bigint AS held_amount,
            sum(c.carried)::bigint AS carried, sum(c.carried_amount)::bigint AS carried_amount,
            max(c.done_at) AS at
        FROM payouts.chunks c WHERE c.run_id = $1 GROUP BY 1 ORDER BY 1
        """
    private static let previews = """
        SELECT p.currency, p.payouts, p.amount, p.held, p.held_amount, p.carried,
            p.carried_amount, p.at
        FROM payouts.previews p WHERE p.run_id = $1 AND p.at = (
            SELECT max(l.at) FROM payouts.previews l
            WHERE l.run_id = $1 AND l.currency = p.currency)
        ORDER BY p.currency
        """
    private static let states = """
        SELECT p.state::text AS state, p.currency, count(*) AS payouts,
            sum(p.amount)::bigint AS amount
        FROM payouts.payouts p WHERE p.run_id = $1 GROUP BY p.state, p.currency
        ORDER BY p.currency, p.state
        """

    /// Returns runs without their totals, latest quarter first.
    package func page(state: RunState? = nil, limit: Int) async throws -> [RunRecord] {
        try await session.query(
            Self.list, [.null, .optional(state?.rawValue), .int64(Int64(limit))]
        ).map(Self.record)
    }

    /// Returns the run of a quarter with its totals; nil if it does not exist.
    package func run(of quarter: Quarter) async throws -> RunRecord? {
        let rows = try await session.query(
            Self.list, [.text(quarter.description), .null, .int64(1)])
        guard let row = rows.first else { return nil }
        var run = try Self.record(row)
        let answers = try await session.pipeline(
            [Self.totals, Self.previews, Self.states].map { Statement($0, [.int64(run.id)]) })
        run.totals = try answers[0].map { try RunTotal($0) }
        run.previews = try answers[1].map { try RunTotal($0) }
        run.states = try answers[2].map { row in
            StateTotal(
                state: try row.state("state"), currency: try row.currency(),
                payouts: Int(try row.int64("payouts")), amount: try row.int64("amount"))
        }
        return run
    }

    private static func record(_ row: Row) throws -> RunRecord {
        let name = try row.text("quarter")
        guard let quarter = Quarter(name) else {
            throw PostgresError.decoding("\(name) is not a quarter")
        }
        return RunRecord(
            id: try row.int64("id"), quarter: quarter, state: try row.state("state"),
            cutOff: try row.timestamp("cut_off"), payDate: try row.civilDate("pay_date"),
            madeAt: try row.timestamp("made_at"),
            closingAt: try row.optionalTimestamp("closing_at"),
            closedAt: try row.optionalTimestamp("closed_at"),
            closedBy: try row.optionalText("closed_by"),
            closedByLogin: try row.optionalText("closed_by_login"),
            approvedAt: try row.optionalTimestamp("approved_at"),
            approvedBy: try row.optionalText("approved_by"),
            approvedByLogin: try row.optionalText("approved_by_login"),
            issuedAt: try row.optionalTimestamp("issued_at"),
            settledAt: try row.optionalTimestamp("settled_at"),
            chunks: Int(try row.int64("chunks")), chunksLeft: Int(try row.int32("chunks_left")),
            deviation: try row.optionalText("deviation"))
    }
}
