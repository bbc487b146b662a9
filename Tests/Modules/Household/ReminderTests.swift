import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Reminders of debts", .database) struct ReminderTests {
    // "`remind_debtors` returns how many owe; that a reminder was refused, and when the next is
    // allowed, only the CLI can see".
    @Test func `one debtor is reminded, or all, and who asks learns what became of it`()
        async throws
    {
        let ground = try await HouseholdGround()
        #expect(try await ground.rows("remind_debtors(1)").isEmpty)
        try await ground.bill(1, 900, [1, 2, 3])
        let all =
            "debtor_id, group_id, amount, currency, reason, next_at > now() + interval '23 hours'"
        #expect(
            try await ground.rows("remind_debtors(1)", all)
                == ["(2,1,300,CAD,ok,t)", "(3,1,300,CAD,ok,t)"])
        // Not decided yet: the same reminder, once.
        #expect(try await ground.rows("remind_debtors(1, 3)", "reason") == ["ok"])
        #expect(
            try await ground.texts(
                "SELECT args ->> 'to' FROM errand.jobs WHERE args ->> 'event' = 'debt_reminder' "
                    + "ORDER BY id") == ["[2]", "[3]"])
        #expect(
            try await ground.rows("remind_debtors(2, 1)", "debtor_id, amount, reason")
                == ["(1,0,nothing_owed)"])
        #expect(try await ground.refusal("remind_debtors(99)")?.prefix(5) == "23503")
        try await ground.session.script("UPDATE people.people SET blocked_at = now() WHERE id = 2")
        #expect(try await ground.rows("remind_debtors(1, 2)", "reason, next_at") == ["(gone,)"])
    }

    @Test(
        "the next reminder is allowed as the policy of notification says",
        arguments: [
            [], [0], [23], [25], [30, 60], [25, 50, 75], [25, 50, 167], [25, 50, 169],
            [1, 25, 50, 75], [26, 27, 28, 29], [160, 161, 162, 166],
        ])
    func policy(hours: [Int]) async throws {
        let ground = try await HouseholdGround()
        let now = Instant.now()
        let times = hours.map { now.adding(.seconds(-3_600 * Int64($0))) }.sorted()
        for (place, time) in times.enumerated() {
            _ = try await ground.session.query(
                """
                INSERT INTO notification.notices (person_id, sender_id, kind, subject, dedupe_key,
                    expires_at, created_at, status)
                VALUES (2, 1, 'household.debt_reminder', 'household_debt:1', $1, 'infinity', $2,
                    'sent'), (2, 1, 'household.debt_reminder', 'household_debt:1', $1 || 'r',
                    'infinity', $2, 'refused'), (2, 3, 'household.debt_reminder',
                    'household_debt:1', $1 || 'o', 'infinity', $2, 'sent')
                """, [.text("\(place)"), .timestamp(time)])
        }
        var history = SubjectHistory()
        history.reminders = times
        var kind = NoticeKind(
            "t.reminder", app: .init("household"), channels: [.inbox], fields: [:])
        kind.isReminder = true
        let person = PersonFacts(id: 2, zone: try PeopleZones.shared.exact("UTC"))
        let decision = Policy().decide(
            kind, person: person, history: history, expires: .infinity, now: now)
        var expected: Instant?
        if case .refuse(let until, _) = decision { expected = until }
        let next = try await ground.session.query(
            "SELECT household.next_reminder(2, 1, 'household_debt:1', $1, false)",
            [.timestamp(now)]
        ).first?.optionalTimestamp(0)
        #expect(next == expected, "\(decision)")
    }

    // "Nothing fails when one of the two changes."
    @Test func `the notices that count are those that the policy of notification counts`()
        async throws
    {
        let ground = try await HomeGround(people: 11, members: 11)
        try await ground.call(
            "add_bill(1, 'Power', 1100, '{1,2,3,4,5,6,7,8,9,10,11}', 'b', '2026-11-20')")
        try await ground.work()
        let statuses = try await ground.texts(
            "SELECT s FROM unnest(enum_range(NULL::notification.notice_status)) s ORDER BY s")
        #expect(statuses.count == 10)
        // One debtor for each status.
        _ = try await ground.session.query(
            """
            INSERT INTO notification.notices (person_id, sender_id, kind, subject, dedupe_key,
                expires_at, created_at, status, app)
            SELECT s.n + 1, 1, 'household.debt_reminder', 'household_debt:1', 'earlier:' || s.n,
                'infinity', now() - interval '1 hour', s.status, 'household'
            FROM unnest(enum_range(NULL::notification.notice_status))
                WITH ORDINALITY AS s (status, n)
            """)
        let expected = try await ground.texts(
            """
            SELECT (household.next_reminder(p, 1, 'household_debt:1', clock_timestamp(), false)
                IS NOT NULL)::text FROM generate_series(2, 11) p ORDER BY p
            """)
        // Past the check of remind_debtors().
        _ = try await ground.session.query(
            """
            SELECT errand.enqueue('household.notify', jsonb_build_object('event', 'debt_reminder',
                'group_id', 1, 'person_id', 1,
                'to', ARRAY(SELECT p FROM generate_series(2, 11) p)))
            """)
        try await ground.work()
        let refused = try await ground.texts(
            """
            SELECT (status = 'refused')::text FROM notification.notices
            WHERE dedupe_key LIKE 'household.debt_reminder:%' ORDER BY person_id
            """)
        #expect(refused == expected, "\(statuses)")
        #expect(Set(refused) == ["true", "false"])
    }
}
