import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Chores of room-mates", .database) struct ChoreTests {
    @Test func `an occurrence is taken once, and what was not done is missed`() async throws {
        let ground = try await HouseholdGround()
        let chore = try await ground.chore()
        #expect(try await ground.rows("due_chores('2026-12-31Z')").isEmpty)
        #expect(
            try await ground.rows("due_chores('2027-01-01Z')", "chore_id, next_on, time_zone")
                == ["(\(chore),2027-01-01,America/Toronto)"])
        let take = "take(\(chore), '2027-01-01', '2027-01-02Z', '2027-01-02', '2027-01-02Z')"
        #expect(try await ground.call(take) != "null")
        #expect(try await ground.call(take) == "null")
        #expect(
            try await ground.refusal("take(\(chore), '2027-01-02', '2027-01-03Z', '2027-01-02')")?
                .prefix(5) == "22023")
        try await ground.call("take(\(chore), '2027-01-02', '2027-01-03Z')")
        #expect(
            try await ground.rows(
                "occurrences(3, '2027-01-01', '2027-02-01')", "due_on, state, assignee_id")
                == ["(2027-01-02,due,2)", "(2027-01-01,missed,1)"])
        #expect(try await ground.rows("due_chores('2030-01-01Z')").isEmpty)
    }

    @Test func `done is told, moves what counts from it, and counts for who did it`()
        async throws
    {
        let ground = try await HouseholdGround()
        let chore = try await ground.number(
            "SELECT household.add_chore(1, 'Plants', '2026-11-20', mode => 'after_done', "
                + "after_days => 5)")
        try await ground.call("plan_chore(\(chore), 1, '2026-11-20', '2026-11-20Z')")
        let turn = try await ground.call("take(\(chore), '2026-11-20', '2026-11-21Z')")
        #expect(try await ground.rows("chore_to_plan(\(chore), 1)").isEmpty)
        #expect(try await ground.call("done(2, \(turn))") == "true")
        #expect(try await ground.call("done(2, \(turn))") == "false")
        #expect(
            try await ground.refusal("done(1, \(turn))")
                == "not_open: turn \(turn) at chore \(chore) is done")
        #expect(
            try await ground.rows(
                "chore_to_plan(\(chore), 2)", "after_days, last_on, last_ended_at IS NOT NULL")
                == ["(5,2026-11-20,t)"])
        // Those are in it, too, who had no turn.
        try await ground.session.script("UPDATE household.members SET joined_at = '2026-11-02Z'")
        #expect(
            try await ground.rows("stats(3, '2026-10-01', '2026-12-01', 'month')")
                == [
                    "(2026-11-01,1,0,0,0,0,0,0)", "(2026-11-01,2,1,1,1,1,0,0)",
                    "(2026-11-01,3,0,0,0,0,0,0)",
                ])
        // The one who stepped in comes last.
        #expect(
            try await ground.rows("rotation(1, \(chore))", "person_id") == ["1", "3", "2"])
        #expect(try await ground.told().suffix(2) == ["chore_due", "chore_done"])
        #expect(try await ground.refusal("done(1, 999)")?.prefix(5) == "P0002")
        #expect(try await ground.refusal("stats(3, '2026-11-01', '2026-12-01', 'x')") != nil)
    }

    @Test func `a turn is skipped by who has it, or taken over`() async throws {
        let ground = try await HouseholdGround()
        let chore = try await ground.chore()
        let first = try await ground.take(chore)
        #expect(
            try await ground.refusal("skip(2, \(first))")
                == "not_yours: turn \(first) is not that of person 2")
        try await ground.call("skip(1, \(first))")
        #expect(try await ground.turns(chore, 1) == [1])
        try await ground.call(
            "change_chore(1, \(chore), 'D', '2027-01-01', 'FREQ=DAILY', 'calendar', NULL, NULL, "
                + "true)")
        try await ground.call("plan_chore(\(chore), 2, '2027-01-05', '2027-01-05Z')")
        let second = try await ground.take(chore)
        try await ground.call("skip(2, \(second))")
        #expect(try await ground.turns(chore, 1) == [3])
        let fourth = try await ground.take(chore)
        #expect(try await ground.call("take_over(1, \(fourth))") == "false")
        #expect(try await ground.call("take_over(3, \(fourth))") == "true")
        #expect(
            try await ground.texts(
                "SELECT assignee_id || ' ' || instead_of FROM household.occurrences "
                    + "WHERE id = \(fourth)") == ["3 1"])
        #expect(try await ground.turns(chore, 1) == [1])
    }

    @Test func `what is done and does not come again leaves lists and rotations`() async throws {
        let ground = try await HouseholdGround()
        for state in ["done", "skip"] {
            let chore = try await ground.number(
                "SELECT household.add_chore(1, 'Paint', '2026-11-20', persons => '{1}')")
            try await ground.call("plan_chore(\(chore), 1, '2026-11-20', '2026-11-20Z')")
            let turn = try await ground.call("take(\(chore), '2026-11-20', '2026-11-21Z')")
            #expect(try await ground.rows("chores(2)", "chore_id") == ["\(chore)"])
            try await ground.call("\(state)(1, \(turn))")
            #expect(try await ground.rows("chores(2)", "chore_id").isEmpty)
        }
        let jobs = "SELECT count(*) FROM errand.jobs WHERE kind = 'household.plan'"
        let before = try await ground.number(jobs)
        try await ground.call("set_group(1, NULL, 'Asia/Tokyo')")
        try await ground.join(4)
        // But for the months in the zone.
        #expect(try await ground.number(jobs) == before + 1)
        #expect(try await ground.number("SELECT count(*) FROM household.turns") == 2)
        #expect(try await ground.rows("occurrences(1, '2026-11-01', '2026-12-01')").count == 2)
    }

    @Test func `who is late is told, and told again three times at most`() async throws {
        let ground = try await HouseholdGround()
        let turn = try await ground.take(try await ground.chore())
        #expect(try await ground.call("remind_overdue('2027-01-01 23:59Z')") == "0")
        // It comes again in that moment, and this one is missed.
        #expect(try await ground.call("remind_overdue('2027-01-02Z')") == "0")
        try await ground.session.script(
            "UPDATE household.chores SET next_on = NULL, next_at = NULL")
        for day in 2...5 {
            #expect(try await ground.call("remind_overdue('2027-01-0\(day)Z')") == "1")
            #expect(try await ground.call("remind_overdue('2027-01-0\(day)Z')") == "0")
        }
        #expect(try await ground.call("remind_overdue('2027-02-01Z')") == "0")
        #expect(
            try await ground.texts("SELECT state FROM household.occurrences") == ["overdue"])
        #expect(try await ground.told().suffix(4) == Array(repeating: "chore_overdue", count: 4))
        #expect(
            try await ground.rows("remind_of_chore(1, \(turn))", "reason") == ["not_others"])
        #expect(
            try await ground.rows("remind_of_chore(2, \(turn))", "assignee_id, reason")
                == ["(1,ok)"])
        #expect(try await ground.told().last == "chore_reminder")
    }

    @Test func `a changed chore is planned anew, and what was found before counts no more`()
        async throws
    {
        let ground = try await HouseholdGround()
        let chore = try await ground.chore()
        try await ground.call("set_group(1, NULL, 'Asia/Tokyo')")
        #expect(
            try await ground.call("plan_chore(\(chore), 1, '2027-01-01', '2027-01-01Z')")
                == "false")
        #expect(try await ground.rows("chore_to_plan(\(chore), 1)").isEmpty)
        #expect(
            try await ground.rows("chore_to_plan(\(chore), 2)", "starts_on, rule, time_zone")
                == ["(2027-01-01,FREQ=DAILY,Asia/Tokyo)"])
        #expect(try await ground.call("fail_chore(\(chore), 2, 'no such day')") == "true")
        #expect(try await ground.call("fail_chore(\(chore), 2, 'no such day')") == "false")
        #expect(try await ground.rows("chores(1)", "fault") == ["no such day"])
        try await ground.call("remove_chore(2, \(chore))")
        #expect(
            try await ground.refusal("remove_chore(2, \(chore))")
                == "P0002: no chore of your group has the id \(chore)")
        #expect(try await ground.rows("chores(1)").isEmpty)
        for wrong in [
            "'', '2027-01-01'", "' '", "'D', NULL, 'FREQ=DAILY'", "'D', '2501-01-01'",
            "'D', NULL, mode => 'after_done', after_days => 3", "'D', NULL, at_time => '10:00'",
            "'D', '2027-01-01', 'daily'",
            "'D', '2027-01-01', 'FREQ=DAILY', 'after_done', 3", "'D', '2027-01-01', mode => 'x'",
            "'D', '2027-01-01', mode => 'after_done'", "'D', '2027-01-01', after_days => 3",
            "'D', '2027-01-01', persons => '{1,1}'", "'D', '2027-01-01', persons => '{}'",
        ] { #expect(try await ground.refusal("add_chore(1, \(wrong))")?.prefix(5) == "22023") }
        #expect(
            try await ground.refusal("add_chore(1, 'D', '2027-01-01', persons => '{1,9}')")
                == "not_a_member: person 9 is not in your group")
    }
}
