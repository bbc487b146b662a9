package import ErrandLedger
package import ErrandPostgres

/// An operator's changes of runs and payouts.
///
/// Each call is one transaction with its postings in the ledger and a row of the history.
package struct PayoutChanges: Sendable {
    private let session: Session
    private let actor: String

    /// - Parameter actor: the operator, 1 to 200 characters.
    package init(session: Session, actor: String) {
        self.session = session
        self.actor = actor
    }

    /// Approves a closed run for issue.
    ///
    /// - Parameters:
    ///   - reason: up to 500 characters.
    ///   - isAcknowledged: approves the run despite its deviation from the preview.
    /// - Throws: ``PayoutError``
    package func approve(run: Int64, reason: String?, isAcknowledged: Bool) async throws {
        try await change(
            "SELECT payouts.approve($1, $2, $3, $4)",
            [.int64(run), .text(actor), .optional(reason), .bool(isAcknowledged)])
    }

    /// Holds a payout; the money returns to the person's balance, and later runs hold it too until
    /// it is released.
    ///
    /// - Throws: ``PayoutError``
    package func hold(_ payout: Int64, reason: String) async throws {
        try await change("SELECT payouts.hold($1, $2, $3)", parameters(payout, reason))
    }

    /// Releases a held payout; the next issue of its run includes it.
    ///
    /// - Throws: ``PayoutError``
    package func release(_ payout: Int64, reason: String?) async throws {
        try await change("SELECT payouts.release($1, $2, $3)", parameters(payout, reason))
    }

    /// Voids an unpaid payout or a cheque; the money returns to the person's balance.
    ///
    /// - Throws: ``PayoutError``
    package func void(_ payout: Int64, reason: String) async throws {
        try await change("SELECT payouts.void($1, $2, $3)", parameters(payout, reason))
    }

    /// Reissues a returned or void payout.
    ///
    /// - Parameter method: nil for a deposit if the person has valid bank details.
    /// - Returns: the id of the replacement.
    /// - Throws: ``PayoutError``
    package func reissue(
        _ payout: Int64, by method: PayoutMethod?, reason: String?
    ) async throws -> Int64 {
        try await change(
            "SELECT payouts.reissue($1, $2::payouts.method, $3, $4)",
            [
                .int64(payout), .optional(method?.rawValue), .text(actor), .optional(reason),
            ]
        ).int64(0, 0)
    }

    /// Gives up what a person is owed, with their payouts that are not issued.
    ///
    /// - Returns: the amounts, one per currency.
    /// - Throws: ``PayoutError``
    package func forfeit(person: Int64, reason: String) async throws -> [Money] {
        try await change(
            "SELECT currency, amount FROM payouts.give_up($1, $2, $3) ORDER BY currency",
            parameters(person, reason)
        ).map { Money(try $0.int64("amount"), try $0.currency()) }
    }

    private static let settleable = """
        SELECT coalesce(array_agg(s.id), '{}') FROM (
            SELECT p.id FROM payouts.payouts p
            WHERE p.run_id = $1 AND p.state = 'issued' AND p.id > $2 AND p.cheque_number IS NULL
              AND EXISTS (SELECT FROM payouts.files f
                WHERE f.id = p.file_id AND f.published_at IS NOT NULL)
            ORDER BY p.id LIMIT $3
        ) s
        """

    /// Settles the deposits of a run; safe to interrupt and repeat.
    ///
    /// - Returns: the number of newly settled payouts.
    package func settleDeposits(
        run: Int64, reason: String?, page: Int = 2_000
    ) async throws -> Int {
        var settled = 0
        var behind: Int64 = 0
        while true {
            let ids = try await session.query(
                Self.settleable, [.int64(run), .int64(behind), .int64(Int64(page))]
            ).int64Array(0, 0)
            guard let last = ids.last else { break }
            settled += try await settle(ids, run: run, reason: reason)
            behind = last
        }
        return settled
    }

    /// Settles payouts of a run, such as cashed cheques.
    ///
    /// - Parameter payouts: a few thousand at most.
    /// - Returns: the number of newly settled payouts.
    package func settle(_ payouts: [Int64], run: Int64, reason: String?) async throws -> Int {
        let count = try await change(
            "SELECT payouts.settle($1, $2, $3, $4)",
            [.int64(run), .int64Array(payouts), .text(actor), .optional(reason)]
        ).int64(0, 0)
        return Int(count)
    }

    /// Settles a run without pending or issued payouts; false if it has some.
    @discardableResult
    package func endRun(_ run: Int64) async throws -> Bool {
        try await change("SELECT payouts.end_run($1, $2)", [.int64(run), .text(actor)]).bool(0, 0)
    }

    private func parameters(_ id: Int64, _ reason: String?) -> [Parameter] {
        [.int64(id), .text(actor), .optional(reason)]
    }

    @discardableResult
    private func change(_ sql: String, _ parameters: [Parameter]) async throws -> Rows {
        try await session.payoutQuery(sql, parameters)
    }
}
