import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Who may do what to households", .database) struct HouseholdRightsTests {
    @Test func `the app's servers call functions, and read no table`() async throws {
        let ground = try await HouseholdGround()
        let (session, _) = try await TestDatabase.here().login(as: "errand_app")
        for call in [
            "household.feed(1)", "household.my_group(1)", "household.roommates(1)",
            "household.invitations(1)", "household.bills(1)", "household.group_balances(1)",
            "household.debts(1)", "household.debt_lines(1, 1, 2)", "household.simplify(1)",
            "household.chores(1)", "household.rotation(1, 1)", "household.shopping_list(1)",
            "household.communal_list(1)", "household.my_list(1)", "household.item_names(1)",
            "household.chore_catalogue(1)", "household.add_to_catalogue(1, 'x')",
            "household.open_chores(1)", "household.trips(1)", "household.trip_items(1, 1)",
            "household.payments(1)", "household.remind_debtors(1)",
            "household.spending(1, '2026-01-01', '2027-01-01')",
            "household.notes(1)", "household.invite(1, 5)", "household.add_note(1, 'x')",
            "household.add_bill(1, 'x', 100, '{1,2}', 'r', '2026-11-20')",
            "household.add_chore(1, 'x', '2026-11-20')", "household.add_item(1, 'x', true)",
            "household.complete_trip(1, '{1}', 100, 't', '2026-11-20')",
            "household.paid(1, 1, 2, 1, 5, 'p')", "household.going_shopping(1)",
            "household.set_away(1, true)", "household.leave(1)",
        ] { #expect(try await ground.sqlState("SELECT * FROM \(call)", in: session) == nil) }
        let tables = try await ground.texts(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'household'")
        #expect(tables.count == 19)
        for table in tables {
            #expect(
                try await ground.sqlState("SELECT * FROM household.\(table)", in: session)
                    == "42501", "\(table)")
        }
        for call in [
            "due_groups()", "due_chores()", "take(1, '2026-11-20', now())", "expire_notes()",
            "lapse_invitations()", "remind_overdue()", "plan_chore(1, 1, NULL, NULL)",
            "happened(1, 'x', 1)", "post_debts(1, 'k', 'x', 'x:1', 1, '{2}', '{5}')",
            "reverse_debts(1, 'x')", "set_month_end('UTC', '2027-01-31', now())", "balances('{1}')",
            "forget_sessions(now(), 1, true)", "forget_items(now(), 1, true)",
            "forget_invitations(now(), 1, true)", "forget_requests(now(), 1, true)",
            "erase(1)", "personal_data(1)", "block(1)",
            "move_out(1, 1)", "move_in(1, 5, now())", "enter(1)", "rotate(1, 1, '{1}')",
            "fail_zone('UTC', 'x', now())", "fail_unplanned()", "debtors('{1}', '2027-01-31')",
        ] {
            #expect(
                try await ground.sqlState("SELECT household.\(call)", in: session) == "42501",
                "\(call)")
        }
        let (till, _) = try await TestDatabase.here().login(as: "errand_till")
        #expect(try await ground.sqlState("SELECT household.feed(1)", in: till) == "42501")
        await session.close()
        await till.close()
    }

    @Test func `nobody reaches into another group`() async throws {
        let ground = try await HouseholdGround()
        let chore = try await ground.chore()
        let turn = try await ground.take(chore)
        let bill = try await ground.bill(1, 100, [1, 2])
        let payment = try await ground.call("paid(1, 1, 2, 1, 5, 'p')")
        let item = try await ground.call("add_item(1, 'x', true)")
        let note = try await ground.call("add_note(1, 'x')")
        let invitation = try await ground.call("invite(1, 9)")
        try await ground.call("create_group(4, 'Other', 'UTC')")
        for call in [
            "edit_bill(4, \(bill), 'y')", "remove_bill(4, \(bill))",
            "undo_payment(4, \(payment))", "remove_item(4, \(item))",
            "complete_trip(4, '{\(item)}', 5, 't', '2026-11-20')", "done(4, \(turn))",
            "skip(4, \(turn))", "take_over(4, \(turn))", "remove_chore(4, \(chore))",
            "set_rotation(4, \(chore), '{4}', true)", "forgive_turns(4, \(chore), 1)",
            "edit_item(4, \(item), 'y')", "add_trip_item(4, \(bill), 'y')",
            "edit_trip_item(4, \(item), 'y')", "remove_trip_item(4, \(item))",
            "remind_of_chore(4, \(turn))", "withdraw_invitation(4, \(invitation))",
            "accept(4, \(invitation))", "edit_trip(4, \(bill), '{}', 5, 'equal', '{4}')",
        ] { #expect(try await ground.refusal(call)?.prefix(5) == "P0002", "\(call)") }
        #expect(try await ground.call("remove_note(4, \(note))") == "false")
        #expect(try await ground.refusal("paid(4, 1, 4, 1, 5, 'q')")?.hasPrefix("never") == true)
        #expect(try await ground.rows("rotation(4, \(chore))").isEmpty)
        #expect(try await ground.rows("debt_lines(4, 1, 1)").isEmpty)
        for call in [
            "bills(4)", "trips(4)", "trip_items(4, \(bill))", "open_chores(4)", "communal_list(4)",
            "shopping_list(4)", "payments(4)", "item_names(4)",
        ] { #expect(try await ground.rows(call).isEmpty, "\(call)") }
        #expect(try await ground.call("remove_from_catalogue(4, 22)") == "false")
    }
}
