-- Who may do what in the schema household.

SELECT errand.grant_rights('household', '{
    "notes": ["body"],
    "bills": ["receipt"]
}');

-- Settings are an operator's.
REVOKE INSERT, UPDATE, DELETE ON household.rules FROM errand_worker;
GRANT EXECUTE ON FUNCTION household.debts(bigint) TO errand_inspector;

GRANT USAGE ON SCHEMA household TO errand_app;
GRANT EXECUTE ON FUNCTION
    household.feed(bigint),
    household.create_group(bigint, text, text, text),
    household.set_group(bigint, text, text),
    household.my_group(bigint),
    household.set_name(bigint, text),
    household.roommates(bigint),
    household.invite(bigint, bigint),
    household.invitations(bigint),
    household.accept(bigint, bigint),
    household.decline(bigint, bigint),
    household.withdraw_invitation(bigint, bigint),
    household.leave(bigint),
    household.add_bill(bigint, text, bigint, bigint[], text, date, text, bigint[], bigint),
    household.edit_bill(bigint, bigint, text, bigint, bigint[], text, bigint[], bigint, date),
    household.remove_bill(bigint, bigint),
    household.bills(bigint, date, bigint, int),
    household.paid(bigint, bigint, bigint, bigint, bigint, text),
    household.undo_payment(bigint, bigint),
    household.group_balances(bigint),
    household.debts(bigint),
    household.debt_lines(bigint, bigint, bigint, timestamptz, bigint, int),
    household.simplify(bigint),
    household.add_chore(bigint, text, date, text, text, int, time, bigint[], boolean),
    household.change_chore(bigint, bigint, text, date, text, text, int, time, boolean),
    household.remove_chore(bigint, bigint),
    household.set_rotation(bigint, bigint, bigint[], boolean),
    household.set_away(bigint, boolean),
    household.forgive_turns(bigint, bigint, bigint),
    household.done(bigint, bigint, timestamptz),
    household.skip(bigint, bigint),
    household.take_over(bigint, bigint),
    household.chores(bigint),
    household.occurrences(bigint, date, date),
    household.rotation(bigint, bigint),
    household.stats(bigint, date, date, text),
    household.add_item(bigint, text, boolean, numeric, text),
    household.remove_item(bigint, bigint),
    household.shopping_list(bigint),
    household.going_shopping(bigint),
    household.complete_trip(bigint, bigint[], bigint, text, date, text, bigint[], bigint[],
        bigint[], text, text),
    household.edit_trip(bigint, bigint, bigint[], bigint, text, bigint[], bigint[], bigint[],
        text),
    household.remove_trip(bigint, bigint),
    household.add_note(bigint, text, timestamptz),
    household.remove_note(bigint, bigint),
    household.notes(bigint),
    household.remind_debtors(bigint, bigint),
    household.remind_of_chore(bigint, bigint),
    household.report_failed_session(bigint, text)
TO errand_app;
