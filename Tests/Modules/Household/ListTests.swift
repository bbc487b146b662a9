import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Shopping lists of room-mates", .database) struct ListTests {
    // "Personal lists: no "in the aggregate list or not" flag, no note ("so-and-so brand"), no
    // edit, no reading of one's own or the communal list apart from the merged one"; "4B communal
    // list: add and remove; not readable by itself".
    @Test func `own and communal lists are read apart from the merged one`() async throws {
        let ground = try await HouseholdGround()
        for call in [
            "add_item(1, 'Eggs', true, 12)", "add_item(2, 'egg', false, 6, note => 'brown ones')",
            "add_item(2, 'Cake', false, note => 'for Tuesday', is_shared => false)",
            "add_item(3, 'Tea', false)",
        ] { try await ground.call(call) }
        #expect(
            try await ground.rows("shopping_list(1)", "name, quantity, items, notes") == [
                "(egg,18,\"{1,2}\",\"{\"\"brown ones\"\"}\")", "(Tea,1,{4},{})",
            ])
        #expect(
            try await ground.rows("communal_list(2)", "item_id, name, quantity, note")
                == ["(1,Eggs,12,)"])
        #expect(
            try await ground.rows("my_list(2)", "item_id, name, quantity, note, is_shared") == [
                "(3,Cake,1,\"for Tuesday\",f)", "(2,egg,6,\"brown ones\",t)",
            ])
        #expect(try await ground.rows("my_list(1)").isEmpty)
        #expect(try await ground.rows("my_list(3)", "name") == ["Tea"])
    }

    // "edit a personal item: lacks: remove and add anew".
    @Test func `an item is edited by whose it is, and a communal one by anybody`() async throws {
        let ground = try await HouseholdGround()
        let shared = try await ground.call("add_item(1, 'Milk', true, 1, 'l')")
        let own = try await ground.call("add_item(2, 'Beer', false, note => 'cold')")
        let secret = try await ground.call("add_item(2, 'Gift', false, is_shared => false)")
        try await ground.call("edit_item(3, \(shared), 'Oat milk', 2, note => 'the blue carton')")
        #expect(
            try await ground.rows("communal_list(1)", "name, quantity, unit, note")
                == ["(\"Oat milk\",2,l,\"the blue carton\")"])
        #expect(
            try await ground.refusal("edit_item(1, \(own), 'Wine')")
                == "not_yours: item \(own) is that of person 2")
        // What only another one sees is as if it were not there.
        for call in [
            "edit_item(1, \(secret), 'x')", "remove_item(1, \(secret))",
            "complete_trip(1, '{\(secret)}', 5, 't', '2026-11-21')",
        ] {
            #expect(
                try await ground.refusal(call) == "P0002: no item of your group has the id "
                    + secret, "\(call)")
        }
        try await ground.call("edit_item(2, \(own), note => '', quantity => 6)")
        #expect(
            try await ground.rows("my_list(2)", "name, quantity, note")
                == ["(Beer,6,)", "(Gift,1,)"])
        // From one's own list to everybody's and back; what is everybody's all see.
        try await ground.call("edit_item(2, \(secret), is_communal => true)")
        #expect(try await ground.rows("communal_list(3)", "name") == ["Gift", "Oat milk"])
        try await ground.call(
            "edit_item(3, \(secret), is_communal => false, is_shared => false)")
        #expect(try await ground.rows("my_list(3)", "name, is_shared") == ["(Gift,f)"])
        for wrong in [
            "''", "quantity => 0", "note => repeat('x', 201)",
            "is_communal => true, is_shared => false",
        ] {
            #expect(
                try await ground.refusal("edit_item(3, \(secret), \(wrong))")?.prefix(5)
                    == "22023", "\(wrong)")
        }
        #expect(
            try await ground.refusal("add_item(1, 'x', true, is_shared => false)")?.prefix(5)
                == "22023")
        try await ground.call("remove_item(2, \(own))")
        #expect(
            try await ground.refusal("edit_item(2, \(own), 'x')")
                == "not_open: item \(own) is removed")
        // Who has it alone buys it.
        try await ground.call("complete_trip(3, '{\(secret)}', 5, 't', '2026-11-21')")
        #expect(try await ground.rows("my_list(3)").isEmpty)
    }

    // "select a pre-existing item: no list of names bought before".
    @Test func `names of items bought before can be selected`() async throws {
        let ground = try await HouseholdGround()
        for call in [
            "add_item(1, 'Tomatoes', true, 2, 'kg', 'on the vine')", "add_item(2, 'Beer', false)",
            "add_item(1, 'tomato', true, 1, 'kg')", "add_item(1, 'Toast', true)",
            "add_item(2, 'Plums', true)",
        ] { try await ground.call(call) }
        try await ground.call("remove_item(1, 5)")
        #expect(try await ground.rows("item_names(1)").isEmpty)
        try await ground.call("complete_trip(1, '{1,2}', 500, 'a', '2026-11-01')")
        try await ground.call("complete_trip(1, '{3}', 500, 'b', '2026-11-08')")
        #expect(
            try await ground.rows("item_names(1)") == [
                "(tomato,kg,\"on the vine\",2,2026-11-08)", "(Beer,\"\",,1,2026-11-01)",
            ])
        try await ground.call("complete_trip(1, '{4}', 500, 'c', '2026-11-09')")
        #expect(
            try await ground.rows("item_names(3, 'TO')", "name, times")
                == ["(Toast,1)", "(tomato,2)"])
        #expect(try await ground.rows("item_names(3, max_rows => 1)", "name") == ["Toast"])
    }
}
