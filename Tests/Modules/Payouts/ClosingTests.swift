import Errand
import ErrandLedger
import ErrandPayouts
import ErrandPostgres
import ErrandRecurrence
import ErrandTestServices
import Testing

@Suite("Closing a quarter", .database)
struct ClosingTests {
    @Test("pays what was earned, holds what cannot be paid, and leaves what is too little")
    func close() async throws {
        let ground = try await QuarterGround(people: 6)
        for person in 1...6 as ClosedRange<Int64> {
            try await ground.earn(person, person * 60, at: "2026-08-01T12:00:00Z")
        }
        try await ground.earn(2, 500, at: "2026-10-05T12:00:00Z")
        _ = try await ground.session.script(
            """
            UPDATE people.people SET birth_date = NULL WHERE id = 3;
            UPDATE people.people SET age_verified_at = NULL WHERE id = 4;
            DELETE FROM payouts.payees WHERE person_id = 5;
            """)
        try await ground.close("2026-Q3")
        #expect(
            try await ground.payouts("2026-Q3") == [
                "2 120 pending", "3 180 held: birth date is missing",
                "4 240 held: age is not verified",
                "5 300 held: name and address are missing", "6 360 pending",
            ])
        let run = try #require(try await ground.run("2026-Q3"))
        #expect(run.state == .closed && run.closedBy == "ann" && run.chunksLeft == 0)
        #expect(run.payDate.isoText == "2026-10-15")
        let total = try #require(run.totals.first)
        #expect((total.payouts, total.amount) == (2, 480))
        #expect((total.held, total.heldAmount) == (3, 720))
        #expect((total.carried, total.carriedAmount) == (1, 60))
        #expect(try await ground.balance(1) == 60)
        #expect(try await ground.balance(2) == 500)
        #expect(try await ground.balance(3) == 180)
        #expect(try await ground.faults() == [])
        let told = try await ground.session.query(
            "SELECT person_id FROM notification.notices WHERE kind = 'payout.held' ORDER BY 1")
        #expect(try told.map { try $0.int64(0) } == [3, 4, 5])
    }

    @Test("goes by when it was earned, to the microsecond, in the company's zone")
    func cutOff() async throws {
        let ground = try await QuarterGround(people: 4)
        // Midnight in Toronto, in summer time.
        try await ground.earn(1, 101, at: "2026-10-01T03:59:59.999999Z")
        try await ground.earn(2, 102, at: "2026-10-01T04:00:00Z")
        try await ground.earn(3, 103, at: "2026-09-30T23:59:59.999-04:00")
        // Midnight in Toronto, in winter time.
        try await ground.earn(4, 104, at: "2026-01-01T04:59:59.999Z")
        try await ground.close("2025-Q4")
        #expect(try await ground.payouts("2025-Q4") == ["4 104 pending"])
        try await ground.close("2026-Q3")
        #expect(try await ground.payouts("2026-Q3") == ["1 101 pending", "3 103 pending"])
        #expect(try await ground.balance(2) == 102)
        #expect(try await ground.faults() == [])
    }

    @Test("does not pay what was taken back since then")
    func clawback() async throws {
        let ground = try await QuarterGround(people: 2)
        let mistaken = try await ground.earn(1, 400, at: "2026-08-01T12:00:00Z")
        try await ground.earn(1, 300, at: "2026-08-02T12:00:00Z")
        try await ground.earn(2, 300, at: "2026-08-02T12:00:00Z")
        try await ground.earn(2, 700, at: "2026-10-02T12:00:00Z")
        _ = try await ground.session.query(
            "SELECT ledger.reverse($1, 'not answered by themselves')", [.int64(mistaken)])
        try await ground.close("2026-Q3")
        #expect(try await ground.payouts("2026-Q3") == ["1 300 pending", "2 300 pending"])
        #expect(try await ground.faults() == [])
    }

    @Test("happens once, however often and by whomever it is started")
    func once() async throws {
        let ground = try await QuarterGround(people: 40)
        for person in 1...40 as ClosedRange<Int64> {
            try await ground.earn(person, 1_000 + person, at: "2026-08-01T12:00:00Z")
        }
        let client = try await ground.client()
        let quarter = Quarter(year: 2026, number: 3)
        for _ in 1...3 { try await client.enqueue(CloseQuarter(quarter: quarter)) }
        async let ann = ground.begin(quarter, by: "ann", client)
        async let bob = ground.begin(quarter, by: "bob", client)
        _ = try await (ann, bob)
        try await ground.work(workers: 3)
        // The schedule comes as well.
        try await ground.close(nil, by: nil, workers: 2)
        let payouts = try await ground.payouts("2026-Q3")
        #expect(payouts.count == 40)
        #expect(payouts.first == "1 1001 pending")
        #expect(try await ground.faults() == [])
    }

    @Test("has one run, however many create it at the same time")
    func created() async throws {
        let ground = try await QuarterGround(people: 1)
        let rules = try await PayRules.read(ground.session)
        let zone = try ZoneDatabase().zone(named: rules.timeZone)
        for year in 2000..<2020 {
            for number in 1...4 {
                let quarter = Quarter(year: year, number: number)
                let runs = try await withThrowingTaskGroup(of: Int64.self) { group in
                    for _ in 0..<6 {
                        group.addTask {
                            try await ground.pool.transaction { transaction in
                                try await Closing.run(
                                    of: quarter, rules: rules, in: zone, transaction)
                            }
                        }
                    }
                    var runs = Set<Int64>()
                    for try await run in group { runs.insert(run) }
                    return runs
                }
                #expect(runs.count == 1, "\(quarter)")
            }
        }
    }

    @Test("is the schedule's by a job, whoever its arguments name")
    func forged() async throws {
        let ground = try await QuarterGround(people: 1)
        try await ground.earn(1, 500, at: "2026-08-01T12:00:00Z")
        _ = try await ground.session.query(
            """
            SELECT errand.enqueue('payouts.close', '{"quarter": "2026-Q3", "actor": "ann"}')
            """)
        try await ground.work()
        let run = try #require(try await ground.run("2026-Q3"))
        #expect(run.state == .closed && run.closedBy == Closing.scheduleActor)
    }

    @Test("does each chunk once, in any order, and while people earn")
    func chunks() async throws {
        let ground = try await QuarterGround(people: 60)
        for person in 1...60 as ClosedRange<Int64> {
            try await ground.earn(person, 200, at: "2026-08-01T12:00:00Z")
        }
        let made = try await ground.begin(
            Quarter(year: 2026, number: 3), by: "ann", chunkSize: 7, try await ground.client())
        #expect(made == 9)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await ground.work(workers: 3) }
            group.addTask {
                for person in 1...60 as ClosedRange<Int64> {
                    try await ground.earn(person, 5, at: "2026-09-01T12:00:00Z")
                }
            }
            try await group.waitForAll()
        }
        let run = try #require(try await ground.run("2026-Q3"))
        #expect(run.state == .closed)
        #expect(run.totals.first?.payouts == 60)
        // Each credit was paid, or is still in the balance.
        let left = try await ground.session.query(
            "SELECT sum(amount)::bigint FROM ledger.balances b JOIN ledger.accounts a "
                + "ON a.id = b.account_id WHERE a.kind = 'person'"
        ).int64(0, 0)
        #expect((run.totals.first?.amount ?? 0) + left == 60 * 205)
        #expect(try await ground.faults() == [])
    }

    @Test("pays each currency by itself, with its own least amount")
    func currencies() async throws {
        let ground = try await QuarterGround(people: 2)
        try await ground.earn(1, 250, at: "2026-08-01T12:00:00Z")
        try await ground.earn(1, 99, at: "2026-08-01T12:00:00Z", currency: "USD")
        try await ground.earn(2, 100, at: "2026-08-01T12:00:00Z", currency: "USD")
        try await ground.earn(2, 1, at: "2026-08-01T12:00:00Z", currency: "XAF")
        try await ground.close("2026-Q3")
        let run = try #require(try await ground.run("2026-Q3"))
        #expect(
            run.totals.map { "\($0.currency) \($0.payouts) \($0.amount) \($0.carriedAmount)" } == [
                "CAD 1 250 0", "USD 1 100 99", "XAF 0 0 0",
            ])
        #expect(
            try await ground.payouts("2026-Q3")
                .contains("2 1 held: payouts in XAF are not supported"))
        #expect(try await ground.faults() == [])
    }

    @Test("voids what other runs held, and pays it with its own")
    func heldBefore() async throws {
        let ground = try await QuarterGround(people: 1)
        try await ground.session.script("UPDATE people.people SET age_verified_at = NULL")
        try await ground.earn(1, 500, at: "2026-05-01T12:00:00Z")
        try await ground.close("2026-Q2")
        try await ground.session.script("UPDATE people.people SET age_verified_at = now()")
        try await ground.earn(1, 70, at: "2026-08-01T12:00:00Z")
        try await ground.close("2026-Q3")
        #expect(try await ground.payouts("2026-Q2") == ["1 500 void: part of 2026-Q3"])
        #expect(try await ground.payouts("2026-Q3") == ["1 570 pending"])
        #expect(try await ground.faults() == [])
    }

    @Test("is refused before the quarter is over, and behind a later one")
    func refused() async throws {
        let ground = try await QuarterGround(people: 1)
        try await ground.earn(1, 500, at: "2026-05-01T12:00:00Z")
        try await ground.close("2126-Q3", by: nil)
        try await ground.close("2026-Q3")
        try await ground.close("2026-Q2", by: nil)
        let reasons = try await ground.session.query(
            """
            SELECT error FROM (
                SELECT id, errors -> -1 ->> 'error' AS error FROM errand.dead_jobs
                WHERE kind = 'payouts.close' ORDER BY id) d
            """
        ).map { try $0.text(0) }
        try #require(reasons.count == 2)
        #expect(reasons[0].contains("quarter 2126-Q3 is not over before"))
        #expect(reasons[1].contains("2026-Q3 is already closed and includes the rewards of"))
        #expect(try await ground.run("2026-Q2")?.closingAt == nil)
    }

    @Test("of a quarter without people ends as well")
    func empty() async throws {
        let ground = try await QuarterGround(people: 1)
        try await ground.close("2026-Q3")
        #expect(try await ground.run("2026-Q3")?.state == .closed)
    }
}
