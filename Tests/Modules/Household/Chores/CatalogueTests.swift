import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("The catalogue, and chores without a day", .database) struct CatalogueTests {
    // "No chore catalogue: predetermined chores and custom ones that stay for the next time. A
    // finished one-off chore is `is_removed` and must be typed again".
    @Test func `custom chores stay in the catalogue beside predetermined ones`() async throws {
        let ground = try await HouseholdGround()
        #expect(
            try await ground.texts(
                """
                SELECT (count(*) > 15 AND bool_and(code IS NOT NULL AND NOT is_custom))::text
                FROM household.chore_catalogue(1)
                """) == ["true"])
        let chore = try await ground.call("add_chore(1, 'Descale the kettle')")
        let turn = try await ground.number("SELECT occurrence_id FROM household.open_chores(1)")
        try await ground.call("done(2, \(turn))")
        #expect(try await ground.rows("chores(1)").isEmpty)
        #expect(
            try await ground.rows("chore_catalogue(3)", "title, is_custom").first
                == "(\"Descale the kettle\",t)")
        try await ground.call("add_chore(1, 'Wash the dishes', '2027-01-01')")
        try await ground.call("add_to_catalogue(2, ' descale  THE kettle ')")
        let entry = try await ground.call("add_to_catalogue(2, 'Polish')")
        #expect(
            try await ground.rows("chore_catalogue(3)", "title, code, is_custom").prefix(3) == [
                "(Polish,,t)", "(\"descale  THE kettle\",,t)", "(\"Wash the dishes\",dishes,f)",
            ])
        #expect(try await ground.number("SELECT count(*) FROM household.catalogue") == 23)
        #expect(try await ground.call("remove_from_catalogue(1, \(entry))") == "true")
        #expect(try await ground.call("remove_from_catalogue(1, \(entry))") == "false")
        #expect(try await ground.call("remove_from_catalogue(1, 1)") == "false")
        #expect(try await ground.refusal("remove_chore(1, \(chore))")?.prefix(5) == "P0002")
        // Another group has its own.
        try await ground.call("create_group(4, 'Other', 'UTC')")
        #expect(
            try await ground.texts(
                "SELECT count(*)::text FROM household.chore_catalogue(4) WHERE is_custom") == ["0"])
        // Of too many, what was used the longest ago goes.
        try await ground.session.script("UPDATE household.rules SET max_custom_chores = 2")
        for title in ["A", "B", "C"] { try await ground.call("add_to_catalogue(4, '\(title)')") }
        #expect(
            try await ground.texts(
                "SELECT title FROM household.chore_catalogue(4) WHERE is_custom") == ["C", "B"])
    }

    // "an unscheduled chore becomes overdue at the day's end and is nagged about 3 times. Wanted:
    // without a day it is simply open".
    @Test func `a chore without a day is open until it is done, and nobody is nagged`()
        async throws
    {
        let ground = try await HouseholdGround()
        let chore = try await ground.number("SELECT household.add_chore(1, 'Fix the tap')")
        #expect(
            try await ground.rows("open_chores(2)")
                == ["(1,\(chore),\"Fix the tap\",,,f,,)"])
        for call in ["remind_overdue('2037-01-01Z')", "take_many('{}', '{}', '{}', '{}', '{}')"] {
            #expect(try await ground.call(call) == "0")
        }
        #expect(try await ground.rows("due_chores('2037-01-01Z')").isEmpty)
        #expect(
            try await ground.number(
                "SELECT count(*) FROM errand.jobs WHERE kind = 'household.plan' "
                    + "AND args ? 'chore_id'") == 0)
        #expect(try await ground.rows("remind_of_chore(2, 1)", "reason") == ["no_day"])
        // Neither away members, nor new ones, nor another zone change that.
        try await ground.call("set_away(2, true)")
        try await ground.call("set_away(2, false)")
        try await ground.join(4)
        try await ground.call("leave(1)")
        try await ground.call("set_group(2, NULL, 'Asia/Tokyo')")
        #expect(
            try await ground.rows("open_chores(2)", "title, assignee_id, is_overdue")
                == ["(\"Fix the tap\",,f)"])
        #expect(try await ground.rows("chores(2)", "starts_on, fault") == ["(,)"])
        #expect(try await ground.refusal("skip(2, 1)")?.prefix(9) == "not_yours")
        try await ground.call("take_over(3, 1)")
        #expect(try await ground.rows("open_chores(2)", "assignee_id") == ["3"])
        #expect(
            try await ground.refusal(
                "change_chore(2, \(chore), 'x', '2027-01-01', NULL, 'calendar', NULL, NULL, true)")?
                .prefix(5) == "22023")
        try await ground.call(
            "change_chore(2, \(chore), 'Fix both taps', NULL, NULL, 'calendar', NULL, NULL, false)")
        #expect(try await ground.call("done(2, 1)") == "true")
        #expect(try await ground.rows("open_chores(2)").isEmpty)
        #expect(try await ground.rows("chores(2)").isEmpty)
        // It counts on the day on which it was done.
        #expect(
            try await ground.texts(
                """
                SELECT o.state || ' ' || o.done_by || ' ' || (o.due_on = (now() AT TIME ZONE
                    'Asia/Tokyo')::date) FROM household.occurrences(2, current_date - 2,
                    current_date + 3) o
                """) == ["done 2 true"])
        #expect(
            try await ground.texts(
                """
                SELECT person_id || ' ' || done || ' ' || late FROM household.stats(2,
                    current_date - 2, current_date + 3, 'year') WHERE done > 0
                """) == ["2 1 0"])
        #expect(!(try await ground.told().contains("chore_overdue")))
    }

    @Test func `a chore without a day may be somebody's`() async throws {
        let ground = try await HouseholdGround()
        try await ground.call("add_chore(1, 'Call the plumber', persons => '{2,3}')")
        #expect(try await ground.rows("open_chores(1)", "assignee_id") == ["2"])
        try await ground.call("set_away(2, true)")
        #expect(try await ground.rows("open_chores(1)", "assignee_id, instead_of") == ["(3,2)"])
        try await ground.call("leave(3)")
        #expect(try await ground.rows("open_chores(1)", "assignee_id") == ["null"])
        try await ground.call("set_away(2, false)")
        #expect(try await ground.rows("open_chores(1)", "assignee_id") == ["2"])
        #expect(!(try await ground.told().contains("chore_handed_over")))
        try await ground.call("skip(2, 1)")
        #expect(try await ground.rows("open_chores(1)").isEmpty)
        let chore = try await ground.call("add_chore(1, 'Paint')")
        try await ground.call("remove_chore(2, \(chore))")
        #expect(try await ground.rows("open_chores(1)").isEmpty)
    }

    // "complete: "fills in information on chore they completed": takes no words".
    @Test func `who has done a chore says something about it`() async throws {
        let ground = try await HouseholdGround()
        try await ground.call("add_chore(1, 'Fix the tap')")
        let call = "done(2, 1, words => 'A new washer', picture => 'pictures/tap.jpg')"
        #expect(try await ground.call(call) == "true")
        #expect(try await ground.call(call) == "false")
        #expect(
            try await ground.rows(
                "occurrences(1, current_date - 2, current_date + 2)", "done_by, words, picture")
                == ["(2,\"A new washer\",pictures/tap.jpg)"])
        try await ground.call("add_chore(1, 'Paint')")
        for wrong in ["words => ''", "words => repeat('x', 501)", "picture => 'data:x'"] {
            #expect(try await ground.refusal("done(2, 2, \(wrong))")?.prefix(5) == "22023")
        }
    }

    // "an overdue one of last month needs a range that long. A read of what is open lacks".
    @Test func `all that is open is read at once, whatever its age`() async throws {
        let ground = try await HouseholdGround()
        let chore = try await ground.number(
            "SELECT household.add_chore(1, 'Windows', '2020-03-02')")
        try await ground.call("plan_chore(\(chore), 1, '2020-03-02', '2020-03-02Z')")
        try await ground.call("take(\(chore), '2020-03-02', '2020-03-03Z')")
        try await ground.call("remind_overdue()")
        try await ground.call("add_chore(1, 'Fix the tap')")
        _ = try await ground.take(try await ground.chore())
        #expect(
            try await ground.rows("open_chores(3)", "title, due_on, is_overdue") == [
                "(Windows,2020-03-02,t)", "(Dishes,2027-01-01,f)", "(\"Fix the tap\",,f)",
            ])
    }
}
