import ErrandGregorian
import ErrandPaymentFiles
import Testing

@Suite("Nacha files")
struct NACHAFileTests {
    @Test(
        "a bank reads each field of a file as it was asked for",
        arguments: [1, 6, 7, 16, 20_000])
    func layout(count: Int) async throws {
        let deposits = try american(count)
        let file = NACHACase()
        let (bytes, totals) = try file.write(deposits)
        #expect(try await file.check(bytes, deposits) == "\(count) payments agree\n")
        #expect(totals.payments == count)
        #expect(totals.amount == deposits.reduce(0) { $0 + $1.amount })
        #expect(totals.records == bytes.count / 95)
    }

    @Test(
        "a batch ends before its count would be too large, and traces go on",
        arguments: [1, 2, 3, 10])
    func batches(limit: Int) async throws {
        var file = NACHACase()
        file.limit = limit
        file.modifier = "0"
        file.profile.endsLinesWithCR = true
        file.profile.entryClass = .company
        let deposits = try american(10)
        #expect(try await file.check(file.write(deposits).bytes, deposits) == "10 payments agree\n")
    }

    @Test func `hashes of many banks keep their last ten digits`() async throws {
        let deposits = try american(2_000)
        let banks = deposits.reduce(0 as Int64) { sum, deposit in
            guard case .unitedStates(let account) = deposit.account else { return sum }
            return sum + (Int64(account.routing.prefix(8)) ?? 0)
        }
        #expect(banks > 10_000_000_000)
        let file = NACHACase()
        #expect(
            try await file.check(file.write(deposits).bytes, deposits) == "2000 payments agree\n")
    }

    @Test func `the largest amount fits, and what is larger is refused`() async throws {
        var deposits = try american(1)
        deposits[0].amount = NACHAFile.mostAmount
        let file = NACHACase()
        #expect(try await file.check(file.write(deposits).bytes, deposits) == "1 payments agree\n")
        for amount in [0, -5, NACHAFile.mostAmount + 1] {
            deposits[0].amount = amount
            #expect(
                throws: PaymentFileError.badPayment(
                    reference: "US0", .amount(amount, most: NACHAFile.mostAmount))
            ) { try file.write(deposits) }
        }
    }

    @Test func `sums that the control record cannot hold are refused`() throws {
        var deposits = try american(101)
        for place in deposits.indices { deposits[place].amount = NACHAFile.mostAmount }
        #expect(throws: PaymentFileError.self) { try NACHACase().write(deposits) }
        _ = try NACHACase().write(Array(deposits.prefix(100)))
    }

    @Test func `names, references and accounts that no bank takes are refused`() throws {
        let good = try american(1)[0]
        let elsewhere = try canadian(1)[0].account
        let cases: [(PaymentFileError.Problem, (inout Deposit) -> Void)] = [
            (.noName, { $0.payee = "🙂" }), (.otherCountry, { $0.account = elsewhere }),
            (.reference(most: 15), { $0.reference = "1234567890123456" }),
        ]
        for (problem, spoil) in cases {
            var bad = good
            spoil(&bad)
            #expect(throws: PaymentFileError.badPayment(reference: bad.reference, problem)) {
                try NACHACase().write([good, bad])
            }
        }
        #expect(throws: PaymentFileError.empty) { try NACHACase().write([]) }
    }

    @Test("a modifier is a capital or a digit", arguments: ["a", "É", "-", "１"] as [Character])
    func badModifier(modifier: Character) throws {
        var file = NACHACase()
        file.modifier = modifier
        #expect(throws: PaymentFileError.self) { try file.write(american(1)) }
    }
}
