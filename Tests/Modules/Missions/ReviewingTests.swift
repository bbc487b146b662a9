import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("What operators and time decide of missions", .database) struct ReviewingTests {
    private func balance(_ ground: MissionGround, _ person: Int64) async throws -> Int64 {
        try await ground.number(
            "SELECT coalesce(sum(amount), 0)::bigint FROM ledger.reward_balance(\(person))")
    }

    @Test func `who is approved is paid, once, and it counts for them`() async throws {
        let ground = try await MissionGround()
        let mission = try await ground.open()
        let id = try await ground.submitted(mission, 1)
        let approve = "SELECT missions.review(\(id), 'Olga', 'approve')"
        #expect(try await ground.text(approve) == "t")
        #expect(try await ground.text(approve) == "f")
        #expect(try await balance(ground, 1) == 2000)
        #expect(
            try await ground.text(
                """
                SELECT concat_ws(' ', a.state, a.payment_id = t.id, t.source, a.actor)
                FROM missions.assignments a CROSS JOIN ledger.transactions t
                """) == "paid t mission:\(mission):\(id) Olga")
        #expect(
            try await ground.text("SELECT source || ' ' || is_good FROM missions.reviews")
                == "mission:\(id) true")
        #expect(try await ground.number("SELECT completed::bigint FROM missions.standing(1)") == 1)
        #expect(try await ground.told(id) == ["offered 0", "paid 0"])
        for other in ["reject", "return"] {
            #expect(
                try await ground.refusal("SELECT missions.review(\(id), 'Olga', '\(other)', 'x')")
                    == "RU001")
        }
        #expect(try await ground.answer("submit(1, \(id), 'r')").reason == "ok")
        // The slot stays theirs.
        #expect(try await ground.objections(mission, 2) == ["no_slot"])
        #expect(try await ground.objections(mission, 1) == ["no_slot", "holds_already", "rested"])
    }

    @Test func `who is rejected gets nothing, and the slot is free`() async throws {
        let ground = try await MissionGround()
        let mission = try await ground.open()
        let id = try await ground.submitted(mission, 1)
        try await ground.forgetSeeks()
        let reject = "SELECT missions.review(\(id), 'Olga', 'reject', 'not the branch')"
        #expect(try await ground.text(reject) == "t")
        #expect(try await ground.text(reject) == "f")
        #expect(try await balance(ground, 1) == 0)
        #expect(
            try await ground.text("SELECT source || ' ' || is_good FROM missions.reviews")
                == "mission:\(id) false")
        #expect(try await ground.told(id) == ["offered 0", "rejected 0"])
        #expect(try await ground.seeks(mission) == 1)
        // They were there, and are barred.
        #expect(try await ground.objections(mission, 1) == ["declined_before", "rested"])
        #expect(try await ground.objections(mission, 2) == [])
        #expect(
            try await ground.refusal("SELECT missions.review(\(id), 'Olga', 'approve')") == "RU001")
    }

    @Test func `what is given back is done again, however late it was`() async throws {
        let ground = try await MissionGround()
        let mission = try await ground.open()
        let id = try await ground.submitted(mission, 1)
        try await ground.age(mission, by: "10 days")
        let giveBack = "SELECT missions.review(\(id), 'Olga', 'return', 'too dark')"
        #expect(try await ground.text(giveBack) == "t")
        #expect(try await ground.text(giveBack) == "f")
        #expect(
            try await ground.texts("SELECT state || ' ' || reason FROM missions.listing(1)")
                == ["arrived too dark"])
        #expect(try await ground.answer("submit(1, \(id), 'r')").reason == "returned")
        #expect(try await ground.number("SELECT missions.miss()") == 0)
        #expect(try await ground.answer("finish_step(1, \(id), 1, '{}')").reason == "ok")
        #expect(try await ground.answer("submit(1, \(id), 's')").reason == "ok")
        #expect(try await ground.text(giveBack) == "t")
        #expect(try await ground.answer("submit(1, \(id), 't')").reason == "ok")
        _ = try await ground.text("SELECT missions.review(\(id), 'Olga', 'approve')")
        #expect(
            try await ground.told(id) == ["offered 0", "returned 1", "returned 2", "paid 0"])
        #expect(try await balance(ground, 1) == 2000)
    }

    @Test func `what makes no sense is not decided`() async throws {
        let ground = try await MissionGround()
        let id = try await ground.submitted(try await ground.open(), 1)
        for (arguments, state) in [
            ("\(id), 'Olga', 'praise'", "22023"), ("\(id), 'Olga', NULL", "22023"),
            ("\(id), '', 'approve'", "22023"), ("\(id), 'Olga', 'reject'", "22023"),
            ("\(id), 'Olga', 'return', ''", "22023"), ("99, 'Olga', 'approve'", "P0002"),
            ("\(id), '1', 'approve'", "42501"), ("\(id), 'person:1', 'approve'", "42501"),
        ] {
            #expect(
                try await ground.refusal("SELECT missions.review(\(arguments))") == state,
                "\(arguments)")
        }
        #expect(try await ground.state(id) == "submitted")
        #expect(
            try await ground.refusal("SELECT missions.withdraw(\(id), 'Olga', 'x')") == "RU001")
        let offered = try await ground.given(try await ground.open(3), 2)
        #expect(
            try await ground.refusal("SELECT missions.review(\(offered), 'Olga', 'approve')")
                == "RU001")
        for arguments in ["\(offered), '', 'x'", "\(offered), 'Olga', NULL"] {
            #expect(
                try await ground.refusal("SELECT missions.withdraw(\(arguments))") == "22023")
        }
        #expect(try await ground.refusal("SELECT missions.withdraw(99, 'Olga', 'x')") == "P0002")
    }

    @Test func `what is withdrawn is told, and given to others`() async throws {
        let ground = try await MissionGround()
        let mission = try await ground.open(slots: 2)
        let (one, other) = (try await ground.given(mission, 1), try await ground.given(mission, 2))
        _ = try await ground.accept(2, other)
        _ = try await ground.arrive(2, other)
        try await ground.forgetSeeks()
        for id in [one, other] {
            let call = "SELECT missions.withdraw(\(id), 'Olga', 'a mistake')"
            #expect(try await ground.text(call) == "t")
            #expect(try await ground.text(call) == "f")
            #expect(try await ground.told(id) == ["offered 0", "withdrawn 0"])
        }
        #expect(try await ground.seeks(mission) == 1)
        #expect(
            try await ground.texts(
                "SELECT isempty(barred)::text FROM missions.assignments ORDER BY id")
                == ["true", "false"])
    }

    @Test func `offers lapse after a grace, and others are sought`() async throws {
        let ground = try await MissionGround()
        let mission = try await ground.open(slots: 4)
        var ids: [Int64] = []
        for person in 1...4 as ClosedRange<Int64> {
            ids.append(try await ground.given(mission, person))
        }
        _ = try await ground.accept(4, ids[3])
        try await ground.forgetSeeks()
        let answerBy = "(SELECT min(answer_by) FROM missions.assignments)"
        #expect(
            try await ground.number("SELECT missions.lapse(\(answerBy) + interval '59 seconds')")
                == 0)
        let after = "(SELECT max(answer_by) FROM missions.assignments) + interval '61 seconds'"
        #expect(try await ground.number("SELECT missions.lapse(\(after), 2)") == 2)
        #expect(try await ground.number("SELECT missions.lapse(\(after), 2)") == 1)
        #expect(try await ground.number("SELECT missions.lapse(\(after), 2)") == 0)
        #expect(try await ground.state(ids[3]) == "accepted")
        #expect(try await ground.told(ids[0]) == ["offered 0"])
        #expect(try await ground.seeks(mission) == 1)
    }

    @Test func `nobody is sought for what is nearly over`() async throws {
        let ground = try await MissionGround()
        let mission = try await ground.open()
        _ = try await ground.given(mission, 1)
        try await ground.age(mission, by: "2 days 23 hours 30 minutes")
        #expect(try await ground.number("SELECT missions.lapse()") == 1)
        #expect(try await ground.seeks(mission) == 0)
    }

    @Test func `who is suspended loses offers, and who is refused all they hold`() async throws {
        let ground = try await MissionGround()
        let mission = try await ground.open(slots: 4)
        var ids: [Int64] = []
        for person in 1...4 as ClosedRange<Int64> {
            ids.append(try await ground.given(mission, person))
        }
        _ = try await ground.accept(2, ids[1])
        _ = try await ground.accept(3, ids[2])
        try await ground.session.script(
            """
            SELECT missions.suspend(1, 'Olga', 'x'), missions.suspend(2, 'Olga', 'x'),
                missions.refuse(3, 'Olga', 'x')
            """)
        #expect(try await ground.number("SELECT missions.recall(NULL, 1)") == 1)
        #expect(try await ground.number("SELECT missions.recall()") == 1)
        #expect(try await ground.number("SELECT missions.recall()") == 0)
        var states: [String] = []
        for id in ids { states.append(try await ground.state(id)) }
        #expect(states == ["withdrawn", "accepted", "withdrawn", "offered"])
        #expect(try await ground.told(ids[2]) == ["offered 0", "withdrawn 0"])
        // What they accepted they may do.
        #expect(try await ground.arrive(2, ids[1]).reason == "ok")
    }

    @Test func `what is not done in time is missed`() async throws {
        let ground = try await MissionGround()
        let mission = try await ground.open(slots: 3)
        let (one, other) = (try await ground.given(mission, 1), try await ground.given(mission, 2))
        let done = try await ground.submitted(mission, 3)
        for (person, id) in [(1, one), (2, other)] as [(Int64, Int64)] {
            _ = try await ground.accept(person, id)
        }
        _ = try await ground.arrive(2, other)
        try await ground.forgetSeeks()
        let end = "(SELECT closes_at FROM missions.missions)"
        #expect(try await ground.number("SELECT missions.miss(\(end) - interval '1 second')") == 0)
        #expect(try await ground.number("SELECT missions.miss(\(end))") == 1)
        #expect(try await ground.state(one) == "missed")
        #expect(try await ground.number("SELECT missions.end_missions(\(end))") == 0)
        #expect(try await ground.number("SELECT missions.miss(\(end) + interval '1 day')") == 1)
        #expect(try await ground.state(other) == "missed")
        #expect(try await ground.state(done) == "submitted")
        #expect(try await ground.told(other) == ["offered 0", "missed 0"])
        #expect(
            try await ground.texts(
                "SELECT missed || ' ' || completed FROM missions.shoppers ORDER BY person_id")
                == ["1 0", "1 0", "0 0", "0 0"])
        #expect(try await ground.seeks(mission) == 0)
        // Who never came is not barred; who came is.
        #expect(
            try await ground.texts(
                "SELECT isempty(barred)::text FROM missions.assignments ORDER BY id")
                == ["true", "false", "false"])
        #expect(try await ground.number("SELECT missions.end_missions(\(end))") == 1)
        #expect(try await ground.number("SELECT missions.end_missions(\(end))") == 0)
        #expect(try await ground.text("SELECT state FROM missions.missions") == "over")
        #expect(try await ground.text("SELECT missions.review(\(done), 'Olga', 'approve')") == "t")
        #expect(try await ground.text("SELECT missions.cancel_mission(\(mission), 'x')") == "f")
    }

    @Test func `reminders come once each, the last of those that are due`() async throws {
        let ground = try await MissionGround()
        let mission = try await ground.open(slots: 2)
        let (one, other) = (try await ground.given(mission, 1), try await ground.given(mission, 2))
        _ = try await ground.accept(1, one)
        _ = try await ground.accept(2, other)
        let end = "(SELECT closes_at FROM missions.missions WHERE id = \(mission))"
        func remind(_ before: String) async throws -> Int64 {
            try await ground.number("SELECT missions.remind(\(end) - interval '\(before)')")
        }
        #expect(try await remind("25 hours") == 0)
        #expect(try await remind("24 hours") == 2)
        #expect(try await remind("23 hours") == 0)
        _ = try await ground.answer("decline(2, \(other))")
        #expect(try await remind("3 hours") == 1)
        #expect(try await remind("1 hour") == 0)
        #expect(try await ground.told(one) == ["offered 0", "reminder 1", "reminder 2"])
        #expect(try await ground.told(other) == ["offered 0", "reminder 1"])
        let third = try await ground.given(mission, 3)
        _ = try await ground.accept(3, third)
        #expect(try await remind("2 hours") == 1)
        #expect(try await ground.told(third) == ["offered 0", "reminder 2"])
        let fourth = try await ground.given(try await ground.open(), 4, "is_accepted => true")
        #expect(try await remind("-1 hours") == 1)
        #expect(try await ground.told(fourth) == ["agreed 0"])
    }

    @Test func `who has not answered, and who has not handed in, is reminded too`() async throws {
        let ground = try await MissionGround()
        let mission = try await ground.open()
        let id = try await ground.given(mission, 1)
        func remind(_ at: String) async throws -> Int64 {
            try await ground.number(
                "SELECT missions.remind(\(at)) FROM missions.assignments WHERE id = \(id)")
        }
        let quarter = "answer_by - (answer_by - offered_at) / 4"
        #expect(try await remind(quarter + " - interval '1 second'") == 0)
        #expect(try await remind(quarter) == 1)
        #expect(try await remind("answer_by") == 0)
        _ = try await ground.accept(1, id)
        #expect(try await ground.arrive(1, id).reason == "ok")
        #expect(try await remind("due_at - interval '3 hours'") == 1)
        #expect(
            try await ground.told(id) == ["offered 0", "waiting 0", "unfinished 2"])
        for number in [1, 3, 4] {
            _ = try await ground.answer("finish_step(1, \(id), \(number), '{}')")
        }
        #expect(try await ground.answer("submit(1, \(id), 'r')").reason == "ok")
        #expect(try await remind("due_at") == 0)
        _ = try await ground.text("SELECT missions.review(\(id), 'Olga', 'return', 'too dark')")
        #expect(try await remind("due_at - interval '1 hour'") == 1)
        #expect(try await ground.told(id).last == "unfinished 13")
    }
}
