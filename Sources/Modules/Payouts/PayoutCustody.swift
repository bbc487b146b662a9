package import ErrandPeople
package import ErrandPostgres

extension PayoutsModule: CustodialModule {
    /// Runs that are not settled, and rewards that nobody has paid.
    package func openMatters(_ session: Session) async throws -> [OpenMatter] {
        var matters: [OpenMatter] = []
        let runs = try await session.query(
            """
            SELECT quarter FROM payouts.runs
            WHERE state <> 'settled' AND (state <> 'preview' OR closing_at IS NOT NULL)
            ORDER BY quarter
            """
        ).map { try $0.text("quarter") }
        if let first = runs.first {
            matters.append(
                OpenMatter(
                    name: "unsettled_runs",
                    message: "not settled: \(runs.joined(separator: ", "))",
                    remedy: "errand payout show \(first)"))
        }
        let unpaid = try await session.query(
            """
            SELECT count(*) AS people FROM (
                SELECT FROM ledger.accounts a JOIN ledger.balances b ON b.account_id = a.id
                WHERE a.kind = 'person' GROUP BY a.id HAVING sum(b.amount) <> 0
            ) unpaid
            """)[0].int64("people")
        if unpaid > 0 {
            matters.append(
                OpenMatter(
                    name: "unpaid_balances",
                    message: "\(unpaid) reward balances are not paid: a final run pays them",
                    remedy: "errand payout preview"))
        }
        return matters
    }
}
