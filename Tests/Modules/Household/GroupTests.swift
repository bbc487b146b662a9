import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Groups of room-mates", .database) struct GroupTests {
    @Test func `a group is made, and its members invite others`() async throws {
        let ground = try await HouseholdGround(members: 1)
        #expect(
            try await ground.rows("my_group(1)", "group_id, name, time_zone, currency")
                == ["(1,\"Flat 7\",America/Toronto,CAD)"])
        let invitation = try await ground.number("SELECT household.invite(1, 2)")
        #expect(try await ground.number("SELECT household.invite(1, 2)") == invitation)
        #expect(
            try await ground.rows("invitations(2)", "invitation_id, group_id, inviter_id")
                == ["(\(invitation),1,1)"])
        #expect(
            try await ground.number(
                "SELECT (extract(epoch FROM expires_at - sent_at) / 86400)::bigint "
                    + "FROM household.invitations") == 14)
        #expect(try await ground.call("accept(2, \(invitation))") == "1")
        #expect(try await ground.rows("invitations(2)").isEmpty)
        #expect(try await ground.rows("roommates(1)", "person_id") == ["1", "2"])
        #expect(try await ground.told() == ["invited", "joined"])
    }

    @Test func `who is in a group already is not invited, and joins no other`() async throws {
        let ground = try await HouseholdGround(members: 2)
        try await ground.call("create_group(3, 'House', 'Asia/Tokyo', 'JPY')")
        #expect(
            try await ground.refusal("invite(1, 3)")
                == "in_another_group: person 3 is in another group already")
        #expect(
            try await ground.refusal("invite(1, 2)")
                == "in_your_group: person 2 is in your group already")
        #expect(
            try await ground.refusal("create_group(2, 'Mine', 'UTC')")
                == "in_a_group: person 2 is in group 1 already")
        let (first, second) = (
            try await ground.number("SELECT household.invite(1, 4)"),
            try await ground.number("SELECT household.invite(3, 4)")
        )
        try await ground.call("accept(4, \(second))")
        #expect(
            try await ground.refusal("accept(4, \(first))")
                == "in_a_group: person 4 is in group 2 already")
    }

    @Test func `invitations are declined, withdrawn, and lapse after 14 days`() async throws {
        let ground = try await HouseholdGround(members: 2)
        let ids = try await ground.texts(
            "SELECT household.invite(1, p)::text FROM generate_series(3, 6) p")
        try await ground.call("decline(3, \(ids[0]))")
        #expect(
            try await ground.refusal("accept(3, \(ids[0]))")
                == "not_open: invitation \(ids[0]) is declined")
        try await ground.call("withdraw_invitation(2, \(ids[1]))")
        #expect(
            try await ground.refusal("decline(4, \(ids[1]))")
                == "not_open: invitation \(ids[1]) is withdrawn")
        #expect(
            try await ground.refusal("accept(6, \(ids[2]))")
                == "P0002: person 6 has no invitation with the id \(ids[2])")
        #expect(try await ground.call("lapse_invitations(now() + interval '13 days')") == "0")
        #expect(try await ground.call("lapse_invitations(now() + interval '15 days')") == "2")
        #expect(
            try await ground.refusal("accept(5, \(ids[2]))")
                == "not_open: invitation \(ids[2]) is lapsed")
        #expect(try await ground.told().suffix(2) == ["invitation_lapsed", "invitation_lapsed"])
        // Past its time, and not swept up yet.
        let late = try await ground.number("SELECT household.invite(1, 3)")
        try await ground.session.script(
            "UPDATE household.invitations SET sent_at = sent_at - interval '15 days', "
                + "expires_at = expires_at - interval '15 days' WHERE id = \(late)")
        #expect(
            try await ground.refusal("accept(3, \(late))")
                == "not_open: invitation \(late) is lapsed")
        #expect(try await ground.rows("invitations(3)").isEmpty)
        #expect(try await ground.number("SELECT household.invite(1, 3)") > late)
    }

    @Test func `who moves out is told of, and debts stay readable and payable for both`()
        async throws
    {
        let ground = try await HouseholdGround()
        try await ground.bill(1, 900, [1, 2, 3])
        try await ground.call("add_item(3, 'Beer', false)")
        try await ground.call("add_item(3, 'Bread', true)")
        #expect(try await ground.call("leave(3)") == "1")
        #expect(try await ground.told().last == "left")
        #expect(try await ground.rows("shopping_list(1)", "name") == ["Bread"])
        #expect(try await ground.rows("debts(3)") == ["(1,1,-300,CAD)"])
        #expect(
            try await ground.rows("group_balances(1)", "debtor_id, amount") == [
                "(2,300)", "(3,300)",
            ])
        #expect(try await ground.refusal("feed(3)") == "no_group: person 3 is in no group")
        try await ground.call("create_group(3, 'Elsewhere', 'UTC')")
        try await ground.call("paid(3, 1, 3, 1, 300, 'p')")
        #expect(try await ground.rows("debts(3)").isEmpty)
        #expect(try await ground.balances() == ["2 owes 1 300"])
        // Back again, into the row that was.
        try await ground.call("leave(3)")
        try await ground.join(3)
        #expect(try await ground.number("SELECT count(*) FROM household.members") == 4)
    }

    @Test func `the last to leave ends what the group had under way`() async throws {
        let ground = try await HouseholdGround(members: 1)
        let chore = try await ground.chore()
        _ = try await ground.take(chore)
        let invitation = try await ground.number("SELECT household.invite(1, 2)")
        try await ground.call("leave(1)")
        #expect(
            try await ground.refusal("accept(2, \(invitation))")
                == "not_open: invitation \(invitation) is withdrawn")
        #expect(try await ground.texts("SELECT state FROM household.occurrences") == ["dropped"])
        #expect(
            try await ground.number(
                "SELECT count(*) FROM household.chores WHERE next_at IS NOT NULL") == 0)
    }

    @Test func `names, zones and currencies are looked at`() async throws {
        let ground = try await HouseholdGround(members: 0)
        for call in [
            "create_group(1, '', 'UTC')", "create_group(1, 'x', 'Mars/Base')",
            "create_group(1, 'x', 'America/Foo5')", "create_group(1, 'x', 'UTC', 'QQQ')",
            "create_group(1, 'x', NULL)", "create_group(1, E'a\\nb', 'UTC')",
        ] { #expect(try await ground.refusal(call)?.prefix(5) == "22023", "\(call)") }
        #expect(
            try await ground.refusal("create_group(99, 'x', 'UTC')")
                == "23503: no person has the id 99")
        try await ground.call("create_group(1, 'x', 'UTC')")
        #expect(try await ground.call("set_group(1)") == "false")
        #expect(try await ground.call("set_group(1, 'y', 'Asia/Tokyo')") == "true")
        #expect(try await ground.refusal("set_group(1, time_zone => 'Nowhere')") != nil)
        #expect(
            try await ground.texts(
                "SELECT args ->> 'time_zone' FROM errand.jobs WHERE kind = 'household.plan' "
                    + "ORDER BY id") == ["UTC", "Asia/Tokyo"])
        try await ground.session.script("UPDATE household.rules SET max_members = 2")
        try await ground.call("invite(1, 2)")
        #expect(try await ground.refusal("invite(1, 3)")?.prefix(8) == "too_many")
    }

    // "the feed of 30 is full of `item_added` after one shopping list": the last 30 *completed*
    // activities.
    @Test func `the feed keeps the last 30 completed activities, in 30 rows`() async throws {
        let ground = try await HouseholdGround(members: 2)
        for number in 1...40 {
            try await ground.call("add_item(2, 'Thing \(number)', true)")
            try await ground.bill(1, 100 + Int64(number), [1, 2])
        }
        // None of these is a completed activity.
        try await ground.call("invite(1, 3)")
        try await ground.call("add_chore(1, 'Dishes', '2027-01-01')")
        try await ground.call("set_rotation(1, 1, '{2,1}', true)")
        try await ground.call("set_group(1, 'Flat 8')")
        try await ground.call("edit_bill(1, 40, 'Gas')")
        try await ground.call("add_note(1, 'Hello')")
        let numbers = try await ground.texts("SELECT number::text FROM household.feed(1)")
        #expect(numbers == (12...41).reversed().map(String.init))
        #expect(try await ground.number("SELECT count(*) FROM household.events") == 30)
        #expect(
            try await ground.rows("feed(1)", "kind, person_id, title, amount, is_undone").first
                == "(bill_added,1,Gas,140,f)")
        #expect(
            try await ground.texts("SELECT DISTINCT kind FROM household.feed(2)")
                == ["bill_added"])
        // What goes on the list is not told.
        #expect(try await ground.told().prefix(3) == ["invited", "joined", "bill_added"])
    }

    // "Feed kinds: payments, chores done, trips, bills, joins and leaves".
    @Test func `payments, chores done, trips, bills, joins and leaves are activities`()
        async throws
    {
        let ground = try await HouseholdGround(members: 3)
        let turn = try await ground.take(try await ground.chore())
        try await ground.call("done(1, \(turn))")
        let bill = try await ground.bill(1, 600, [1, 2])
        try await ground.call("paid(2, 1, 2, 1, 200, 'p')")
        try await ground.call("complete_trip(2, '{}', 300, 't', '2026-11-20')")
        try await ground.call("leave(3)")
        #expect(
            try await ground.rows("feed(1)", "kind, person_id, title, amount, is_undone") == [
                "(left,3,,,f)", "(trip_completed,2,Groceries,300,f)", "(paid,2,,200,f)",
                "(bill_added,1,Power,600,f)", "(chore_done,1,Dishes,,f)", "(joined,3,,,f)",
                "(joined,2,,,f)",
            ])
        try await ground.call("undo_payment(1, 1)")
        try await ground.call("remove_bill(2, \(bill))")
        #expect(
            try await ground.rows("feed(1)", "kind, is_undone").filter { $0.hasSuffix(",t)") }
                == ["(paid,t)", "(bill_added,t)"])
    }

    // "`set_name` keeps what one is called; no function reads it back".
    @Test func `the name that one has set is read back`() async throws {
        let ground = try await HouseholdGround(members: 2)
        try await ground.call("set_name(1, 'Room 3')")
        #expect(try await ground.rows("my_group(1)", "group_id, called") == ["(1,\"Room 3\")"])
        #expect(try await ground.rows("my_group(2)", "group_id, called") == ["(1,)"])
        #expect(
            try await ground.rows("roommates(2)", "person_id, called, is_erased")
                == ["(1,\"Room 3\",f)", "(2,,f)"])
    }

    @Test func `who is to be erased, or too young, joins no group`() async throws {
        let ground = try await HouseholdGround(members: 1)
        let invitation = try await ground.call("invite(1, 2)")
        try await ground.session.script(
            """
            UPDATE people.people SET blocked_at = now() WHERE id IN (2, 3);
            UPDATE people.people SET birth_date = now() - interval '15 years' WHERE id = 4
            """)
        #expect(try await ground.refusal("accept(2, \(invitation))")?.prefix(7) == "blocked")
        #expect(try await ground.refusal("create_group(3, 'x', 'UTC')")?.prefix(7) == "blocked")
        #expect(try await ground.refusal("invite(1, 3)")?.prefix(7) == "blocked")
        #expect(try await ground.refusal("invite(1, 4)")?.prefix(9) == "under_age")
        try await ground.call("block(2)")
        #expect(try await ground.rows("invitations(1)").isEmpty)
        #expect(
            try await ground.refusal("accept(2, \(invitation))")
                == "not_open: invitation \(invitation) is withdrawn")
    }
}
