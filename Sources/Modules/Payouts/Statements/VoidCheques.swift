import ErrandGregorian
package import ErrandLedger
import ErrandPaymentFiles
package import ErrandPostgres

/// The void and returned cheques that a bank must not pay, for its positive pay.
package enum VoidCheques {
    /// The cheques of one series, which belongs to one account.
    private static let list = """
        SELECT p.cheque_number, p.amount, s.issued_on::text AS issued_on, i.payee
        FROM payouts.changes c
        JOIN payouts.payouts p ON p.id = c.payout_id AND p.cheque_number IS NOT NULL
        JOIN payouts.files f ON f.id = p.file_id AND f.series = $1
        JOIN payouts.issues s ON s.id = f.issue_id
        JOIN payouts.items i ON i.file_id = p.file_id AND i.payout_id = p.id
        WHERE c.action IN ('void', 'return') AND c.at >= $2 AND c.payout_id IS NOT NULL
        ORDER BY p.cheque_number
        """

    /// Returns the cheques as CSV, sorted by number, in the `actions` form of
    /// ``PaymentFiles/ChequeRegister``.
    ///
    /// - Parameter since: only cheques voided or returned at or after this time.
    /// - Throws: ``PayoutError/refused(_:hint:)`` if the profile has no cheques in the currency.
    package static func csv(
        in currency: Currency, since: Instant, by profile: IssueProfile, _ session: Session
    ) async throws -> (lines: Int, bytes: [UInt8]) {
        guard let part = profile.cheques[currency.code],
            let series = profile.series(of: .cheque, currency.code)
        else {
            throw PayoutError.refused(
                "the payout profile has no \(IssueProfile.key(of: .cheque, currency.code))",
                hint: "Add it to the profile.")
        }
        let rows = try await session.query(Self.list, [.text(series.name), .timestamp(since)])
        var register = try ChequeRegister(account: part.issuer.account, form: .actions)
        var bytes: [UInt8] = []
        for row in rows {
            try register.add(
                number: try row.int64("cheque_number"), amount: try row.int64("amount"),
                date: try row.civilDate("issued_on"), payee: try row.text("payee"), action: .void,
                to: &bytes)
        }
        return (register.end().payments, bytes)
    }
}
