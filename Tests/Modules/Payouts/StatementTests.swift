import Foundation
import ErrandLedger
import ErrandPaymentFiles
import ErrandPayouts
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("What a person was paid in a year", .database)
struct StatementTests {
    @Test func `what was paid stands in it, and what came back does not`() async throws {
        try await PayoutGround.with(people: 8) { ground in
            try await ground.issue()
            let first = try await ground.payout(of: 1)
            let returns = ReturnedPayouts(
                pool: ground.pool, client: ground.client, actor: "operator")
            _ = try await returns.takeBack(first.id, code: "905", note: nil)
            func read(_ person: Int64, _ year: Int = 2026) async throws
                -> ErrandPaymentFiles.Statement
            {
                try await PersonStatement.read(
                    person: person, year: year, currency: .cad, ground.session)
            }
            #expect(try await read(1).lines.isEmpty)
            try await ground.issue()
            let second = try await ground.payout(of: 1)
            let statement = try await read(1)
            let number = try #require(second.chequeNumber)
            #expect(
                statement.lines == [
                    .init(
                        date: PayoutGround.payDate, text: "Cheque \(number) for 2026-Q3",
                        reference: second.reference, amount: second.amount.minorUnits)
                ])
            #expect(
                statement.totals == [.init(name: "Paid in all", amount: second.amount.minorUnits)])
            #expect(statement.name == PayoutGround.name(of: 1) && statement.address.count == 2)
            #expect(String(decoding: statement.csv(), as: UTF8.self).contains(second.reference))
            #expect(try await read(5).lines.map(\.text) == ["Direct deposit for 2026-Q3"])
            #expect(try await read(5, 2027).lines.isEmpty)
            let pdf = try PersonStatement.pdf(
                statement, issuer: "Sondages", created: PayoutGround.today)
            #expect(pdf.starts(with: "%PDF-".utf8))
            await #expect(throws: PayoutError.self) { try await read(99) }
            await #expect(throws: PayoutError.self) { try await read(1, 26) }
        }
    }
}

@Suite("The file of who pays")
struct ProfileTests {
    @Test func `each part may be left out but the company`() throws {
        let whole = try PayoutGround.profile()
        #expect(whole.company == "Sondages d’été inc." && whole.nacha != nil)
        #expect(
            whole.aft.keys.sorted() == ["CAD"] && whole.cheques.keys.sorted() == ["CAD", "USD"])
        #expect(whole.cheques["CAD"]?.firstNumber == 501)
        for key in ["aft", "nacha", "cheques"] { _ = try PayoutGround.profile(without: key) }
        #expect(throws: PayoutError.self) { try PayoutGround.profile(without: "company") }
    }

    @Test(
        "what is wrong is named by its key, and no account is shown",
        arguments: [
            ("\"9998887\"", "\"99-x8887\"", "aft.CAD.return_account"),
            ("\"9998887\"", "9998887", "aft.CAD.return_account.account"),
            ("\"01020\"", "\"0102\"", "aft.CAD"), ("\"short_name\"", "\"shortname\"", "shortname"),
            ("\"CAD\": {\n    \"originator_id\"", "\"EUR\": {\n    \"originator_id\"", "aft.EUR"),
            ("\"7654321\"", "\"76\"", "cheques.USD"), ("\"odfi\"", "\"ofdi\"", "nacha.ofdi"),
            ("\"121000358\"", "\"121000359\"", "nacha"), ("501", "0", "cheques.CAD.first_number"),
            ("501", "1.5", "cheques.CAD.first_number"),
            ("\"company\"", "\"companies\"", "companies"),
            ("{\"name\"", "{\"nam\"", "company"), ("{", "[", "JSON"),
        ])
    func refusals(from: String, to: String, key: String) throws {
        let json = PayoutGround.profileJSON.replacingOccurrences(of: from, with: to)
        #expect(json != PayoutGround.profileJSON)
        let error = #expect(throws: PayoutError.self) {
            try IssueProfile(json: Array(json.utf8))
        }
        let text = try #require(error).description
        #expect(text.contains(key), "\(text)")
        for secret in ["9998887", "99-x8887", "1234567", "7654321", "121000359"] {
            #expect(!text.contains(secret))
        }
    }
}
