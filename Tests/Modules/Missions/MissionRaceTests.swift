import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Missions that many want at once", .database) struct MissionRaceTests {
    /// What each of several connections got that called at once.
    private func race(
        _ ground: MissionGround, _ calls: [String]
    ) async throws -> [String] {
        let results = Notebook<String>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for call in calls {
                group.addTask {
                    try await ground.pool.withSession { session in
                        let rows = try await session.query("SELECT (missions.\(call))::text")
                        results.add(try rows.first?.optionalText(0) ?? "null")
                    }
                }
            }
            try await group.waitForAll()
        }
        return results.all
    }

    @Test func `one slot is given to one of many`() async throws {
        let ground = try await MissionGround(people: 12, hired: 12)
        let mission = try await ground.open()
        var calls = (1...8).map { "offer(\(mission), \($0))" }
        calls += (9...12).map {
            "offer_many('{\(mission),\(mission)}', '{\($0),1}', '{1,1}', '{1,1}')"
        }
        _ = try await race(ground, calls)
        #expect(try await ground.number("SELECT count(*) FROM missions.assignments") == 1)
    }

    @Test func `one shopper is not sent to one branch twice, nor beyond a day's capacity`()
        async throws
    {
        let ground = try await MissionGround(hired: 1)
        var missions: [Int64] = []
        for branch in [1, 1, 1, 2, 3, 3] { missions.append(try await ground.open(branch)) }
        _ = try await race(ground, missions.map { "offer(\($0), 1)" })
        #expect(try await ground.number("SELECT count(*) FROM missions.assignments") == 2)
        #expect(
            try await ground.number("SELECT count(DISTINCT branch_id) FROM missions.assignments")
                == 2)
    }

    @Test("accepting, lapsing, withdrawing and cancelling agree on who was first", arguments: 0..<6)
    func ends(seed: Int) async throws {
        let ground = try await MissionGround()
        let mission = try await ground.open()
        let id = try await ground.given(mission, 1)
        try await ground.force(
            "UPDATE missions.assignments SET answer_by = now() - interval '30 seconds'")
        var random = SplitMix(seed: UInt64(seed))
        let calls = [
            "accept(1, \(id))", "accept(1, \(id))", "decline(1, \(id))",
            "lapse(now() + interval '1 day')", "withdraw(\(id), 'Olga', 'x')", "leave(1)",
            "cancel_mission(\(mission), 'x')", "recall()",
        ].shuffled(using: &random)
        // Withdrawing what has ended otherwise is refused, and nothing else is.
        await withTaskGroup(of: String?.self) { group in
            for call in calls {
                group.addTask {
                    do {
                        return try await ground.pool.withSession { session in
                            _ = try await session.query("SELECT (missions.\(call))::text")
                            return nil
                        }
                    } catch { return (error as? PostgresError)?.sqlState ?? "\(error)" }
                }
            }
            for await failure in group { #expect(failure == nil || failure == "RU001") }
        }
        #expect(try await ground.state(id) != "offered")
        let told = try await ground.told(id)
        let state = try await ground.state(id)
        #expect(told.count { $0 == "withdrawn 0" } <= (state == "withdrawn" ? 1 : 0))
        let seeks = try await ground.seeks(mission)
        #expect(seeks <= 1)
    }

    @Test func `a submission is paid once, whoever approves and how often`() async throws {
        let ground = try await MissionGround()
        let id = try await ground.submitted(try await ground.open(), 1)
        let results = try await race(
            ground, (1...10).map { "review(\(id), 'Olga \($0)', 'approve')" })
        #expect(results.count { $0 == "true" } == 1)
        #expect(
            try await ground.number(
                "SELECT sum(amount)::bigint FROM ledger.reward_balance(1)") == 2000)
        #expect(try await ground.number("SELECT completed::bigint FROM missions.standing(1)") == 1)
        #expect(try await ground.told(id) == ["offered 0", "paid 0"])
    }

    @Test func `many assess the same people at once`() async throws {
        let ground = try await MissionGround(people: 5, hired: 0)
        try await ground.session.script(
            """
            UPDATE missions.rules SET is_automatic = true;
            SELECT missions.record_review(p, 'survey:' || n, true)
            FROM generate_series(1, 5) p, generate_series(1, 12) n
            """)
        _ = try await race(
            ground, (1...8).map { "assess('{\($0 % 2 == 0 ? "1,2,3,4,5" : "5,4,3,2,1")}')" })
        #expect(
            try await ground.number(
                "SELECT count(*) FROM errand.jobs WHERE kind = 'missions.notify'") == 5)
    }

    @Test(
        "who had to wait for another sees what they did",
        arguments: [
            ("suspend(1, 'Olga')", "accept(1, 1)", "(f,withdrawn,1,"),
            ("cancel_mission(1, 'x')", "accept(1, 1)", "(f,withdrawn,1,"),
            ("withdraw(1, 'Olga', 'x')", "decline(1, 1)", "(f,withdrawn,1,"),
            ("accept(1, 1)", "withdraw(1, 'Olga', 'x')", "true"),
            ("raise_flag(2, 'x')", "offer(2, 2)", "(,\"{not_active,flagged}\")"),
            ("offer(2, 2)", "offer(3, 2)", "(,{capacity})"),
            ("offer(2, 2)", "offer(2, 3)", "(,{no_slot})"),
            ("set_shopper(2, works_for => '{2}')", "offer(2, 2)", "(,{works_there})"),
        ])
    func waiting(first: String, second: String, expected: String) async throws {
        let ground = try await MissionGround()
        try await ground.session.script("UPDATE missions.shoppers SET daily_capacity = 1")
        for branch in [1, 3, 2] { try await ground.open(branch) }
        #expect(try await ground.given(1, 1) == 1)
        // Not the session that looks: in a transaction it would see the same all the time.
        let holder = try TestDatabase.here().session()
        try await holder.script("BEGIN; SELECT missions.\(first)")
        async let answer = race(ground, [second])
        let waiting = """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'
            """
        for _ in 1...5000 {
            if try await ground.number(waiting) > 0 { break }
            try await Task.sleep(for: .milliseconds(5))
        }
        try await holder.script("COMMIT")
        let answers = try await answer
        await holder.close()
        #expect(answers.count == 1 && answers[0].hasPrefix(expected), "\(answers)")
    }
}
