package import ErrandPostgres

/// What an operator does to a run or a payout; each call is one transaction with its postings in
/// the ledger and the note of who did it, when and why.
package struct PayoutChanges: Sendable {
    private let session: Session
    private let actor: String

    /// - Parameter actor: who does it, 1 to 200 characters.
    package init(session: Session, actor: String) {
        self.session = session
        self.actor = actor
    }

    /// Lets a closed run be issued.
    ///
    /// - Parameters:
    ///   - reason: up to 500 characters.
    ///   - isAcknowledged: even if it differs much from its preview.
    /// - Throws: ``PayoutError``
    package func approve(run: Int64, reason: String?, isAcknowledged: Bool) async throws {
        try await change(
            "SELECT payouts.approve($1, $2, $3, $4)",
            [.int64(run), .text(actor), .optional(reason), .bool(isAcknowledged)])
    }

    /// Keeps a payout from being issued; the money goes back to the person's balance, and is held
    /// by later runs too until somebody releases it.
    ///
    /// - Throws: ``PayoutError``
    package func hold(_ payout: Int64, reason: String) async throws {
        try await change("SELECT payouts.hold($1, $2, $3)", parameters(payout, reason))
    }

    /// Lets the next files of its run have a payout that was held.
    ///
    /// - Throws: ``PayoutError``
    package func release(_ payout: Int64, reason: String?) async throws {
        try await change("SELECT payouts.release($1, $2, $3)", parameters(payout, reason))
    }

    /// Ends a payout that is not to be paid, or whose cheque is worthless; the money goes back to
    /// the person's balance.
    ///
    /// - Throws: ``PayoutError``
    package func void(_ payout: Int64, reason: String) async throws {
        try await change("SELECT payouts.void($1, $2, $3)", parameters(payout, reason))
    }

    /// Pays anew what came back or was void.
    ///
    /// - Parameter method: nil for a deposit if there are bank details that were not refused.
    /// - Returns: the payout that replaces it.
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

    private static let settleable = """
        SELECT coalesce(array_agg(s.id), '{}') FROM (
            SELECT p.id FROM payouts.payouts p
            WHERE p.run_id = $1 AND p.state = 'issued' AND p.id > $2 AND p.cheque_number IS NULL
              AND EXISTS (SELECT FROM payouts.files f
                WHERE f.id = p.file_id AND f.published_at IS NOT NULL)
            ORDER BY p.id LIMIT $3
        ) s
        """

    /// Takes note that the bank has paid the deposits of a run; to be interrupted and begun again
    /// at any time.
    ///
    /// - Returns: how many were not settled before.
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

    /// Takes note that the bank has paid some payouts of a run, such as cheques that were cashed.
    ///
    /// - Parameter payouts: some thousands at most.
    /// - Returns: how many were not settled before.
    package func settle(_ payouts: [Int64], run: Int64, reason: String?) async throws -> Int {
        let count = try await change(
            "SELECT payouts.settle($1, $2, $3, $4)",
            [.int64(run), .int64Array(payouts), .text(actor), .optional(reason)]
        ).int64(0, 0)
        return Int(count)
    }

    /// Ends a run of which nothing is under way any more; false when something is.
    @discardableResult
    package func endRun(_ run: Int64) async throws -> Bool {
        try await change("SELECT payouts.end_run($1, $2)", [.int64(run), .text(actor)]).bool(0, 0)
    }

    private func parameters(_ payout: Int64, _ reason: String?) -> [Parameter] {
        [.int64(payout), .text(actor), .optional(reason)]
    }

    @discardableResult
    private func change(_ sql: String, _ parameters: [Parameter]) async throws -> Rows {
        try await session.payoutQuery(sql, parameters)
    }
}
