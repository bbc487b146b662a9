import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Groceries and the board", .database) struct GroceryTests {
    @Test func `names are equal in any case, white space and number`() async throws {
        let ground = try await HouseholdGround(members: 0)
        let bread = try await ground.call("name_key('bread')")
        for equal in [
            ["Tomato", " TOMATOES ", "tomatoes"], ["berry", "Berries"], ["loaf", "loaves"],
            ["Œuf", "oeufs"], ["gâteau", "GÂTEAUX"], ["journal", "journaux"], ["chou", "choux"],
            ["olive  oil", "Olive\u{a0}oils"], ["pomme de terre", "Pommes de terre"],
            ["glass", "glasses"], ["box", "boxes"], ["cheese", "cheeses"], ["pie", "pies"],
            ["cookie", "Cookies"], ["peach", "peaches"], ["quiche", "quiches"],
            ["knife", "knives"],
            ["pâté", "Pâtés", "PA\u{302}TE\u{301}"], ["can", "cans"], ["cane", "Canes"],
            ["olive", "olives"], ["clove", "cloves"], ["pea", "peas"], ["shoe", "shoes"],
            ["axe", "axes"], ["mousse", "mousses"], ["half", "halves"], ["hummus", "Hummus"],
        ] {
            let keys = try await keys(of: equal, ground)
            #expect(Set(keys).count == 1 && keys.first != bread, "\(equal): \(keys)")
        }
    }

    @Test func `names of other things are not`() async throws {
        let ground = try await HouseholdGround(members: 0)
        for apart in [
            ["pâte", "pâté", "pate", "patty"], ["can", "cane", "canal"], ["plan", "plane"],
            ["oil", "olive oil"], ["leaf", "leave"], ["bar", "bare", "bears"], ["gas", "ga"],
            ["cub", "cube"], ["glass", "glas"], ["rat", "rate"], ["pin", "pine", "pines nut"],
            ["sauce", "saucer"], ["roux", "rue"], ["mûre", "mur", "mûr"], ["wine", "win"],
        ] {
            let keys = try await keys(of: apart, ground)
            #expect(Set(keys).count == apart.count, "\(apart): \(keys)")
        }
    }

    private func keys(of names: [String], _ ground: HouseholdGround) async throws -> [String] {
        try await ground.session.query(
            "SELECT household.name_key(n) FROM unnest($1::text[]) n", [.textArray(names)]
        ).map { try $0.text(0) }
    }

    @Test func `the list adds up equal names and keeps units apart`() async throws {
        let ground = try await HouseholdGround()
        for call in [
            "add_item(1, 'Tomatoes', true, 2, 'kg')", "add_item(2, ' tomato', false, 0.5, 'KG')",
            "add_item(2, 'tomato', false, 3)", "add_item(3, 'Bread', true)",
        ] { try await ground.call(call) }
        #expect(
            try await ground.rows("shopping_list(1)") == [
                "(Bread,1,\"\",{4},{},t,{})", "(tomato,3,\"\",{3},{2},f,{})",
                "(tomato,2.5,kg,\"{1,2}\",{2},t,{})",
            ])
        #expect(
            try await ground.refusal("remove_item(1, 3)")
                == "not_yours: item 3 is that of person 2")
        #expect(try await ground.call("remove_item(2, 3)") == "true")
        #expect(try await ground.call("remove_item(2, 3)") == "false")
        #expect(try await ground.refusal("remove_item(2, 9)")?.prefix(5) == "P0002")
        for wrong in ["'', true", "'x', NULL", "'x', true, 0", "'x', true, 0.0001"] {
            #expect(try await ground.refusal("add_item(1, \(wrong))")?.prefix(5) == "22023")
        }
        #expect(try await ground.call("going_shopping(1)") == "true")
        #expect(try await ground.call("going_shopping(1)") == "false")
        #expect(try await ground.call("going_shopping(2)") == "true")
    }

    @Test func `a trip takes bought items off and splits by whose they were`() async throws {
        let ground = try await HouseholdGround()
        for call in [
            "add_item(1, 'Milk', true)", "add_item(2, 'Beer', false)",
            "add_item(3, 'Tea', false)", "add_item(1, 'Salt', true)",
        ] { try await ground.call(call) }
        // 600 of all three, 200 of the second's, and a tax of 25 %.
        let call = """
            complete_trip(1, '{1,2}', 1000, 't', '2026-11-21', 'items', \
            prices => '{600,200}', receipt => 'r/1')
            """
        let trip = try await ground.call(call)
        #expect(try await ground.call(call) == trip)
        #expect(try await ground.shares(Int64(trip) ?? 0) == [250, 500, 250])
        #expect(try await ground.balances() == ["2 owes 1 500", "3 owes 1 250"])
        #expect(try await ground.rows("shopping_list(1)", "name") == ["Salt", "Tea"])
        #expect(
            try await ground.refusal("complete_trip(2, '{2}', 5, 'u', '2026-11-21')")
                == "not_open: item 2 is bought by trip \(trip)")
        #expect(
            try await ground.refusal(
                "complete_trip(2, '{3}', 5, 'u', '2026-11-21', 'items', '{1,2}')")
                == "not_among: person 3 has items in this trip and is not among the persons")
        // Edited: other items, without prices, so that each counts the same.
        #expect(
            try await ground.call("edit_trip(3, \(trip), '{1,3}', 600, 'items', '{1,2,3}')")
                == "2")
        #expect(try await ground.shares(Int64(trip) ?? 0) == [100, 100, 400])
        #expect(try await ground.balances() == ["2 owes 1 100", "3 owes 1 400"])
        #expect(try await ground.rows("shopping_list(1)", "name") == ["Beer", "Salt"])
        #expect(try await ground.rows("bills(1)", "receipt, is_trip") == ["(r/1,t)"])
        try await ground.call(
            "edit_trip(3, \(trip), '{1,3}', 600, 'items', '{1,2,3}', receipt => '')")
        #expect(try await ground.rows("bills(1)", "receipt, is_trip") == ["(,t)"])
        #expect(
            try await ground.refusal(
                "edit_trip(3, \(trip), '{1,3}', 600, 'items', '{1,2,3}', "
                    + "prices => '{1,5000000000}')")
                == "22023: item 3 (Tea): its price of 5000000000 is too high to split by items: "
                + "all of them, times the persons, may come to 10^10")
        #expect(try await ground.refusal("edit_bill(1, \(trip), 'x')")?.prefix(5) == "P0002")
        #expect(try await ground.call("remove_trip(1, \(trip))") == "true")
        #expect(try await ground.call("remove_trip(1, \(trip))") == "false")
        #expect(try await ground.balances() == [])
        #expect(try await ground.rows("shopping_list(1)").count == 4)
        #expect(
            try await ground.told().suffix(3) == ["trip_edited", "trip_edited", "trip_removed"])
    }

    @Test func `a group has no more chores, items and notes than the rules say`() async throws {
        let ground = try await HouseholdGround()
        #expect(
            try await ground.texts(
                "SELECT concat_ws(' ', max_chores, max_items, max_notes) FROM household.rules")
                == ["500 2000 1000"])
        try await ground.session.script(
            "UPDATE household.rules SET max_chores = 1, max_items = 1, max_notes = 1")
        for (call, refusal) in [
            ("add_chore(1, 'Bins', '2027-01-01')", "too_many: a group has at most 1 chores"),
            ("add_item(1, 'Milk', true)", "too_many: a list has at most 1 items"),
            ("add_note(1, 'Hello')", "too_many: a board has at most 1 notes"),
        ] {
            try await ground.call(call)
            #expect(try await ground.refusal(call) == refusal)
        }
        // What is gone makes room.
        try await ground.call("remove_chore(1, 1)")
        try await ground.call("remove_item(1, 1)")
        try await ground.call("remove_note(1, 1)")
        for call in [
            "add_chore(1, 'B', '2027-01-01')", "add_item(1, 'M', true)", "add_note(1, 'N')",
        ] {
            #expect(try await ground.refusal(call) == nil)
        }
    }

    @Test func `notes delete themselves on time`() async throws {
        let ground = try await HouseholdGround()
        let (mine, other) = (
            try await ground.call("add_note(1, 'Rent is due')"),
            try await ground.call("add_note(2, 'Bins', clock_timestamp() + interval '1 day')")
        )
        #expect(try await ground.rows("notes(3)", "note_id") == [other, mine])
        #expect(try await ground.call("expire_notes(now() + interval '23 hours')") == "0")
        #expect(try await ground.call("expire_notes(now() + interval '25 hours')") == "1")
        #expect(try await ground.call("expire_notes(now() + interval '6 days')") == "0")
        // "only the author may (…): let anyone, told to the author".
        #expect(try await ground.call("remove_note(2, \(mine))") == "true")
        #expect(
            try await ground.texts(
                "SELECT args ->> 'to' FROM errand.jobs WHERE args ->> 'event' = 'note_removed'")
                == ["[1]"])
        #expect(try await ground.call("remove_note(1, \(mine))") == "false")
        let own = try await ground.call("add_note(1, 'Mine')")
        #expect(try await ground.call("remove_note(1, \(own))") == "true")
        #expect(try await ground.told().filter { $0 == "note_removed" }.count == 1)
        for wrong in ["''", "'x', now() - interval '1 day'", "'x', now() + interval '2 years'"] {
            #expect(try await ground.refusal("add_note(1, \(wrong))")?.prefix(5) == "22023")
        }
        // Past its time, and not deleted yet.
        try await ground.call("add_note(1, 'Old')")
        try await ground.session.script(
            "UPDATE household.notes SET written_at = written_at - interval '8 days', "
                + "expires_at = expires_at - interval '8 days'")
        #expect(try await ground.rows("notes(1)").isEmpty)
    }

    // "Pictures: none for notes (…: a meme cannot be posted) and none for a bill".
    @Test func `a note may be a picture without a text, and a bill has one`() async throws {
        let ground = try await HouseholdGround()
        try await ground.call("add_note(1, NULL, picture => 'pictures/1.jpg')")
        try await ground.call("add_note(1, 'See', picture => 'https://example.org/2.jpg')")
        #expect(
            try await ground.rows("notes(2)", "body, picture")
                == ["(See,https://example.org/2.jpg)", "(,pictures/1.jpg)"])
        for wrong in [
            "NULL", "NULL, picture => ''", "NULL, picture => 'data:image/png;base64,AAAA'",
            "'x', picture => repeat('x', 501)",
        ] { #expect(try await ground.refusal("add_note(1, \(wrong))")?.prefix(5) == "22023") }
        let bill = try await ground.bill(1, 900, [1, 2], "receipt => 'receipts/1.jpg'")
        #expect(try await ground.rows("bills(2)", "receipt") == ["receipts/1.jpg"])
        try await ground.call("edit_bill(2, \(bill), receipt => 'receipts/2.jpg')")
        #expect(try await ground.rows("bills(2)", "receipt") == ["receipts/2.jpg"])
        try await ground.call("edit_bill(2, \(bill), 'Gas')")
        #expect(try await ground.rows("bills(2)", "receipt, title") == ["(receipts/2.jpg,Gas)"])
        try await ground.call("edit_bill(2, \(bill), receipt => '')")
        #expect(try await ground.rows("bills(2)", "receipt, revision") == ["(,1)"])
        #expect(
            try await ground.refusal(
                "add_bill(1, 'x', 1, '{1}', 'r', '2026-11-20', receipt => 'data:,x')")?
                .prefix(5) == "22023")
        // The same request with another picture is another one.
        let call = "add_bill(1, 'x', 1, '{1}', 'r', '2026-11-20', receipt => 'a')"
        let id = try await ground.call(call)
        #expect(try await ground.call(call) == id)
        #expect(
            try await ground.refusal("add_bill(1, 'x', 1, '{1}', 'r', '2026-11-20')")?.prefix(5)
                == "23505")
    }

    // "every repeated request answers the same".
    @Test func `the same request adds one chore, item, note or trip item`() async throws {
        let ground = try await HouseholdGround()
        try await ground.call("complete_trip(1, '{}', 900, 't', '2026-11-21')")
        for (call, other) in [
            ("add_chore(1, 'Bins', request_id => 'a')", "add_chore(1, 'Bin', request_id => 'a')"),
            ("add_item(1, 'Tea', true, request_id => 'b')", "add_note(1, 'x', request_id => 'b')"),
            (
                "add_note(1, 'Hello', request_id => 'c')",
                "add_note(2, 'Hello', request_id => 'c')"
            ),
            (
                "add_trip_item(1, 1, 'Tea', request_id => 'd')",
                "add_trip_item(1, 1, 'Tea', 2, request_id => 'd')"
            ),
        ] {
            let id = try await ground.call(call)
            #expect(try await ground.call(call) == id)
            #expect(
                try await ground.refusal(other)?.hasSuffix("known with other content") == true)
        }
        #expect(try await ground.rows("open_chores(1)").count == 1)
        #expect(try await ground.rows("communal_list(1)").count == 1)
        #expect(try await ground.rows("notes(1)").count == 1)
        #expect(try await ground.rows("trip_items(1, 1)").count == 1)
        #expect(try await ground.told().count == 8)
        // Another group has its own names, and who gives none adds another.
        try await ground.call("create_group(4, 'Other', 'UTC')")
        try await ground.call("add_item(4, 'Tea', true, request_id => 'b')")
        for _ in 1...2 { try await ground.call("add_item(4, 'Tea', true)") }
        #expect(try await ground.rows("communal_list(4)").count == 3)
        #expect(
            try await ground.refusal("add_note(1, 'x', request_id => '')")?.prefix(5) == "22023")
        #expect(
            try await ground.call("forget_requests(now() + interval '1 second', 9, true)") == "5")
        #expect(
            try await ground.call("forget_requests(now() + interval '1 second', 9, false)") == "5")
    }

    @Test func `a failed session is told once, and forgotten`() async throws {
        let ground = try await HouseholdGround()
        #expect(try await ground.call("report_failed_session(4, 's')") == "true")
        #expect(try await ground.call("report_failed_session(4, 's')") == "false")
        #expect(try await ground.call("report_failed_session(4, 't')") == "true")
        #expect(try await ground.told().filter { $0 == "session_failed" }.count == 2)
        #expect(
            try await ground.texts(
                "SELECT routine || ' ' || keep FROM people.retention_rules "
                    + "WHERE module = 'household' ORDER BY name")
                == [
                    "forget_invitations 90 days", "forget_items 365 days",
                    "forget_requests 30 days", "forget_sessions 90 days",
                ])
        let later = "now() + interval '1 second'"
        #expect(try await ground.call("forget_sessions(now() - interval '1 day', 9, false)") == "0")
        #expect(try await ground.call("forget_sessions(\(later), 9, true)") == "2")
        #expect(try await ground.call("forget_sessions(\(later), 1, false)") == "1")
        #expect(try await ground.call("forget_sessions(\(later), 9, false)") == "1")
        let open = try await ground.call("invite(1, 5)")
        try await ground.call("decline(6, \(try await ground.call("invite(1, 6)")))")
        #expect(try await ground.call("forget_invitations(\(later), 9, false)") == "3")
        #expect(try await ground.rows("invitations(1)", "invitation_id") == [open])
        try await ground.call("add_item(1, 'Tea', true)")
        try await ground.call("remove_item(1, \(try await ground.call("add_item(1, 'x', true)")))")
        #expect(try await ground.call("forget_items(\(later), 9, true)") == "1")
        #expect(try await ground.call("forget_items(\(later), 9, false)") == "1")
        #expect(try await ground.rows("shopping_list(1)", "name") == ["Tea"])
    }
}
