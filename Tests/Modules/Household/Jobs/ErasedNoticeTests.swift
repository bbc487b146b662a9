import ErrandHousehold
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Notices of who is erased from a household", .database) struct ErasedNoticeTests {
    /// The kinds of notices to others than person 2, without their app, that have a word in their
    /// facts or their texts.
    private func kinds(_ ground: HomeGround, with word: String) async throws -> [String] {
        try await ground.texts(
            """
            SELECT DISTINCT replace(n.kind, 'household.', '') FROM notification.notices n
            LEFT JOIN notification.inbox_items i ON i.notice_id = n.id
            WHERE n.person_id <> 2 AND concat_ws(' ', n.data, i.title, i.body) ~ '\\m\(word)\\M'
            ORDER BY 1
            """)
    }

    /// Lets person 2, who is called Zyx, do what others are told of with the name.
    private func tell(_ ground: HomeGround) async throws {
        try await ground.call("set_name(2, 'Zyx')")
        let chore = try await ground.chore("(now() AT TIME ZONE 'UTC')::date", of: 2)
        let open = try await ground.number("SELECT household.add_chore(2, 'Tap')")
        let note = try await ground.number("SELECT household.add_note(1, 'Mine')")
        let bill = try await ground.number(
            "SELECT household.add_bill(2, 'Power', 900, '{1,2,3}', 'b', '2026-11-20')")
        let trip = try await ground.number(
            "SELECT household.complete_trip(2, '{}', 300, 't', '2026-11-20')")
        let payment = try await ground.number("SELECT household.paid(2, 1, 2, 1, 7, 'p')")
        for call in [
            "invite(2, 4)", "set_group(2, 'Flat 8')", "set_away(2, true)", "going_shopping(2)",
            "add_note(2, 'Hello')", "remove_note(2, \(note))",
        ] { try await ground.call(call) }
        try await ground.work()
        let now = Instant.now()
        _ = try await TakeChores.take(in: ground.pool, now: now)
        try await ground.call("set_away(2, false)")
        try await ground.work()
        let turn = try await ground.number(
            "SELECT id FROM household.occurrences WHERE chore_id = \(chore)")
        for call in [
            "edit_bill(2, \(bill), amount => 901)", "undo_payment(2, \(payment))",
            "edit_trip(2, \(trip), '{}', 301, 'equal', '{1,2,3}')", "remind_debtors(2)",
            "remind_of_chore(2, \(turn))", "set_rotation(2, \(chore), '{3,1,2}', true)",
            "notify_balances('{1}', date_trunc('month', now())::date - 1)",
        ] { try await ground.call(call) }
        try await ground.work()
        for call in [
            "take_over(2, \(turn))", "done(2, \(turn))", "remove_bill(2, \(bill))",
            "remove_trip(2, \(trip))", "remove_chore(2, \(open))",
        ] { try await ground.call(call) }
        try await ground.work()
    }

    // "Nothing brings it back": what others were told stays, but for what names the person.
    @Test func `the notices that name them are deleted, whatever they were called meanwhile`()
        async throws
    {
        let ground = try await HomeGround(people: 4, zone: "UTC")
        try await tell(ground)
        let told = try await kinds(ground, with: "Zyx")
        #expect(
            told == [
                "away", "back", "balances", "bill_added", "bill_edited", "bill_removed",
                "chore_added", "chore_done", "chore_reminder", "chore_removed",
                "chore_taken_over", "debt_reminder", "going_shopping", "group_changed", "invited",
                "note_added", "note_removed", "paid", "payment_undone", "rotation_changed",
                "trip_completed", "trip_edited", "trip_removed",
            ])
        // A name that is a word of many notices, such as those of other apps and of others.
        try await ground.call("set_name(2, 'your')")
        try await ground.call("add_note(2, 'Again')")
        try await ground.call("add_note(3, 'Is this your shoe?')")
        try await ground.work()
        _ = try await ground.session.query(
            """
            WITH coupon AS (
                INSERT INTO notification.notices (person_id, kind, subject, data, dedupe_key,
                    expires_at, app, status)
                VALUES (1, 'coupon.granted', 'coupon:1', '{"title": "your"}', 'c', 'infinity',
                    'coupons', 'sent')
                RETURNING *
            )
            INSERT INTO notification.inbox_items (notice_id, person_id, app, created_at, title,
                body)
            SELECT id, 1, app, now(), 'your', 'your coupon' FROM coupon
            """)
        let others = """
            SELECT count(*) FROM notification.notices
            WHERE (data -> 'named' @> '2') IS NOT TRUE
            """
        let stay = try await ground.number(others)
        try await ground.call("erase(2)")
        #expect(try await kinds(ground, with: "Zyx") == [])
        #expect(try await kinds(ground, with: "your").contains("coupon.granted"))
        #expect(
            try await ground.texts(
                """
                SELECT kind || ' ' || person_id FROM notification.notices
                WHERE data ->> 'body' ~ 'shoe' ORDER BY id
                """) == ["household.note_added 1", "household.note_added 2"])
        #expect(try await ground.number(others) == stay)
        #expect(try await ground.number("SELECT count(*) FROM notification.notices") == stay)
    }

    @Test func `what a job wrote meanwhile is deleted by the next pass, and news of them stay`()
        async throws
    {
        let ground = try await HomeGround()
        try await ground.call("add_bill(2, 'Power', 900, '{1,2,3}', 'b', '2026-11-20')")
        try await ground.call("erase(2)")
        // Of a job that had read the name before.
        _ = try await ground.session.query(
            """
            INSERT INTO notification.notices (person_id, kind, subject, data, dedupe_key,
                expires_at, app, status)
            VALUES (1, 'household.away', 'late', '{"by": "P2", "named": [2]}', 'late', 'infinity',
                'household', 'sent')
            """)
        try await ground.call(
            "notify_balances('{1}', date_trunc('month', now())::date - 1)")
        try await ground.work()
        let told = ["balances 1", "balances 3", "bill_added 1", "bill_added 3", "left 1", "left 3"]
        #expect(try await ground.told().sorted() == ["away 1"] + told)
        try await ground.call("erase(2)")
        #expect(try await ground.told().sorted() == told)
        #expect(try await kinds(ground, with: "P2") == [])
    }
}
