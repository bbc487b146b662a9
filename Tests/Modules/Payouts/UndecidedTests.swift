import ErrandLedger
import ErrandPayouts
import ErrandPostgres
import ErrandTestServices
import Testing

/// What becomes of earlier payouts, and of what happens between a cut-off and its close.
@Suite("Payouts between two runs", .database)
struct UndecidedTests {
    private func changes(_ ground: QuarterGround) -> PayoutChanges {
        PayoutChanges(session: ground.session, actor: "ann")
    }

    private func takeBack(
        _ payout: Int64, _ reason: String, isRefused: Bool = false, _ ground: QuarterGround
    ) async throws {
        _ = try await ground.session.query(
            "SELECT payouts.take_back($1, 'ann', $2, $3, NULL)",
            [.int64(payout), .text(reason), .bool(isRefused)])
    }

    @Test func `what somebody holds stays held, quarter after quarter, until it is released`()
        async throws
    {
        let ground = try await QuarterGround(people: 1)
        try await ground.earn(1, 500, at: "2026-02-01T12:00:00Z")
        try await ground.close("2026-Q1")
        let first = try await ground.payout(of: 1)
        try await changes(ground).hold(first, reason: "in doubt")
        #expect(try await ground.balance(1) == 500)
        try await ground.earn(1, 70, at: "2026-05-01T12:00:00Z")
        try await ground.close("2026-Q2")
        let second = try await ground.payout(of: 1)
        #expect(try await ground.payouts("2026-Q1") == ["1 500 void: part of 2026-Q2"])
        #expect(
            try await ground.payouts("2026-Q2") == [
                "1 570 held: payout \(first) is held and needs a decision"
            ])
        try await ground.earn(1, 30, at: "2026-08-01T12:00:00Z")
        try await ground.close("2026-Q3")
        #expect(
            try await ground.payouts("2026-Q3") == [
                "1 600 held: payout \(second) is held and needs a decision"
            ])
        try await changes(ground).release(try await ground.payout(of: 1), reason: nil)
        #expect(try await ground.payouts("2026-Q3") == ["1 600 pending"])
        #expect(try await ground.balance(1) == 0)
        #expect(try await ground.faults() == [])
    }

    @Test func `what came back and was not decided on is held, and paid once`() async throws {
        let ground = try await QuarterGround(people: 2)
        for person in [1, 2] as [Int64] {
            try await ground.earn(person, 500, at: "2026-05-01T12:00:00Z")
            try await ground.earn(person, 170, at: "2026-08-01T12:00:00Z")
        }
        try await ground.close("2026-Q2")
        let (one, two) = (try await ground.payout(of: 1), try await ground.payout(of: 2))
        for payout in [one, two] { try await ground.issue(payout) }
        try await takeBack(one, "910 payee deceased", ground)
        let before = try await PayoutHealth.read(ground.session, now: .now())
        #expect(before.undecided == 1)
        try await ground.close("2026-Q3")
        #expect(
            try await ground.payouts("2026-Q2") == ["1 500 void: part of 2026-Q3", "2 500 issued"])
        #expect(
            try await ground.payouts("2026-Q3") == [
                "1 670 held: payout \(one) is returned and needs a decision", "2 170 pending",
            ])
        let error = await refusal {
            _ = try await changes(ground).reissue(one, by: nil, reason: nil)
        }
        #expect(error?.description.contains("includes its money") == true)

        // What comes back after the close is no part of it, and is paid anew.
        try await takeBack(two, "910 payee deceased", ground)
        _ = try await changes(ground).reissue(two, by: nil, reason: nil)
        #expect(try await ground.balance(2) == 0)
        let after = try await PayoutHealth.read(ground.session, now: .now())
        #expect(after.undecided == 0 && after.held == 1)
        #expect(try await ground.faults() == [])
    }

    @Test func `a cheque that was void before a later close is paid by that one alone`()
        async throws
    {
        let ground = try await QuarterGround(people: 1)
        try await ground.earn(1, 500, at: "2026-05-01T12:00:00Z")
        try await ground.close("2026-Q2")
        let first = try await ground.payout(of: 1)
        try await ground.issue(first, cheque: 7)
        try await changes(ground).void(first, reason: "lost")
        try await ground.earn(1, 600, at: "2026-08-01T12:00:00Z")
        try await ground.close("2026-Q3")
        #expect(try await ground.payouts("2026-Q3") == ["1 1100 pending"])
        // There is enough again: what they earn later.
        try await ground.earn(1, 900, at: "2026-10-20T12:00:00Z")
        let error = await refusal {
            _ = try await changes(ground).reissue(first, by: .cheque, reason: nil)
        }
        #expect(error?.description.contains("includes its money") == true)
        #expect(try await ground.balance(1) == 900)
        #expect(try await ground.faults() == [])
    }

    @Test func `what is too little for the next run stays held by the first`() async throws {
        let ground = try await QuarterGround(people: 1)
        try await ground.session.script("UPDATE people.people SET age_verified_at = NULL")
        let reward = try await ground.earn(1, 150, at: "2026-05-01T12:00:00Z")
        try await ground.earn(1, 50, at: "2026-05-02T12:00:00Z")
        try await ground.close("2026-Q2")
        _ = try await ground.session.query(
            "SELECT ledger.reverse($1, 'not answered')", [.int64(reward)])
        try await ground.close("2026-Q3")
        #expect(
            try await ground.payouts("2026-Q2") == ["1 200 held: age is not verified"])
        #expect(try await ground.payouts("2026-Q3") == [])
        #expect(try await ground.faults() == [])
    }

    @Test func `what is done between a cut-off and its close shifts nothing`() async throws {
        let ground = try await QuarterGround(people: 3)
        try await ground.session.script(
            "UPDATE people.people SET age_verified_at = NULL WHERE id = 1")
        for person in 1...3 as ClosedRange<Int64> {
            try await ground.earn(person, 500, at: "2026-05-01T12:00:00Z")
        }
        try await ground.close("2026-Q2")
        for person in 1...3 as ClosedRange<Int64> {
            try await ground.earn(person, 300, at: "2026-08-01T12:00:00Z")
            let later = try await ground.earn(person, 200, at: "2026-10-02T12:00:00Z")
            if person == 3 {
                try await ground.earn(person, 40, at: "2026-10-03T12:00:00Z")
                _ = try await ground.session.query(
                    "SELECT ledger.reverse($1, 'not answered')", [.int64(later)])
            }
        }
        // One is released, and leaves the balance; one is void, and comes back into it.
        try await ground.session.script("UPDATE people.people SET age_verified_at = now()")
        try await changes(ground).release(try await ground.payout(of: 1), reason: nil)
        try await changes(ground).void(try await ground.payout(of: 2), reason: "by mistake")
        try await ground.close("2026-Q3")
        #expect(
            try await ground.payouts("2026-Q3") == [
                "1 300 pending", "2 800 pending", "3 300 pending",
            ])
        #expect(try await ground.balance(1) == 200)
        #expect(try await ground.balance(2) == 200)
        #expect(try await ground.balance(3) == 40)
        #expect(try await ground.faults() == [])
    }

    @Test func `a payout's transaction is not reversed behind its back`() async throws {
        let ground = try await QuarterGround(people: 1)
        try await ground.earn(1, 500, at: "2026-05-01T12:00:00Z")
        try await ground.close("2026-Q2")
        let transaction = try await ground.session.query(
            "SELECT id FROM ledger.transactions WHERE kind = 'payout'"
        ).int64(0, 0)
        let error = await #expect(throws: PostgresError.self) {
            try await ground.session.query(
                "SELECT ledger.reverse($1, 'by hand')", [.int64(transaction)])
        }
        #expect(error?.sqlState == "23514")
        #expect(try await ground.balance(1) == 0)
    }

    @Test func `who is too little known is not released`() async throws {
        let ground = try await QuarterGround(people: 1)
        try await ground.earn(1, 500, at: "2026-05-01T12:00:00Z")
        try await ground.earn(1, 500, at: "2026-05-01T12:00:00Z", currency: "EUR")
        try await ground.session.script("UPDATE people.people SET age_verified_at = NULL")
        try await ground.close("2026-Q2")
        let euros = try await ground.session.query(
            "SELECT id FROM payouts.payouts WHERE currency = 'EUR'"
        ).int64(0, 0)
        for words in ["age is not verified", "payouts in EUR are not supported"] {
            let error = await refusal { try await changes(ground).release(euros, reason: nil) }
            #expect(error?.description.contains(words) == true)
            try await ground.session.script(
                "UPDATE people.people SET age_verified_at = now()")
        }
    }

    @Test func `what was settled, by whom and when stands in the payout's history`() async throws {
        let ground = try await QuarterGround(people: 2)
        for person in [1, 2] as [Int64] {
            try await ground.earn(person, 500, at: "2026-05-01T12:00:00Z")
        }
        try await ground.close("2026-Q2")
        let payouts = [try await ground.payout(of: 1), try await ground.payout(of: 2)]
        for payout in payouts { try await ground.issue(payout) }
        let run = try #require(try await ground.run("2026-Q2"))
        let settled = try await changes(ground).settle(payouts, run: run.id, reason: "bank's list")
        #expect(settled == 2)
        for payout in payouts {
            let history = try await PayoutRows(session: ground.session).changes(ofPayout: payout)
            #expect(history.last?.action == "settle" && history.last?.reason == "bank's list")
        }
    }
}
