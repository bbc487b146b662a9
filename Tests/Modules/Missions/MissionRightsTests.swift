import Foundation
import ErrandMissions
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Who may do what to missions", .database) struct MissionRightsTests {
    @Test func `the app's servers call what is theirs, and read no table`() async throws {
        let ground = try await MissionGround()
        let mission = try await ground.open(slots: 2)
        let id = try await ground.given(mission, 1)
        let (session, _) = try await TestDatabase.here().login(as: "errand_app")
        for call in [
            "record_review(1, 'survey:1', true)", "set_shopper(1, -73.5, 45.51)",
            "accept(1, \(id))", "arrive(1, \(id), -73.5, 45.5, 10)",
            "finish_step(1, \(id), 1, '{}')", "finish_step(1, \(id), 3, '{}')",
            "finish_step(1, \(id), 4, '{}')", "checklist(1, \(id))", "listing(1)", "standing(1)",
            "submit(1, \(id), 'r')", "decline(1, \(id))", "lock_mission(\(mission), true)",
            "open_mission(1, 'T', now(), now() + interval '1 day', 2, 1, "
                + "'[{\"kind\": \"report\", \"title\": \"T\"}]', 'UTC', is_urgent => true)",
            "cancel_mission(\(mission), 'x')", "raise_flag(2, 'x')", "clear_flag(1)", "leave(3)",
            "come_back(3)",
        ] {
            #expect(
                try await ground.refusal("SELECT * FROM missions.\(call)", in: session) == nil,
                "\(call)")
        }
        #expect(try await ground.state(id) == "submitted")
        for table in [
            "rules", "reviews", "flags", "shoppers", "missions", "tasks", "assignments", "steps",
            "runs",
        ] {
            #expect(
                try await ground.refusal("SELECT FROM missions.\(table)", in: session) == "42501")
        }
        for call in [
            "assess('{1}')", "hire(1, 'x')", "refuse(1, 'x')", "suspend(1, 'x')",
            "decide_shopper(1, 'active', 'x', 'x')", "enter_state(1, 'active', 'x', 'x', now())",
            "offer(1, 1)", "offer_many('{1}', '{1}', '{1}', '{1}')", "candidates('{1}')",
            "objections(1, 1)", "give(1, 1, 1, 1, now(), 'x', false)", "lapse()", "recall()",
            "miss()", "remind()", "end_missions()", "withdraw(1, 'x', 'x')", "hold(1, 1)",
            "review(1, 'x', 'approve')", "merits('{1}', now())", "seek(1, now())", "notify(1, 'x')",
        ] {
            #expect(
                try await ground.refusal("SELECT missions.\(call)", in: session) == "42501",
                "\(call)")
        }
        let (till, _) = try await TestDatabase.here().login(as: "errand_till")
        #expect(try await ground.refusal("SELECT missions.listing(1)", in: till) == "42501")
        await session.close()
        await till.close()
    }

    @Test func `the app's role may call these, and nothing that comes later`() async throws {
        let ground = try await MissionGround(hired: 0)
        let callable = try await ground.texts(
            """
            SELECT p.proname::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
            WHERE n.nspname = 'missions' AND has_function_privilege('errand_app', p.oid, 'EXECUTE')
            ORDER BY 1
            """)
        #expect(
            callable == [
                "accept", "arrive", "cancel_mission", "checklist", "clear_flag", "come_back",
                "decline", "done", "finish_step", "leave", "listing", "lock_mission",
                "open_mission",
                "raise_flag", "record_review", "set_shopper", "standing", "submit",
            ])
        // What they call runs as the owner: a search path of the caller's must not matter.
        #expect(
            try await ground.texts(
                """
                SELECT p.proname::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
                WHERE n.nspname = 'missions'
                  AND has_function_privilege('errand_app', p.oid, 'EXECUTE') AND NOT (p.prosecdef
                    AND p.proconfig @> '{"search_path=pg_catalog, pg_temp"}')
                """) == [])
    }

    private static let states = [
        "offered", "accepted", "arrived", "submitted", "paid", "rejected", "declined", "lapsed",
        "withdrawn", "missed",
    ]

    @Test("from each state there are the ways that there should be", arguments: states)
    func ways(from: String) async throws {
        let ground = try await MissionGround()
        let mission = try await ground.open()
        let id = try await ground.given(mission, 1)
        let payment = """
            CASE WHEN s IN ('paid') THEN (SELECT ledger.credit_reward(1, 'mission:1', 1, 2, 1)) END
            """
        func set(_ state: String, _ sql: (String) async throws -> String?) async throws -> String? {
            let isEnd = !["offered", "accepted", "arrived", "submitted"].contains(state)
            return try await sql(
                """
                UPDATE missions.assignments SET state = '\(state)',
                    arrived_at = coalesce(arrived_at, CASE WHEN '\(state)' IN ('arrived',
                        'submitted', 'paid', 'rejected') THEN now() END),
                    ended_at = \(isEnd ? "now()" : "NULL"),
                    payment_id = \(payment.replacingOccurrences(of: "s IN", with: "'\(state)' IN"))
                WHERE id = \(id)
                """)
        }
        let ways = [
            "offered": ["accepted", "declined", "lapsed", "withdrawn"],
            "accepted": ["arrived", "declined", "withdrawn", "missed"],
            "arrived": ["submitted", "withdrawn", "missed"],
            "submitted": ["arrived", "paid", "rejected"],
        ]
        for state in Self.states where state != from {
            _ = try await set(from) { sql in
                try await ground.force(
                    "DELETE FROM missions.assignments WHERE id = \(id); INSERT INTO "
                        + "missions.assignments (id, mission_id, person_id, branch_id, offered_at, "
                        + "answer_by, due_at, due_day, barred, slot) OVERRIDING SYSTEM VALUE "
                        + "VALUES (\(id), \(mission), 1, 1, now(), now(), now(), now(), 'empty', "
                        + "1);"
                        + sql)
                return nil
            }
            let refusal = try await set(state) { try await ground.refusal($0) }
            let isOpen = ways[from]?.contains(state) == true
            #expect(refusal == (isOpen ? nil : "RU001"), "\(from) to \(state)")
        }
    }

    @Test func `an inspector reads no homes, results and reasons of flags`() async throws {
        let ground = try await MissionGround()
        _ = try await ground.submitted(try await ground.open(), 1)
        let (inspector, _) = try await TestDatabase.here().login(as: "errand_inspector")
        for columns in [
            "home FROM missions.shoppers", "content FROM missions.steps",
            "reason FROM missions.flags",
        ] {
            #expect(
                try await ground.refusal("SELECT \(columns)", in: inspector) == "42501",
                "\(columns)")
        }
        // And lists what operators list.
        #expect(try await MissionRows(session: inspector).page(MissionFilter()).count == 1)
        #expect(try await MissionRows(session: inspector).assignment(1) != nil)
        #expect(try await MissionRows(session: inspector).neglected(now: .now()).coupons == 0)
        await inspector.close()
    }

    @Test func `nobody changes what was agreed, or takes it away`() async throws {
        let ground = try await MissionGround()
        let mission = try await ground.open(slots: 2)
        let id = try await ground.submitted(mission, 1)
        _ = try await ground.text("SELECT missions.review(\(id), 'Olga', 'approve')")
        for statement in [
            "DELETE FROM missions.assignments", "TRUNCATE missions.missions CASCADE",
            "DELETE FROM missions.missions", "DELETE FROM missions.tasks",
            "UPDATE missions.tasks SET title = 'x'", "UPDATE missions.assignments SET slot = 2",
            "UPDATE missions.assignments SET person_id = 2",
            "UPDATE missions.assignments SET barred = 'empty'",
            "UPDATE missions.assignments SET payment_id = 99",
            "UPDATE missions.assignments SET ended_at = now()",
            "UPDATE missions.missions SET pay = 3000", "UPDATE missions.missions SET slots = 9",
            "UPDATE missions.missions SET closes_at = closes_at + interval '1 day'",
        ] { #expect(try await ground.refusal(statement) == "23001", "\(statement)") }
        _ = try await ground.text("SELECT missions.cancel_mission(\(mission), 'x')")
        #expect(
            try await ground.refusal("UPDATE missions.missions SET state = 'open'") == "RU001")
        let given = try await ground.given(try await ground.open(3), 2)
        // Two at one slot, one person twice, and the same branch too soon.
        for (values, state) in [
            ("mission_id, 3, branch_id, 'empty', 1", "23505"),
            ("mission_id, 2, branch_id, 'empty', 2", "23505"),
            ("\(mission), 2, branch_id, barred, 2", "23P01"),
        ] {
            #expect(
                try await ground.refusal(
                    """
                    INSERT INTO missions.assignments (mission_id, person_id, branch_id, barred,
                        slot, offered_at, answer_by, due_at, due_day)
                    SELECT \(values), now(), now(), now(), now() FROM missions.assignments
                    WHERE id = \(given)
                    """) == state, "\(values)")
        }
    }
}
