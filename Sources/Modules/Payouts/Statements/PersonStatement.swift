package import ErrandGregorian
package import ErrandLedger
package import ErrandPaymentFiles
package import ErrandPostgres

/// The statement of a person's payouts in a year.
package enum PersonStatement {
    private static let payee = """
        SELECT y.name, y.address FROM payouts.payees y WHERE y.person_id = $1
        """
    private static let lines = """
        SELECT p.id, i.pay_date::text AS pay_date, r.quarter, p.method::text AS method,
            p.cheque_number, p.amount
        FROM payouts.payouts p
        JOIN payouts.files f ON f.id = p.file_id
        JOIN payouts.issues i ON i.id = f.issue_id
        JOIN payouts.runs r ON r.id = p.run_id
        WHERE p.account_id = (SELECT a.id FROM ledger.accounts a
            WHERE a.owner = $1 AND a.kind = 'person' AND a.currency = $2)
          AND p.state IN ('issued', 'settled')
          AND i.pay_date >= make_date($3, 1, 1) AND i.pay_date < make_date($3 + 1, 1, 1)
        ORDER BY i.pay_date, p.id
        """

    /// Reads the payouts with a pay date in a year, without returned and void ones.
    ///
    /// - Parameter year: 2000 to 2099.
    /// - Throws: ``PayoutError/notFound(_:)`` if name and address are missing.
    package static func read(
        person: Int64, year: Int, currency: Currency, _ session: Session
    ) async throws -> ErrandPaymentFiles.Statement {
        guard (2000...2099).contains(year) else {
            throw PayoutError.invalid("year \(year): expected one from 2000 to 2099")
        }
        guard let payee = try await session.query(Self.payee, [.int64(person)]).first else {
            throw PayoutError.notFound("name and address of person \(person) are missing")
        }
        let rows = try await session.query(
            Self.lines, [.int64(person), .text(currency.code), .int32(Int32(year))])
        var deposits: Int64 = 0
        var cheques: Int64 = 0
        var lines: [ErrandPaymentFiles.Statement.Line] = []
        for row in rows {
            let amount = try row.int64("amount")
            let quarter = try row.text("quarter")
            let text: String
            if let number = try row.optionalInt64("cheque_number") {
                cheques += amount
                text = "Cheque \(number) for \(quarter)"
            } else {
                deposits += amount
                text = "Direct deposit for \(quarter)"
            }
            lines.append(
                ErrandPaymentFiles.Statement.Line(
                    date: try row.civilDate("pay_date"), text: text,
                    reference: PayoutReference.text(of: try row.int64("id")), amount: amount))
        }
        return ErrandPaymentFiles.Statement(
            name: try payee.text("name"), address: try payee.textArray("address"), year: year,
            currency: currency.code, fraction: currency.exponent, lines: lines,
            totals: totals(deposits: deposits, cheques: cheques))
    }

    /// The total, and the totals by method if both methods were used.
    private static func totals(deposits: Int64, cheques: Int64) -> [ErrandPaymentFiles.Statement
        .Total]
    {
        let paid = ErrandPaymentFiles.Statement.Total(
            name: "Paid in all", amount: deposits + cheques)
        guard deposits > 0, cheques > 0 else { return [paid] }
        return [
            ErrandPaymentFiles.Statement.Total(name: "By direct deposit", amount: deposits),
            ErrandPaymentFiles.Statement.Total(name: "By cheque", amount: cheques), paid,
        ]
    }

    /// Returns the statement as a PDF on Letter paper.
    ///
    /// - Parameters:
    ///   - issuer: the company's name.
    ///   - created: the date on the document.
    package static func pdf(
        _ statement: ErrandPaymentFiles.Statement, issuer: String, created: CivilDate
    ) throws -> [UInt8] {
        try StatementPDF.document(statement, issuer: issuer, created: created)
    }
}
