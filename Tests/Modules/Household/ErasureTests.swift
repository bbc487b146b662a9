import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Erasure of a room-mate", .database) struct ErasureTests {
    /// A group in which person 2 has left something everywhere.
    private func filled() async throws -> HouseholdGround {
        let ground = try await HouseholdGround(members: 3)
        let chore = try await ground.chore()
        let turn = try await ground.take(chore)
        for call in [
            "set_name(2, 'Secretive')", "add_note(2, 'Secret note')",
            "add_note(1, 'Stays')", "invite(2, 4)",
            "add_item(2, 'Secret item', false)",
            "add_item(2, 'Bread', true, note => 'Secret kind')",
            "add_item(2, 'Wine', false, note => 'Secret brand')",
            "complete_trip(1, '{3}', 300, 't', '2026-11-20')",
            "add_bill(2, 'Power', 900, '{1,2,3}', 'secret b', '2026-11-20', receipt => 'secret')",
            "add_bill(1, 'Net', 90, '{1,2,3}', 'c', '2026-11-20', payer => 2, receipt => 'secret')",
            "add_bill(1, 'Gas', 90, '{1,2,3}', 'd', '2026-11-20', receipt => 'gas.jpg')",
            "paid(1, 1, 1, 2, 50, 'p')", "paid(2, 1, 2, 3, 5, 'secret p')",
            "report_failed_session(2, 'secret-session')",
            "done(2, \(turn), words => 'Secret words', picture => 'secret.jpg')",
            "add_chore(1, 'Oven', persons => '{2,3}')",
        ] { try await ground.call(call) }
        return ground
    }

    /// Counts by action, for what is not zero.
    private func erased(_ ground: HouseholdGround, _ person: Int64) async throws -> [String] {
        try await ground.texts(
            """
            SELECT concat_ws(' ', action, replace(object, 'household.', ''), rows)
            FROM household.erase(\(person)) WHERE rows > 0 ORDER BY action, object
            """)
    }

    @Test func `an erased person leaves, and sums and debts of others stay`() async throws {
        let ground = try await filled()
        let (balances, shares) = (try await ground.balances(), try await ground.shares(2))
        #expect(
            try await erased(ground, 2) == [
                "anonymized bills 2", "anonymized items 2", "anonymized members 1",
                "anonymized occurrences 1", "anonymized payments 1", "deleted failed_sessions 1",
                "deleted invitations 2", "deleted items 1", "deleted notes 1", "kept bills 2",
                "kept events 5", "kept items 2", "kept occurrences 2", "kept payments 2",
                "kept shares 4", "kept sides 4",
            ])
        // What others wrote stays.
        #expect(
            try await ground.rows("bills(1)", "title, receipt")
                == ["(Gas,gas.jpg)", "(Net,)", "(Power,)", "(Groceries,)"])
        #expect(
            try await ground.refusal("add_bill(1, 'Gaz', 90, '{1}', 'd', '2026-11-20')")?.prefix(5)
                == "23505")
        #expect(try await ground.balances() == balances)
        #expect(try await ground.shares(2) == shares)
        #expect(try await ground.number("SELECT sum(amount)::bigint FROM ledger.balances") == 0)
        #expect(
            try await ground.rows("roommates(1)", "person_id, called, is_erased")
                == ["(1,,f)", "(3,,f)", "(2,,t)"])
        #expect(try await ground.call("name_of(1, 2)") == "Former room-mate")
        #expect(try await ground.rows("my_group(2)").isEmpty)
        // Their turn is another one's now.
        #expect(try await ground.rows("open_chores(1)", "assignee_id") == ["3"])
        #expect(try await ground.rows("notes(1)", "body") == ["Stays"])
        #expect(try await ground.rows("shopping_list(1)", "name") == ["Bread"])
        // Nothing that they wrote is left in any table of the module.
        for table in try await ground.texts(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'household'")
        {
            #expect(
                try await ground.number(
                    "SELECT count(*) FROM household.\(table) t WHERE t::text ~* 'secret'") == 0,
                "\(table)")
        }
        // The same again deletes nothing.
        #expect(try await erased(ground, 2).filter { !$0.hasPrefix("kept") } == [])
        #expect(try await ground.call("paid(3, 1, 3, 2, 300, 'q')") != "null")
    }

    @Test func `the last member of a group takes its texts along`() async throws {
        let ground = try await HouseholdGround(members: 2)
        try await ground.bill(1, 900, [1, 2], "receipt => 'secret.jpg'")
        for call in [
            "add_chore(1, 'Secret chore')", "add_item(1, 'Secret', true)",
            "set_group(1, 'Secret flat')", "leave(2)",
        ] { try await ground.call(call) }
        _ = try await erased(ground, 1)
        #expect(try await ground.texts("SELECT name FROM household.groups") == ["Secret flat"])
        _ = try await erased(ground, 2)
        #expect(
            try await ground.texts(
                """
                SELECT concat_ws(' ', g.name, b.title, b.receipt, b.amount)
                FROM household.groups g JOIN household.bills b ON b.group_id = g.id
                """) == ["Former group Erased 900"])
        #expect(
            try await ground.number(
                """
                SELECT (SELECT count(*) FROM household.chores t WHERE t::text ~* 'secret')
                    + (SELECT count(*) FROM household.items t WHERE t::text ~* 'secret')
                    + (SELECT count(*) FROM household.catalogue t WHERE t::text ~* 'secret')
                """) == 0)
        #expect(try await erased(ground, 2).filter { !$0.hasPrefix("kept") } == [])
    }

    @Test func `all that is known of a person can be read`() async throws {
        let ground = try await filled()
        let data = try await ground.texts(
            """
            SELECT string_agg(d.key || ' ' || jsonb_array_length(d.value), ', ' ORDER BY d.key)
            FROM jsonb_each(household.personal_data(2)) d
            """)
        #expect(
            data == [
                "bills 2, debts 2, events 4, failed_sessions 1, invitations 2, items 3, "
                    + "members 1, notes 1, occurrences 2, payments 2, shares 4, turns 2"
            ])
        #expect(try await ground.call("personal_data(9)") == "{}")
        #expect(
            try await ground.texts(
                "SELECT position || ' ' || blocks FROM people.holders WHERE module = 'household'")
                == ["20 true"])
    }

    // "Each erasure that empties a group reads the whole table household.items, twice."
    @Test func `items of other groups are not read when a group is emptied`() async throws {
        let ground = try await HouseholdGround(members: 1)
        try await ground.call("create_group(5, 'Other', 'UTC')")
        try await ground.call("add_item(1, 'Secret', true, note => 'Secret')")
        try await ground.session.script(
            """
            INSERT INTO household.items (group_id, added_by, added_at, quantity, name, name_key,
                state)
            SELECT 2, 5, now(), 1, 'Tea', 'tea',
                CASE n % 2 WHEN 0 THEN 'open' ELSE 'removed' END::household.item_state
            FROM generate_series(1, 20000) n;
            ANALYZE household.items
            """)
        for _ in 1...2 {
            let scans = try await ground.session.transaction { session in
                _ = try session.query("SELECT household.erase(1)")
                return try session.query(
                    "SELECT pg_stat_get_xact_numscans('household.items'::regclass)"
                ).int64(0, 0)
            }
            #expect(scans == 0)
        }
        #expect(
            try await ground.texts(
                "SELECT name || coalesce(note, '') FROM household.items WHERE group_id = 1")
                == ["Erased"])
    }

    @Test func `no failed session is noted of who is to be erased, whatever the age`()
        async throws
    {
        let ground = try await HouseholdGround(members: 0)
        try await ground.session.script(
            """
            UPDATE people.people SET blocked_at = now() WHERE id IN (1, 2);
            UPDATE people.people SET birth_date = current_date - 3000 WHERE id = 2
            """)
        for (person, obstacle) in [(1, "blocked"), (2, "under_age"), (3, "no_birth_date")] {
            #expect(try await ground.texts("SELECT people.obstacle(\(person))") == [obstacle])
            #expect(
                try await ground.call("report_failed_session(\(person), 's')")
                    == (person == 3 ? "true" : "false"))
        }
        #expect(
            try await ground.texts("SELECT person_id::text FROM household.failed_sessions")
                == ["3"])
        #expect(try await ground.told() == ["session_failed"])
    }

    @Test func `an open invitation of a blocked person is withdrawn`() async throws {
        let ground = try await HouseholdGround(members: 2)
        try await ground.call("invite(1, 5)")
        try await ground.call("invite(2, 6)")
        try await ground.call("block(2)")
        try await ground.call("block(5)")
        try await ground.call("block(5)")
        #expect(
            try await ground.texts(
                "SELECT state FROM household.invitations WHERE invitee_id > 4 ORDER BY id")
                == ["withdrawn", "withdrawn"])
    }
}
