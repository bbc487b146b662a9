import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Trips and sums of room-mates", .database) struct TripTests {
    // "A completed trip cannot be read back: no function lists its items".
    @Test func `completed trips are read back with their items`() async throws {
        let ground = try await HouseholdGround()
        for call in [
            "add_item(1, 'Milk', true, 2, 'l', 'oat')", "add_item(2, 'Beer', false)",
            "add_item(3, 'Tea', true)",
        ] { try await ground.call(call) }
        let trip = try await ground.call(
            "complete_trip(1, '{1,2}', 900, 't', '2026-11-21', prices => '{300,NULL}')")
        try await ground.call("complete_trip(2, '{}', 300, 'u', '2026-11-22')")
        #expect(
            try await ground.rows(
                "trips(3)", "trip_id, spent_on, amount, payer_id, persons, shares")
                == [
                    "(2,2026-11-22,300,2,\"{1,2,3}\",\"{100,100,100}\")",
                    "(\(trip),2026-11-21,900,1,\"{1,2,3}\",\"{300,300,300}\")",
                ])
        #expect(
            try await ground.texts(
                """
                SELECT string_agg(concat_ws(' ', i ->> 'name', i ->> 'quantity', i ->> 'unit',
                    i ->> 'note', i ->> 'price', i ->> 'owner_id'), ', ')
                FROM household.trips(3) t CROSS JOIN jsonb_array_elements(t.items) i
                WHERE t.trip_id = \(trip)
                """) == ["Milk 2 l oat 300, Beer 1  2"])
        #expect(
            try await ground.rows("trip_items(2, \(trip))") == [
                "(1,Milk,2,l,oat,300,,1)", "(2,Beer,1,\"\",,,2,2)",
            ])
        #expect(try await ground.rows("trips(3, '2026-11-22', 2)", "trip_id") == [trip])
        #expect(try await ground.rows("trips(3, max_rows => 1)", "trip_id") == ["2"])
        try await ground.call("remove_trip(1, \(trip))")
        #expect(try await ground.rows("trips(3)", "trip_id") == ["2"])
    }

    // "edit it ("delete, add, or revise item"), told: (…) an item that was not on the list must be
    // added to it first".
    @Test func `items of a trip are deleted, added and revised one by one`() async throws {
        let ground = try await HouseholdGround()
        try await ground.call("add_item(1, 'Milk', true)")
        try await ground.call("add_item(2, 'Beer', false)")
        let trip = try await ground.call(
            "complete_trip(1, '{1,2}', 900, 't', '2026-11-21', 'items', prices => '{300,300}')")
        #expect(try await ground.shares(1) == [150, 600, 150])
        // What was on no list.
        let tea = try await ground.call(
            "add_trip_item(2, \(trip), 'Tea', price => 600, owner => 3)")
        #expect(try await ground.shares(1) == [75, 300, 525])
        #expect(
            try await ground.call("edit_trip_item(3, \(tea), price => 300, note => 'green')")
                == "3")
        #expect(try await ground.shares(1) == [100, 400, 400])
        #expect(
            try await ground.rows("trip_items(1, \(trip))", "name, note, price, owner_id")
                == ["(Milk,,300,)", "(Beer,,300,2)", "(Tea,green,300,3)"])
        #expect(try await ground.call("remove_trip_item(1, \(tea))") == "4")
        #expect(try await ground.shares(1) == [150, 600, 150])
        // It was not bought after all.
        #expect(try await ground.call("remove_trip_item(1, 1, true)") == "5")
        #expect(try await ground.rows("shopping_list(1)", "name") == ["Milk"])
        #expect(try await ground.balances() == ["2 owes 1 900"])
        #expect(
            try await ground.refusal("remove_trip_item(1, 2)")
                == "22023: split: expected items, to split by whose they are")
        #expect(try await ground.told().filter { $0 == "trip_edited" }.count == 4)
        #expect(try await ground.number("SELECT sum(amount)::bigint FROM ledger.balances") == 0)
        // What was entered with the trip does not go to the list with it.
        try await ground.call("add_trip_item(2, \(trip), 'Salt')")
        try await ground.call("remove_trip(1, \(trip))")
        #expect(try await ground.rows("shopping_list(1)", "name") == ["Beer", "Milk"])
        #expect(try await ground.refusal("add_trip_item(2, \(trip), 'x')")?.prefix(7) == "removed")
        #expect(try await ground.refusal("edit_trip_item(2, 2, 'x')")?.prefix(5) == "P0002")
    }

    @Test func `items of a trip that is split otherwise change no money`() async throws {
        let ground = try await HouseholdGround()
        let trip = try await ground.call("complete_trip(1, '{}', 900, 't', '2026-11-21')")
        let item = try await ground.call("add_trip_item(2, \(trip), 'Tea', 2, 'kg', 600)")
        #expect(try await ground.call("edit_trip_item(2, \(item), 'Coffee')") == "1")
        #expect(try await ground.call("remove_trip_item(2, \(item))") == "1")
        #expect(try await ground.number("SELECT count(*) FROM ledger.transactions") == 1)
        #expect(try await ground.rows("trip_items(1, \(trip))").isEmpty)
        for wrong in ["''", "'x', 0", "'x', price => -1", "'x', note => ''"] {
            #expect(
                try await ground.refusal("add_trip_item(2, \(trip), \(wrong))")?.prefix(5)
                    == "22023")
        }
        #expect(
            try await ground.refusal("add_trip_item(2, \(trip), 'x', owner => 9)")
                == "not_a_member: person 9 is not in your group")
        let split = try await ground.call(
            """
            complete_trip(1, ARRAY[household.add_item(1, 'Milk', true)], 90, 'u', '2026-11-21',
                'items', '{1,2}')
            """)
        #expect(
            try await ground.refusal("add_trip_item(2, \(split), 'x', owner => 3)")?.prefix(9)
                == "not_among")
    }

    // "graph of expenses: sums by payer and month".
    @Test func `what was spent is summed up by payer and month`() async throws {
        let ground = try await HouseholdGround()
        try await ground.bill(1, 900, [1, 2, 3])
        try await ground.call("complete_trip(2, '{}', 300, 't', '2026-11-02')")
        try await ground.call("add_bill(2, 'Gas', 500, '{1}', 'r', '2026-10-31')")
        let removed = try await ground.bill(3, 700, [1, 2])
        try await ground.call("remove_bill(3, \(removed))")
        #expect(
            try await ground.rows("spending(3, '2026-10-01', '2026-12-01')") == [
                "(2026-10-01,1,0,500,0,0)", "(2026-10-01,2,500,0,1,0)",
                "(2026-11-01,1,900,400,1,0)", "(2026-11-01,2,300,400,0,1)",
                "(2026-11-01,3,0,400,0,0)",
            ])
        #expect(
            try await ground.rows("spending(3, '2026-10-01', '2026-11-01', 'year')", "begins_on")
                == ["2026-01-01", "2026-01-01"])
        #expect(
            try await ground.refusal("spending(3, '2026-10-01', '2026-11-01', 'x')")?.prefix(5)
                == "22023")
    }

    // "a list of my open payments to undo (household.payments; ids come from feed only)".
    @Test func `the payments of a person are listed, and those that stand can be undone`()
        async throws
    {
        let ground = try await HouseholdGround()
        try await ground.call("paid(2, 1, 2, 1, 100, 'p')")
        try await ground.call("paid(3, 1, 1, 3, 50, 'q')")
        try await ground.call("paid(3, 1, 3, 2, 70, 'r')")
        try await ground.call("leave(1)")
        #expect(
            try await ground.rows(
                "payments(1)", "payment_id, from_id, to_id, amount, currency, entered_by")
                == ["(2,1,3,50,CAD,3)", "(1,2,1,100,CAD,2)"])
        try await ground.call("undo_payment(1, 1)")
        #expect(
            try await ground.rows("payments(1)", "payment_id, undone_at IS NULL")
                == ["(2,t)", "(1,f)"])
        #expect(try await ground.rows("payments(3)", "payment_id") == ["3", "2"])
        #expect(try await ground.rows("payments(3, 3)", "payment_id") == ["2"])
        #expect(try await ground.rows("payments(3, max_rows => 1)", "payment_id") == ["3"])
        #expect(try await ground.rows("payments(4)").isEmpty)
    }
}
