import ErrandGregorian
import ErrandPaymentFiles
import Testing

@Suite("AFT files")
struct AFTFileTests {
    @Test(
        "a bank reads each field of a file as it was asked for",
        arguments: [1, 5, 6, 7, 12, 13, 20_000])
    func layout(count: Int) async throws {
        let deposits = try canadian(count)
        let file = try AFTCase()
        let (bytes, totals) = try file.write(deposits)
        #expect(try await file.check(bytes, deposits) == "\(count) payments agree\n")
        #expect(totals.payments == count)
        #expect(totals.amount == deposits.reduce(0) { $0 + $1.amount })
        #expect(totals.records == 2 + (count + 5) / 6)
    }

    @Test(
        "every setting that banks differ about",
        arguments: [
            (AFTProfile.TraceNumber.zeroFill, "", "CAD", true), (.structured, "00", "CAD", false),
            (.structured, "", "USD", true),
        ])
    func settings(
        trace: AFTProfile.TraceNumber, settlement: String, currency: String, ends: Bool
    ) async throws {
        var file = try AFTCase()
        file.profile.traceNumber = trace
        file.profile.settlementCode = settlement
        file.profile.currency = currency
        file.profile.endsLines = ends
        file.profile.transactionCode = "460"
        file.profile.originatorID = "AB1"
        file.number = 9_999
        file.created = day(2028, 2, 29)
        file.paid = day(2028, 12, 31)
        let deposits = try canadian(8)
        #expect(try await file.check(file.write(deposits).bytes, deposits) == "8 payments agree\n")
    }

    @Test func `the largest amounts, shortest names and longest references fit`() async throws {
        var deposits = try canadian(3)
        deposits[0].amount = AFTFile.mostAmount
        deposits[1].amount = AFTFile.mostAmount
        deposits[1].payee = "Ø"
        deposits[2].reference = "ABCDEFGHIJ-12345678"
        deposits[2].payee = String(repeating: "ß", count: 40)
        let file = try AFTCase()
        #expect(try await file.check(file.write(deposits).bytes, deposits) == "3 payments agree\n")
    }

    @Test func `the same payments give the same bytes, however they are handed on`() throws {
        let deposits = try canadian(50)
        let file = try AFTCase()
        let whole = try file.write(deposits).bytes
        #expect(try file.write(deposits).bytes == whole)
        var pieces: [UInt8] = []
        var piece: [UInt8] = []
        var writer = try AFTFile(
            file.profile, number: file.number, created: file.created, paid: file.paid, to: &piece)
        for deposit in deposits {
            pieces += piece
            piece = []
            try writer.add(deposit, to: &piece)
        }
        _ = try writer.end(to: &piece)
        #expect(pieces + piece == whole)
    }

    @Test("what no bank takes is refused, naming the payment, and leaves nothing") func refusals()
        throws
    {
        let good = try canadian(1)[0]
        let american = try american(1)[0].account
        let cases: [(PaymentFileError.Problem, (inout Deposit) -> Void)] = [
            (.amount(0, most: AFTFile.mostAmount), { $0.amount = 0 }),
            (.amount(-1, most: AFTFile.mostAmount), { $0.amount = -1 }),
            (
                .amount(AFTFile.mostAmount + 1, most: AFTFile.mostAmount),
                { $0.amount = AFTFile.mostAmount + 1 }
            ),
            (.noName, { $0.payee = "" }), (.noName, { $0.payee = " 山田 🙂 " }),
            (.otherCountry, { $0.account = american }),
        ]
        for (problem, spoil) in cases {
            var bytes: [UInt8] = []
            let file = try AFTCase()
            var writer = try AFTFile(
                file.profile, number: 1, created: file.created, paid: file.paid, to: &bytes)
            let before = bytes
            var bad = good
            spoil(&bad)
            #expect(throws: PaymentFileError.badPayment(reference: good.reference, problem)) {
                try writer.add(bad, to: &bytes)
            }
            #expect(bytes == before)
            // It goes on without that payment.
            try writer.add(good, to: &bytes)
            _ = try writer.end(to: &bytes)
            #expect(try file.writeFirst([good]) == bytes)
        }
    }

    @Test(
        "a reference that would come back otherwise is refused",
        arguments: ["", "abc", "A B", "É1", "A_1", "12345678901234567890"])
    func references(reference: String) throws {
        var deposit = try canadian(1)[0]
        deposit.reference = reference
        #expect(
            throws: PaymentFileError.badPayment(
                reference: reference, .reference(most: AFTFile.referenceSize))
        ) { try AFTCase().write([deposit]) }
    }

    @Test func `a file without payments is no file`() throws {
        #expect(throws: PaymentFileError.empty) { try AFTCase().write([]) }
    }

    @Test func `money that the control record cannot hold is refused`() throws {
        var bytes: [UInt8] = []
        let file = try AFTCase()
        var writer = try AFTFile(
            file.profile, number: 1, created: file.created, paid: file.paid, to: &bytes)
        var deposit = try canadian(1)[0]
        deposit.amount = AFTFile.mostAmount
        for _ in 0..<10_000 {
            bytes = []
            try writer.add(deposit, to: &bytes)
        }
        #expect(throws: PaymentFileError.self) { try writer.add(deposit, to: &bytes) }
    }

    @Test("a profile that no bank takes is refused", arguments: 0..<11) func badProfile(
        place: Int
    ) throws {
        let changes: [(inout AFTProfile) -> Void] = [
            { $0.originatorID = "" }, { $0.originatorID = "12345678901" },
            { $0.originatorID = "a" }, { $0.dataCentre = "0102" }, { $0.directClearer = "00000" },
            { $0.dataCentre = "00001" }, { $0.shortName = "★" }, { $0.longName = "" },
            { $0.transactionCode = "45" }, { $0.settlementCode = "0" }, { $0.currency = "EUR" },
        ]
        var file = try AFTCase()
        changes[place](&file.profile)
        #expect(throws: PaymentFileError.self) { try file.write(canadian(1)) }
    }

    @Test("file creation numbers are 1 to 9999", arguments: [0, -1, 10_000]) func badNumber(
        number: Int
    ) throws {
        var file = try AFTCase()
        file.number = number
        #expect(throws: PaymentFileError.self) { try file.write(canadian(1)) }
    }
}

extension AFTCase {
    /// The file with the number 1.
    fileprivate func writeFirst(_ deposits: [Deposit]) throws -> [UInt8] {
        var first = self
        first.number = 1
        return try first.write(deposits).bytes
    }
}
