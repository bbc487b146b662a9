import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

/// Random bills, trips and payments; balances are counted beside the database.
@Suite("Debts in a long disorder", .database) struct DebtModelTests {
    /// Who owes whom, counted by the test: above zero the first is owed by the second.
    private struct Book {
        var owed: [[Int64]]
        init(people: Int) {
            owed = Array(repeating: Array(repeating: 0, count: people + 1), count: people + 1)
        }
        mutating func add(_ creditor: Int64, _ debtor: Int64, _ amount: Int64) {
            guard creditor != debtor else { return }
            owed[Int(creditor)][Int(debtor)] += amount
            owed[Int(debtor)][Int(creditor)] -= amount
        }
    }

    /// Of every bill what it is worth now: its payer, and what each bears.
    private typealias Parts = (payer: Int64, shares: [Int64: Int64])

    @Test("parts always add up, and are within one of what is due", arguments: 0..<4)
    func splits(seed: Int) async throws {
        let ground = try await HouseholdGround(members: 0)
        var random = SplitMix(seed: UInt64(seed))
        for _ in 0..<150 {
            let amount = random.number(-1_000_000...1_000_000 as ClosedRange<Int64>)
            var weights = (0..<random.number(1...9)).map { _ in
                random.number(0...20 as ClosedRange<Int64>)
            }
            if weights.allSatisfy({ $0 == 0 }) { weights[0] = 1 }
            let parts = try await ground.session.query(
                "SELECT household.split($1, $2)", [.int64(amount), .int64Array(weights)]
            ).int64Array(0, 0)
            #expect(parts.reduce(0, +) == amount)
            let total = weights.reduce(0, +)
            for (part, weight) in zip(parts, weights) {
                #expect(abs(part * total - amount * weight) < total, "\(amount) by \(weights)")
            }
        }
        #expect(try await ground.refusal("split(5, '{0,0}')")?.prefix(5) == "22023")
        #expect(try await ground.refusal("split(5, '{}')")?.prefix(5) == "22023")
        #expect(try await ground.call("split(100, '{1,1,1}')") == "{34,33,33}")
        #expect(try await ground.call("split(-100, '{1,1,1}')") == "{-34,-33,-33}")
    }

    private func parts(_ ground: HouseholdGround, _ bill: Int64) async throws -> Parts {
        let rows = try await ground.session.query(
            """
            SELECT b.payer_id, b.amount, s.person_id, s.amount FROM household.bills b
            JOIN household.shares s ON s.bill_id = b.id AND s.revision = b.revision
            WHERE b.id = $1
            """, [.int64(bill)])
        var shares: [Int64: Int64] = [:]
        for row in rows { shares[try row.int64(2)] = try row.int64(3) }
        #expect(try shares.values.reduce(0, +) == rows.int64(0, 1))
        return (try rows.int64(0, 0), shares)
    }

    @Test("pair balances are what bills, trips and payments come to", arguments: 0..<4)
    func balances(seed: Int) async throws {
        let people: Int64 = 5
        let ground = try await HouseholdGround(members: Int(people))
        var random = SplitMix(seed: UInt64(seed))
        var standing: [Int64: Parts] = [:]
        var book = Book(people: Int(people))
        func settle(_ parts: Parts?, _ sign: Int64) {
            guard let parts else { return }
            for (person, share) in parts.shares { book.add(parts.payer, person, sign * share) }
        }
        func some() -> [Int64] {
            let chosen = (1...people).filter { _ in random.number(0...1) == 0 }
            return chosen.isEmpty ? [random.number(1...people)] : chosen
        }
        for step in 0..<60 {
            let person = random.number(1...people)
            let amount = random.number(1...9999 as ClosedRange<Int64>)
            let persons = some()
            let weights = persons.map { _ in random.number(1...5 as ClosedRange<Int64>) }
            let bill = standing.keys.sorted().randomElement(using: &random)
            switch random.number(0...6) {
            case 0, 1:
                let id = try await ground.bill(
                    person, amount, persons,
                    "'weights', ARRAY\(weights)::bigint[], \(random.number(1...people))")
                standing[id] = try await parts(ground, id)
                settle(standing[id], 1)
            case 2:
                let id = try await ground.number(
                    "SELECT household.complete_trip(\(person), '{}', \(amount), 't\(step)', "
                        + "'2026-11-20', persons => ARRAY\(persons)::bigint[])")
                standing[id] = try await parts(ground, id)
                settle(standing[id], 1)
            case 3:
                let other = person % people + 1
                try await ground.call(
                    "paid(\(person), 1, \(person), \(other), \(amount), '\(step)')")
                book.add(person, other, amount)
            case 4:
                guard let bill else { continue }
                let isTrip =
                    try await ground.number(
                        "SELECT is_trip::int::bigint FROM household.bills WHERE id = \(bill)") == 1
                try await ground.call(
                    isTrip ? "remove_trip(1, \(bill))" : "remove_bill(1, \(bill))")
                settle(standing.removeValue(forKey: bill), -1)
            default:
                guard let bill else { continue }
                let isTrip =
                    try await ground.number(
                        "SELECT is_trip::int::bigint FROM household.bills WHERE id = \(bill)") == 1
                let list = "ARRAY\(persons)::bigint[]"
                try await ground.call(
                    isTrip
                        ? "edit_trip(\(person), \(bill), '{}', \(amount), 'equal', \(list))"
                        : "edit_bill(\(person), \(bill), amount => \(amount), persons => \(list), "
                            + "split => 'equal')")
                settle(standing[bill], -1)
                standing[bill] = try await parts(ground, bill)
                settle(standing[bill], 1)
            }
        }
        try await compare(ground, book, Int(people))
    }

