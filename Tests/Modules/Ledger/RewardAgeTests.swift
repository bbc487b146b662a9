import ErrandLedger
import ErrandPostgres
import ErrandTestServices
import Testing

/// Who gets money, and what an erasure leaves of it.
@Suite("Ages and rewards", .database) struct RewardAgeTests {
    /// The SQLSTATE and the reason of a refused reward of person 1; nil if it was credited.
    private func credit(_ ground: LedgerGround, _ source: String = "survey:1", cut: Int64 = 300)
        async throws -> String?
    {
        let error = await refusal { try await ground.credit(1, source, cut: cut) }
        guard let error else { return nil }
        guard case .server(let server) = error else { throw error }
        return server.detail.map { "\(server.sqlState) \($0)" } ?? server.sqlState
    }

    /// The sum of a person's balances.
    private func balance(_ ground: LedgerGround) async throws -> Int64 {
        try await ground.session.query(
            "SELECT coalesce(sum(amount), 0)::bigint FROM ledger.reward_balance(1)"
        ).int64(0, 0)
    }

    // "Age 16 is not looked at when money moves: … `credit_reward` … ask nothing".
    @Test(arguments: [
        ("birth_date = NULL", "RU001 no_birth_date"),
        ("birth_date = (now() AT TIME ZONE time_zone)::date - 5000", "RU001 under_age"),
        (
            // One day before the sixteenth birthday.
            "birth_date = (now() AT TIME ZONE time_zone)::date - interval '16 years' + '1 day'",
            "RU001 under_age"
        ),
        ("birth_date = (now() AT TIME ZONE time_zone)::date - interval '16 years'", nil),
        ("birth_date = (now() AT TIME ZONE time_zone)::date - interval '18 years'", nil),
        ("blocked_at = now()", "RU001 blocked"),
    ])
    func `money goes to people of 16 years alone`(facts: String, reason: String?) async throws {
        let ground = try await LedgerGround(people: 1)
        try await ground.session.script("UPDATE people.people SET \(facts) WHERE id = 1")
        #expect(try await credit(ground) == reason)
        #expect(try await balance(ground) == (reason == nil ? 300 : 0))
    }

    @Test func `a reward that is known is answered as the first time, whatever came since`()
        async throws
    {
        let ground = try await LedgerGround(people: 1)
        let first = try await ground.credit(1, "survey:1")
        try await ground.session.script("UPDATE people.people SET blocked_at = now()")
        #expect(try await ground.credit(1, "survey:1") == first)
        #expect(try await credit(ground, cut: 200) == "23505")
        #expect(try await credit(ground, "survey:2") == "RU001 blocked")
        #expect(try await balance(ground) == 300)
    }

    @Test func `the ledger stays when a person is erased, and proves`() async throws {
        let database = try TestDatabase.here()
        let ground = try await LedgerGround(people: 2)
        for n in 1...3 { try await ground.credit(1, "survey:\(n)") }
        try await ground.credit(2, "survey:1")
        for _ in 1...2 {
            let rows = try await ground.session.query(
                "SELECT object, action, rows, reason FROM ledger.erase(1)")
            #expect(
                try rows.map { "\(try $0.text(0)) \(try $0.text(1)) \(try $0.int64(2))" }
                    == ["ledger.accounts kept 1", "ledger.postings kept 3"])
            #expect(try rows.first?.text("reason").contains("900 CAD") == true)
        }
        let data = try await ground.session.query(
            """
            SELECT jsonb_array_length(d -> 'postings')::bigint, (d #>> '{accounts,0,balance}')
            FROM ledger.personal_data(1) d
            """)
        #expect(try data.int64(0, 0) == 3)
        #expect(try data.text(0, 1) == "900")
        #expect(try await ProveLedger.run(in: database.pool(), now: .now()).examples == [])
    }
}
