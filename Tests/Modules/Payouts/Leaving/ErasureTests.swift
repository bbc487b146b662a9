import ErrandPayouts
import ErrandPostgres
import ErrandTestServices
import Testing

/// Payouts of people who are under 16, blocked or erased.
///
/// "Payout held"; "sealed bank data" deleted, "names and addresses of payouts until their legal
/// term".
@Suite("Payouts of blocked and erased people", .database) struct ErasureTests {
    private func texts(_ ground: QuarterGround, _ sql: String) async throws -> [String] {
        try await ground.session.query(
            "SELECT CASE WHEN x IS NULL THEN 'null' ELSE format('%s', x) END FROM (\(sql)) AS q (x)"
        ).map { try $0.text(0) }
    }

    // "`payouts.lack` asks that the age is *verified*, not that it is 16".
    @Test func `a close pays nobody under 16, and nobody who is blocked`() async throws {
        let ground = try await QuarterGround(people: 4)
        for person in 1...4 { try await ground.earn(Int64(person), 500, at: "2026-08-01Z") }
        try await ground.session.script(
            """
            UPDATE people.people SET birth_date = current_date - 5000 WHERE id = 1;
            UPDATE people.people SET blocked_at = now() WHERE id = 2;
            UPDATE people.people SET birth_date = current_date - interval '16 years 2 days'
            WHERE id = 3
            """)
        try await ground.close("2026-Q3")
        #expect(
            try await ground.payouts("2026-Q3") == [
                "1 500 held: is under 16", "2 500 held: the account is blocked", "3 500 pending",
                "4 500 pending",
            ])
        for person: Int64 in [1, 2] {
            let payout = try await ground.payout(of: person)
            let refused = await refusal {
                _ = try await ground.session.query(
                    "SELECT payouts.release($1, 'Olga', 'x')", [.int64(payout)])
            }
            #expect(refused != nil)
        }
        #expect(try await ground.faults() == [])
    }

    @Test func `whoever is blocked after the close is held, and paid by the next run if kept`()
        async throws
    {
        let ground = try await QuarterGround(people: 3)
        for person in 1...3 { try await ground.earn(Int64(person), 500, at: "2026-05-01Z") }
        try await ground.close("2026-Q2")
        _ = try await ground.session.query("SELECT people.request_erasure(1, 'r1')")
        _ = try await ground.session.query(
            "SELECT people.put_person(2, jsonb_build_object('birth_date', current_date - 5000))")
        _ = try await ground.session.query("SELECT payouts.block(1)")
        #expect(
            try await ground.payouts("2026-Q2") == [
                "1 500 held: the account is blocked", "2 500 held: is under 16", "3 500 pending",
            ])
        #expect(try await ground.balance(1) == 500)
        #expect(
            try await texts(
                ground,
                """
                SELECT concat_ws(' ', balance, in_payment, held_amount, held_reason, missing)
                FROM payouts.standing(1)
                """) == ["500 0 500 the account is blocked the account is blocked"])
        for call in ["set_payee(1, 'Z', '{a}')", "set_payee(2, 'Z', '{a}')"] {
            #expect(
                await refusal { _ = try await ground.session.query("SELECT payouts.\(call)") }
                    != nil)
        }
        // Kept by an operator: no longer blocked.
        try await ground.session.script("UPDATE people.people SET blocked_at = NULL WHERE id = 1")
        try await ground.close("2026-Q3")
        #expect(try await ground.payouts("2026-Q3").first == "1 500 pending")
        #expect(try await ground.faults() == [])
    }

    @Test func `nobody is asked about the payouts of an erased person, and no run makes any`()
        async throws
    {
        let ground = try await QuarterGround(people: 3)
        for person in 1...3 { try await ground.earn(Int64(person), 500, at: "2026-02-01Z") }
        try await ground.close("2026-Q1")
        let back = try await ground.payout(of: 2)
        try await ground.issue(back)
        for person in 1...2 {
            _ = try await ground.session.query(
                "SELECT people.request_erasure($1, $2)",
                [.int64(Int64(person)), .text("r\(person)")])
        }
        // Issued before, and returned by the bank.
        _ = try await ground.session.query(
            "SELECT payouts.take_back($1, 'ann', '910 payee deceased', false, NULL)",
            [.int64(back)])
        var health = try await PayoutHealth.read(ground.session, now: .now())
        #expect((health.held, health.undecided, health.erased) == (1, 1, 0))
        try await ground.session.script(
            """
            SELECT count(*) FROM generate_series(1, 2) AS n, payouts.erase(n) AS x;
            UPDATE people.people SET erased_at = now() WHERE id IN (1, 2)
            """)
        for quarter in ["2026-Q2", "2026-Q3"] { try await ground.close(quarter) }
        #expect(
            try await ground.payouts("2026-Q1") == [
                "1 500 void: the person was erased", "2 500 returned: 910 payee deceased",
                "3 500 pending",
            ])
        #expect(try await ground.payouts("2026-Q3") == [])
        health = try await PayoutHealth.read(ground.session, now: .now())
        #expect((health.held, health.undecided, health.erased) == (0, 0, 2))
        #expect(health.firstErased == 1)
        // Who gives it up later is owed nothing any more.
        _ = try await ground.session.query("SELECT * FROM payouts.forfeit(1, 'f1')")
        health = try await PayoutHealth.read(ground.session, now: .now())
        #expect((health.erased, health.firstErased) == (1, 2))
        #expect(try await ground.faults() == [])
    }

    @Test func `erasure deletes payee and bank details, and keeps issued names by law`()
        async throws
    {
        try await PayoutGround.with(people: 8) { try await erase($0) }
    }

    private func erase(_ ground: PayoutGround) async throws {
        try await ground.issue()
        func erase() async throws -> [String] {
            try await ground.session.query(
                "SELECT object || ' ' || action || ' ' || rows FROM payouts.erase(1)"
            ).map { try $0.text(0) }
        }
        let data = try await ground.session.query("SELECT payouts.personal_data(1)::text").text(
            0, 0)
        #expect(data.contains(PayoutGround.name(of: 1)) && data.contains("\"sealed\""))
        #expect(
            try await erase() == [
                "payouts.payees deleted 1", "payouts.bank_details deleted 1",
                "payouts.items anonymized 1", "payouts.items kept 1", "payouts.payouts kept 1",
                "payouts.forfeits kept 0",
            ])
        #expect(
            try await erase() == [
                "payouts.payees deleted 0", "payouts.bank_details deleted 0",
                "payouts.items anonymized 0", "payouts.items kept 1", "payouts.payouts kept 1",
                "payouts.forfeits kept 0",
            ])
        #expect(
            try await ground.number(
                "SELECT count(*) FROM payouts.items WHERE person_id = 1 AND sealed IS NOT NULL")
                == 0)
        #expect(
            try await ground.number(
                "SELECT count(*) FROM payouts.items WHERE person_id <> 1 AND sealed IS NOT NULL")
                > 0)
        #expect(try await PayoutProof.make(ground.pool).faults == [])

        func forget(_ age: String, _ rows: Int, _ only: Bool = false) async throws -> Int64 {
            try await ground.number(
                """
                SELECT payouts.forget_payees(now() - r.keep + interval '\(age)', \(rows), \(only))
                FROM people.retention_rules r WHERE r.name = 'payouts.payees'
                """)
        }
        let items = try await ground.number("SELECT count(*) FROM payouts.items")
        #expect(try await forget("0", 100) == 0)
        #expect(try await forget("7 years 1 hour", 100, true) == items)
        #expect(try await forget("7 years 1 hour", 3) == 3)
        #expect(try await forget("7 years 1 hour", 100) == items - 3)
        #expect(try await forget("7 years 1 hour", 100) == 0)
        #expect(
            try await ground.number("SELECT count(*) FROM payouts.items WHERE payee <> ''") == 0)
        #expect(try await PayoutProof.make(ground.pool).faults == [])
    }

    @Test func `erasure waits for the files of an interrupted issue`() async throws {
        struct Interruption: Error {}
        try await PayoutGround.with(people: 4) { ground in
            await #expect(throws: Interruption.self) {
                try await ground.issue { step in
                    if case .wrote = step { throw Interruption() }
                }
            }
            do throws(PostgresError) {
                _ = try await ground.session.query("SELECT * FROM payouts.erase(1)")
                Issue.record("erased")
            } catch { #expect(error.sqlState == "RU002") }
            try await ground.issue()
            _ = try await ground.session.query("SELECT * FROM payouts.erase(1)")
            #expect(try await PayoutProof.make(ground.pool).faults == [])
        }
    }
}