    /// The balances, the postings and what is simplified, against the book.
    private func compare(
        _ ground: HouseholdGround, _ book: Book, _ people: Int
    ) async throws {
        var expected: [String] = []
        var nets = book.owed.map { $0.reduce(0, +) }
        for debtor in 1...people {
            for creditor in 1...people where book.owed[creditor][debtor] > 0 {
                expected.append("\(debtor) owes \(creditor) \(book.owed[creditor][debtor])")
            }
        }
        #expect(try await ground.balances() == expected)
        // Every balance is the sum of its postings, and the two sides of a pair are opposite.
        #expect(
            try await ground.number(
                """
                SELECT count(*) FROM household.sides s
                JOIN household.sides o ON o.group_id = s.group_id AND o.person_id = s.other_id
                    AND o.other_id = s.person_id
                WHERE ledger.balance(s.account_id) <> -ledger.balance(o.account_id)
                   OR ledger.balance(s.account_id) <> (SELECT coalesce(sum(p.amount), 0)
                       FROM ledger.postings p WHERE p.account_id = s.account_id)
                """) == 0)
        // Every reversal is exactly the opposite.
        #expect(
            try await ground.number(
                """
                SELECT count(*) FROM ledger.transactions t
                JOIN ledger.postings p ON p.transaction_id = t.id
                LEFT JOIN ledger.postings r ON r.transaction_id = t.reverses
                    AND r.account_id = p.account_id AND r.amount = -p.amount
                WHERE t.reverses IS NOT NULL AND r.amount IS NULL
                """) == 0)
        let payments = try await ground.session.query("SELECT * FROM household.simplify(1)")
        for row in payments {
            nets[Int(try row.int64(0))] += try row.int64(2)
            nets[Int(try row.int64(1))] -= try row.int64(2)
        }
        #expect(nets.allSatisfy { $0 == 0 })
        #expect(payments.count < people)
    }

    @Test func `a circle of debts needs no payment, and is shown to need none`() async throws {
        let ground = try await HouseholdGround()
        for person in 1...3 as ClosedRange<Int64> {
            try await ground.bill(person, 100, [person % 3 + 1])
        }
        #expect(try await ground.balances().count == 3)
        #expect(try await ground.rows("simplify(1)") == [])
        try await ground.bill(1, 50, [2])
        #expect(try await ground.rows("simplify(1)") == ["(2,1,50)"])
        #expect(try await ground.balances().count == 3)
    }

    @Test func `payments are noted by either, once, and taken back`() async throws {
        let ground = try await HouseholdGround()
        try await ground.bill(1, 300, [1, 2, 3])
        let call = "paid(1, 1, 2, 1, 150, 'p')"
        let id = try await ground.call(call)
        #expect(try await ground.call(call) == id)
        #expect(try await ground.balances() == ["1 owes 2 50", "3 owes 1 100"])
        #expect(
            try await ground.refusal("paid(1, 1, 2, 1, 151, 'p')")
                == "23505: request p: payment \(id) was made by it, with other content")
        for wrong in [
            "paid(3, 1, 2, 1, 1, 'q')", "paid(1, 1, 1, 1, 1, 'q')", "paid(1, 1, 2, 1, 0, 'q')",
            "paid(1, 1, 2, 1, 1, '')",
        ] { #expect(try await ground.refusal(wrong)?.prefix(5) == "22023", "\(wrong)") }
        #expect(
            try await ground.refusal("paid(1, 1, 9, 1, 1, 'q')")
                == "never_together: persons 9 and 1 never lived together in group 1")
        #expect(try await ground.refusal("undo_payment(3, \(id))")?.prefix(5) == "P0002")
        #expect(try await ground.call("undo_payment(1, \(id))") == "true")
        #expect(try await ground.call("undo_payment(2, \(id))") == "false")
        #expect(try await ground.balances() == ["2 owes 1 100", "3 owes 1 100"])
        #expect(
            try await ground.rows("debt_lines(1, 1, 2)", "kind, amount") == [
                "(reversal,150)", "(roommate_payment,-150)", "(shared_bill,100)",
            ])
        #expect(try await ground.told().suffix(2) == ["paid", "payment_undone"])
    }
}
