import Foundation
import ErrandHousehold
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("What room-mates are told", .database) struct TellingTests {
    @Test func `who comes, goes and is away is told to the others`() async throws {
        let ground = try await HomeGround()
        let invitation = try await ground.number("SELECT household.invite(1, 4)")
        try await ground.work()
        #expect(try await ground.told() == ["invited 4"])
        #expect(try await ground.words().last?.hasPrefix("P1 invites you to Flat 7") == true)
        try await ground.forget()
        try await ground.call("accept(4, \(invitation))")
        try await ground.call("set_away(2, true)")
        try await ground.work()
        #expect(
            try await ground.told().sorted()
                == ["away 1", "away 3", "away 4", "joined 1", "joined 2", "joined 3"])
        try await ground.forget()
        try await ground.call("set_away(2, false)")
        try await ground.call("leave(3)")
        try await ground.call("set_group(1, 'Flat 8')")
        try await ground.work()
        #expect(
            try await ground.told().sorted() == [
                "back 1", "back 4", "group_changed 2", "group_changed 4", "left 1", "left 2",
                "left 4",
            ])
        try await ground.forget()
        let no = try await ground.number("SELECT household.invite(1, 5)")
        try await ground.call("decline(5, \(no))")
        _ = try await ground.number("SELECT household.invite(2, 6)")
        try await ground.work()
        let counts = try await SweepHouseholds.sweep(
            in: ground.pool, now: .now().adding(.seconds(15 * 86_400)))
        #expect(counts == ["lapse_invitations": 1])
        try await ground.work()
        // Who has declined is not told any more that they were invited.
        #expect(
            try await ground.told().sorted()
                == ["invitation_declined 1", "invitation_lapsed 2", "invited 6"])
        try await ground.forget()
        try await ground.repeatAll()
        #expect(try await ground.told().isEmpty)
    }

    @Test func `bills, trips and payments are told to those whom they concern`() async throws {
        let ground = try await HomeGround()
        let bill = try await ground.number(
            "SELECT household.add_bill(1, 'Power', 1000, ARRAY[1,2], 'r1', '2026-11-20')")
        try await ground.work()
        #expect(try await ground.told() == ["bill_added 2"])
        #expect(
            try await ground.words().last
                == "Power: CA$10.00: P1 added this bill. Your share is CA$5.00.")
        try await ground.forget()
        // Who bears nothing any more is told of it too.
        try await ground.call(
            "edit_bill(1, \(bill), 'Power', 900, ARRAY[1,3], 'equal', NULL)")
        try await ground.work()
        #expect(try await ground.told().sorted() == ["bill_edited 2", "bill_edited 3"])
        try await ground.forget()
        // Who had paid it by mistake, and bears nothing of it, is told of that.
        let other = try await ground.number(
            """
            SELECT household.add_bill(1, 'Net', 600, ARRAY[1,3], 'r2', '2026-11-20', payer => 2)
            """)
        try await ground.work()
        try await ground.forget()
        try await ground.call("edit_bill(1, \(other), payer => 1)")
        try await ground.work()
        #expect(try await ground.told().sorted() == ["bill_edited 2", "bill_edited 3"])
        try await ground.forget()
        try await ground.call("remove_bill(1, \(other))")
        try await ground.work()
        try await ground.forget()
        try await ground.call("remove_bill(1, \(bill))")
        let payment = try await ground.number(
            "SELECT household.paid(2, 1, 2, 1, 500, 'p1')")
        try await ground.work()
        #expect(
            try await ground.told().sorted() == ["bill_removed 3", "paid 1"])
        try await ground.forget()
        try await ground.call("undo_payment(1, \(payment))")
        try await ground.call("going_shopping(3)")
        try await ground.call("going_shopping(3)")
        let item = try await ground.number("SELECT household.add_item(2, 'Milk', false)")
        let trip = try await ground.number(
            """
            SELECT household.complete_trip(3, ARRAY[\(item)], 600, 't1', '2026-11-20')
            """)
        try await ground.work()
        #expect(
            try await ground.told().sorted() == [
                "going_shopping 1", "going_shopping 2", "payment_undone 2", "trip_completed 1",
                "trip_completed 2",
            ])
        try await ground.forget()
        try await ground.call(
            "edit_trip(3, \(trip), ARRAY[\(item)], 900, 'equal', ARRAY[1,2,3])")
        try await ground.work()
        try await ground.call("remove_trip(3, \(trip))")
        try await ground.work()
        try await ground.repeatAll()
        #expect(
            try await ground.told().sorted() == [
                "trip_edited 1", "trip_edited 2", "trip_removed 1", "trip_removed 2",
            ])
    }

    @Test func `chores are told to whose turn it is, and what they did to the others`()
        async throws
    {
        let ground = try await HomeGround(zone: "UTC")
        let chore = try await ground.chore("(now() AT TIME ZONE 'UTC')::date, 'FREQ=YEARLY'")
        #expect(try await ground.told() == ["chore_added 2", "chore_added 3"])
        try await ground.forget()
        // What is due today is told to be overdue a day later.
        let now = Instant.now()
        _ = try await TakeChores.take(in: ground.pool, now: now)
        #expect(try await SweepHouseholds.sweep(in: ground.pool, now: now) == [:])
        try await ground.work()
        #expect(try await ground.told() == ["chore_due 1"])
        try await ground.forget()
        let later = now.adding(.seconds(86_401))
        #expect(
            try await SweepHouseholds.sweep(in: ground.pool, now: later) == ["remind_overdue": 1])
        try await ground.work()
        #expect(try await ground.told() == ["chore_overdue 1"])
        try await ground.forget()
        let turn = try await ground.number("SELECT id FROM household.occurrences")
        try await ground.call("take_over(2, \(turn))")
        try await ground.work()
        #expect(
            try await ground.told().sorted() == ["chore_taken_over 1", "chore_taken_over 3"])
        try await ground.forget()
        try await ground.call("set_away(2, true)")
        try await ground.work()
        let assignee = try await ground.number("SELECT assignee_id FROM household.occurrences")
        #expect(
            try await ground.told().filter { $0.hasPrefix("chore") }
                == ["chore_handed_over \(assignee)"])
        try await ground.forget()
        try await ground.call("done(\(assignee), \(turn))")
        try await ground.work()
        try await ground.repeatAll()
        #expect(
            try await ground.told().sorted()
                == ["chore_done 1", "chore_done 2", "chore_done 3"].filter {
                    $0 != "chore_done \(assignee)"
                })
        try await ground.forget()
        try await ground.call("remove_chore(1, \(chore))")
        try await ground.work()
        #expect(try await ground.told() == ["chore_removed 2", "chore_removed 3"])
    }

    @Test func `automatic reminders wait for the person's own time, and not for what is done`()
        async throws
    {
        let ground = try await HomeGround(members: 2, zone: "UTC")
        // Where it is not yet noon, so that their own time is still to come.
        let hour = Int(Date().timeIntervalSince1970) / 3_600 % 24
        let zone = hour < 12 ? "UTC" : "Pacific/Honolulu"
        _ = try await ground.session.query(
            "UPDATE people.people SET time_zone = $1, notice_time = '23:00'", [.text(zone)])
        _ = try await ground.chore("(now() AT TIME ZONE 'UTC')::date + 3, at_time => '12:00'")
        try await ground.forget()
        _ = try await TakeChores.take(in: ground.pool, now: .now().adding(.seconds(3 * 86_400)))
        try await ground.work()
        let held =
            "SELECT status::text FROM notification.notices WHERE kind = 'household.chore_due'"
        #expect(try await ground.texts(held) == ["held"])
        try await ground.call(
            "done(2, \(try await ground.number("SELECT id FROM household.occurrences")))")
        try await ground.work()
        #expect(try await ground.texts(held) == ["withdrawn"])
    }

    @Test func `people remind each other as often as the policy allows`() async throws {
        let ground = try await HomeGround()
        try await ground.call("add_bill(1, 'Power', 900, ARRAY[1,2,3], 'r1', '2026-11-20')")
        try await ground.work()
        try await ground.forget()
        try await ground.call("remind_debtors(1)")
        try await ground.work()
        #expect(try await ground.told().sorted() == ["debt_reminder 2", "debt_reminder 3"])
        // Who asks learns that it is too soon, and until when.
        #expect(
            try await ground.texts(
                """
                SELECT r.reason || ' ' || (r.next_at = n.created_at + interval '1 day')
                FROM household.remind_debtors(1, 2) r JOIN notification.notices n
                    ON n.person_id = 2 AND n.sender_id = 1
                """) == ["too_soon true"])
        try await ground.work()
        #expect(try await ground.told().count == 2)
        // Who has paid meanwhile is not reminded.
        try await ground.call("paid(3, 1, 3, 1, 300, 'p1')")
        #expect(
            try await ground.texts(
                "SELECT debtor_id || ' ' || reason FROM household.remind_debtors(1)")
                == ["2 too_soon"])
        try await ground.work()
        #expect(
            try await ground.number(
                "SELECT count(*) FROM notification.notices WHERE status = 'refused'") == 0)
        // Of a turn.
        _ = try await ground.chore("(now() AT TIME ZONE 'UTC')::date - 1", of: 2)
        _ = try await TakeChores.take(in: ground.pool, now: .now())
        try await ground.work()
        try await ground.forget()
        let turn = try await ground.number("SELECT id FROM household.occurrences")
        let assignee = try await ground.number("SELECT assignee_id FROM household.occurrences")
        for reason in ["ok", "too_soon"] {
            #expect(
                try await ground.texts(
                    "SELECT reason FROM household.remind_of_chore(\(assignee % 3 + 1), \(turn))")
                    == [reason])
            try await ground.work()
        }
        #expect(try await ground.told() == ["chore_reminder \(assignee)"])
    }

    @Test func `notes go when their time is over, and a failed session is told once`()
        async throws
    {
        let ground = try await HomeGround()
        try await ground.call("add_note(2, 'Back at six')")
        for _ in 1...2 { try await ground.call("report_failed_session(3, 'abc')") }
        try await ground.work()
        try await ground.repeatAll()
        #expect(
            try await ground.told().sorted() == [
                "note_added 1", "note_added 3", "session_failed 3",
            ])
        #expect(try await ground.words().contains("A note from P2: Back at six"))
        _ = try await ground.session.query(
            """
            INSERT INTO household.notes (group_id, author_id, written_at, expires_at, body)
            SELECT 1, 1, now(), now() + interval '1 day', 'n' FROM generate_series(1, 25000)
            """)
        let early = Instant.now().adding(.seconds(86_000))
        #expect(try await SweepHouseholds.sweep(in: ground.pool, now: early) == [:])
        let late = Instant.now().adding(.seconds(86_500))
        #expect(
            try await SweepHouseholds.sweep(in: ground.pool, now: late) == ["expire_notes": 25_000])
        #expect(try await ground.number("SELECT count(*) FROM household.notes") == 1)
        #expect(
            try await SweepHouseholds.sweep(
                in: ground.pool, now: .now().adding(.seconds(100 * 86_400)))
                == ["expire_notes": 1])
    }

    // "delete a note: only the author may. (…) let anyone, told to the author".
    @Test func `the author of a note is told that another one has taken it off`() async throws {
        let ground = try await HomeGround()
        let note = try await ground.number(
            "SELECT household.add_note(2, NULL, picture => 'pictures/cat.jpg')")
        try await ground.work()
        #expect(try await ground.words().contains("A note from P2: A picture."))
        try await ground.forget()
        try await ground.call("remove_note(3, \(note))")
        try await ground.work()
        try await ground.repeatAll()
        #expect(try await ground.told() == ["note_removed 2"])
        #expect(
            try await ground.words().last == "Your note is gone: P3 took your note off the board.")
    }

    @Test func `who was erased is a former room-mate in notices`() async throws {
        let ground = try await HomeGround()
        try await ground.call("add_note(2, 'Back at six')")
        try await ground.call("erase(2)")
        try await ground.work()
        // The note is gone before anybody was told of it.
        #expect(try await ground.told().sorted() == ["left 1", "left 3"])
        #expect(
            try await ground.words().suffix(2).allSatisfy { $0.contains("Former room-mate") })
    }
}
