import Foundation
import ErrandLedger
import ErrandPaymentFiles
import ErrandPayouts
import ErrandPostgres
import ErrandTestServices
import Testing

/// Files of returned items as banks send them, put together field by field.
private enum BankFile {
    static func zeros(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: width - digits.count) + digits
    }

    static func field(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: width - text.utf8.count)
    }

    struct Item {
        var code: Int64
        var reference: String
        var amount: Int64
    }

    /// Records A, I and Z of 1,464 bytes.
    static func aft(_ items: [Item]) -> [UInt8] {
        func head(_ type: String, _ count: Int64) -> String {
            type + zeros(count, 9) + "ORIG000001" + "0007"
        }
        var text = field(head("A", 1), 1_464) + "\r\n"
        var records: Int64 = 1
        for start in stride(from: 0, to: items.count, by: 6) {
            records += 1
            let segments = items[start..<min(start + 6, items.count)].map { item in
                zeros(item.code, 3) + zeros(item.amount, 10) + "026330" + "000310001"
                    + field("1234567", 12) + zeros(0, 22) + "000" + field("SHORT", 15)
                    + field("PAYEE", 30) + field("LONG", 30) + field("ORIG000001", 10)
                    + field(item.reference, 19) + "000312345" + field("9998887", 12)
                    + field("", 15) + field("", 22) + "  " + zeros(0, 11)
            }
            text += field(head("I", records) + segments.joined(), 1_464) + "\r\n"
        }
        let sums = zeros(items.reduce(0) { $0 + $1.amount }, 14) + zeros(Int64(items.count), 8)
        let none = zeros(0, 22)
        text += field(head("Z", records + 1) + none + sums + none + none, 1_464) + "\r\n"
        return Array(text.utf8)
    }

    /// Entries with an addenda 99 or 98 each, in one batch.
    static func nacha(_ items: [(code: String, reference: String, amount: Int64)]) -> [UInt8] {
        let count = Int64(items.count)
        let total = items.reduce(0) { $0 + $1.amount }
        let hash = zeros(12_100_035 * count, 10)
        var lines = [
            "101 123456789 0210000212611240905A094101" + field("US", 23) + field("BANK", 31),
            field("5200COMPANY", 78) + "1021000020000001",
        ]
        for item in items {
            let kind = item.code.hasPrefix("C") ? "98" : "99"
            lines += [
                "621121000358" + field("5556667", 17) + zeros(item.amount, 10)
                    + field(item.reference, 15) + field("PAYEE", 22) + "  1021000020000001",
                "7\(kind)\(item.code)121000350000007" + field("", 6) + "12100035"
                    + field("", 44) + "021000020000001",
            ]
        }
        lines += [
            "8200" + zeros(2 * count, 6) + hash + zeros(0, 12) + zeros(total, 12)
                + field("1123456789", 35) + "021000020000001"
        ]
        let blocks = (Int64(lines.count) + 1 + 9) / 10
        lines += [
            "9" + zeros(1, 6) + zeros(blocks, 6) + zeros(2 * count, 8) + hash + zeros(0, 12)
                + zeros(total, 12) + field("", 39)
        ]
        while lines.count % 10 > 0 { lines.append(String(repeating: "9", count: 94)) }
        return Array(lines.map { $0 + "\n" }.joined().utf8)
    }
}

@Suite("Deposits that come back", .database)
struct ReturnTests {
    private func returns(_ ground: PayoutGround) -> ReturnedPayouts {
        ReturnedPayouts(pool: ground.pool, client: ground.client, actor: "operator")
    }

    @Test func `a file puts the money back once, and a cheque pays what cannot be deposited`()
        async throws
    {
        try await PayoutGround.with(people: 24) { ground in
            let issue = try await ground.issue()
            let before = try await ground.inTransit("CAD")
            let payouts = try await [1, 5, 9].asyncMap { try await ground.payout(of: $0) }
            let other = try await ground.payout(of: 13)
            let american = try await ground.payout(of: 2)
            let file = BankFile.aft([
                .init(
                    code: 905, reference: payouts[0].reference, amount: payouts[0].amount.minorUnits
                ),
                .init(
                    code: 912, reference: payouts[1].reference, amount: payouts[1].amount.minorUnits
                ),
                .init(
                    code: 911, reference: payouts[2].reference, amount: payouts[2].amount.minorUnits
                ),
                .init(code: 905, reference: other.reference, amount: 1),
                .init(code: 905, reference: "P999999", amount: 5),
                .init(code: 905, reference: "X1", amount: 6),
                .init(code: 905, reference: american.reference, amount: american.amount.minorUnits),
            ])
            let result = try await returns(ground).apply(aft: file)
            #expect(result.returned == 3 && result.byCheque == 2 && result.known == 0)
            #expect(result.toDecide.map(\.reference) == [payouts[2].reference])
            #expect(
                result.unmatched.map(\.reference)
                    == [other.reference, "P999999", "X1", american.reference])
            #expect(result.unmatched.map(\.record) == [2, 2, 2, 3])
            // The two cheques are in transit again, the third is the person's.
            let third = payouts[2]
            #expect(try await ground.inTransit("CAD") == before - third.amount.minorUnits)
            #expect(
                try await ground.number(
                    "SELECT ledger.balance($1)", [.int64(third.accountID)])
                    == third.amount.minorUnits)
            #expect(
                try await ground.number(
                    """
                    SELECT count(*) FROM payouts.bank_details
                    WHERE refused_at IS NOT NULL AND person_id IN (1, 5)
                    """) == 2)
            #expect(
                try await ground.number(
                    "SELECT count(*) FROM payouts.bank_details WHERE refused_at IS NOT NULL") == 2)
            #expect(try await ground.told("returned") == 3)

            let again = try await returns(ground).apply(aft: file)
            #expect(again.returned == 0 && again.known == 3 && again.unmatched.count == 4)
            #expect(try await ground.inTransit("CAD") == before - third.amount.minorUnits)
            #expect(try await ground.told("returned") == 3)
            try await payByCheque(payouts, after: issue, ground)
        }
    }

    private func payByCheque(
        _ payouts: [PayoutRecord], after issue: IssueRecord, _ ground: PayoutGround
    ) async throws {
        let next = try await ground.issue()
        #expect(next.number == 2 && next.files.map(\.method) == [.cheque])
        let last = issue.files.first { $0.method == .cheque && $0.currency == .cad }
        let first = try #require(last.map { $0.number + Int64($0.payouts) })
        for (place, person) in [1, 5].enumerated() {
            let payout = try await ground.payout(of: person)
            #expect(payout.replaces == payouts[place].id && payout.state == .issued)
            #expect(payout.chequeNumber == first + Int64(place))
            #expect(payout.amount == payouts[place].amount)
        }
        #expect(try ground.contents(next).keys.contains("cheques-CAD.csv"))
        let old = try await PayoutRows(session: ground.session).payout(payouts[0].id)
        #expect(old?.state == .reissued && old?.reason == "905 account closed")
    }

    @Test func `a file from the United States, with a notice of change`() async throws {
        try await PayoutGround.with(people: 12) { ground in
            try await ground.issue()
            let payouts = try await [2, 6, 10].asyncMap { try await ground.payout(of: $0) }
            let file = BankFile.nacha([
                ("R02", payouts[0].reference, payouts[0].amount.minorUnits),
                ("R16", payouts[1].reference, payouts[1].amount.minorUnits),
                ("C01", payouts[2].reference, 0),
            ])
            let result = try await returns(ground).apply(nacha: file)
            #expect(result.returned == 2 && result.byCheque == 1)
            #expect(result.toDecide.map(\.reference) == [payouts[1].reference])
            #expect(result.unmatched.map(\.reference) == [payouts[2].reference])
            #expect(try await ground.payout(of: 10).state == .issued)
            await #expect(throws: ReturnFileError.self) {
                try await returns(ground).apply(nacha: Array(file.dropLast(95)))
            }
        }
    }

    @Test func `by hand, with a code or in words`() async throws {
        try await PayoutGround.with(people: 8) { ground in
            try await ground.issue()
            let returns = returns(ground)
            func payout(_ person: Int) async throws -> Int64 {
                try await ground.payout(of: person).id
            }
            let (one, two, cheque) = (try await payout(1), try await payout(2), try await payout(3))
            #expect(try await returns.takeBack(one, code: "905", note: nil) == .reissued)
            #expect(try await returns.takeBack(one, code: "905", note: nil) == nil)
            #expect(try await returns.takeBack(two, code: "R16", note: "by phone") == .returned)
            // The person reads the bank's reason, and operators what was noted beside it.
            #expect(try await ground.payout(of: 2).reason == "R16 account frozen")
            let history = try await PayoutRows(session: ground.session).changes(ofPayout: two)
            #expect(history.last?.reason == "R16 account frozen: by phone")
            let health = try await PayoutHealth.read(ground.session, now: .now())
            #expect(health.waiting == 1 && health.undecided == 1)
            #expect(
                try await returns.takeBack(cheque, code: nil, note: "moved away") == .returned)
            #expect(try await ground.payout(of: 3).reason == "undeliverable")
            for (code, reason) in [("9", nil), ("R2", nil), ("x05", nil), (nil, nil)]
                as [(String?, String?)]
            {
                await #expect(throws: PayoutError.self) {
                    try await returns.takeBack(cheque, code: code, note: reason)
                }
            }
            await #expect(throws: PayoutError.self) {
                try await returns.takeBack(4_711, code: "905", note: nil)
            }
        }
    }

    @Test func `without an address nothing replaces it, and the money is the person's`()
        async throws
    {
        try await PayoutGround.with(people: 4) { ground in
            try await ground.issue()
            let payout = try await ground.payout(of: 1)
            _ = try await ground.session.query("DELETE FROM payouts.payees WHERE person_id = 1")
            #expect(
                try await returns(ground).takeBack(payout.id, code: "905", note: nil)
                    == .returned)
            #expect(
                try await ground.number("SELECT ledger.balance($1)", [.int64(payout.accountID)])
                    == payout.amount.minorUnits)
            #expect(try await ground.payout(of: 1).id == payout.id)
        }
    }
}

extension Sequence {
    fileprivate func asyncMap<Value>(
        _ transform: (Element) async throws -> Value
    ) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
