import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("How long an offer is kept", .database) struct OfferTermTests {
    @Test func `who sleeps has the same time to answer, from when they wake`() async throws {
        let ground = try await MissionGround()
        _ = try await ground.session.query(
            """
            UPDATE people.people SET time_zone = 'America/Toronto', quiet_from = '22:00',
                quiet_until = '07:00' WHERE id IN (1, 2)
            """)
        _ = try await ground.session.query(
            """
            UPDATE people.people SET time_zone = 'America/Toronto', quiet_from = '12:00',
                quiet_until = '14:00' WHERE id = 3
            """)
        for (person, at, wakes) in [
            (1, "2027-01-20 03:30Z", "2027-01-20 12:00Z"),
            (1, "2027-01-20 11:59Z", "2027-01-20 12:00Z"),
            (1, "2027-01-20 12:00Z", "2027-01-20 12:00Z"),
            // The night in which clocks go forward.
            (2, "2027-03-14 04:00Z", "2027-03-14 11:00Z"),
            (3, "2027-01-20 18:00Z", "2027-01-20 19:00Z"),
            (3, "2027-01-20 19:00Z", "2027-01-20 19:00Z"),
            (4, "2027-01-20 03:30Z", "2027-01-20 03:30Z"),
        ] {
            let seen = try await ground.text(
                "SELECT missions.seen_at(\(person), '\(at)') = '\(wakes)'")
            #expect(seen == "t", "\(person) \(at)")
        }
        let mission = try await ground.open()
        _ = try await ground.session.query(
            "UPDATE people.people SET quiet_from = '00:00', quiet_until = '23:59' "
                + "WHERE id = 1")
        _ = try await ground.given(mission, 1)
        #expect(
            try await ground.text(
                """
                SELECT answer_by - missions.seen_at(1, offered_at)
                    = (m.closes_at - missions.seen_at(1, offered_at)) / 4
                FROM missions.assignments a JOIN missions.missions m ON m.id = a.mission_id
                """) == "t")
    }

    @Test func `a night is no time to answer in, unless the mission ends in it`() async throws {
        let ground = try await MissionGround()
        let mission = try await ground.open()
        try await ground.force(
            """
            UPDATE missions.missions SET closes_at = '2027-01-20 12:00Z',
                opens_at = '2027-01-01Z', due_day = '2027-01-20', first_day = '2027-01-01';
            UPDATE people.people SET quiet_from = '22:00', quiet_until = '07:00'
            """)
        for (at, answerBy, remindAt) in [
            // The last quarter of 24 hours is night: reminded half way.
            ("2027-01-09 22:30Z", "2027-01-11 07:00Z", "2027-01-10 19:00Z"),
            ("2027-01-09 12:00Z", "2027-01-10 12:00Z", "2027-01-10 06:00Z"),
            // Of five hours after waking.
            ("2027-01-20 04:00Z", "2027-01-20 08:15Z", "2027-01-20 07:56:15Z"),
        ] {
            let term = try await ground.text(
                """
                SELECT (answer_by, remind_at) = ('\(answerBy)'::timestamptz,
                    '\(remindAt)'::timestamptz)
                FROM missions.term(\(mission), 1, '\(at)')
                """)
            #expect(term == "t", "\(at)")
        }
        // Over before they wake: not kept from others until then.
        try await ground.force(
            "UPDATE missions.missions SET closes_at = '2027-01-20 05:00Z'")
        #expect(
            try await ground.text(
                """
                SELECT answer_by = '2027-01-20 00:30Z'
                FROM missions.term(\(mission), 1, '2027-01-19 23:00Z')
                """) == "t")
    }

    @Test func `what waits for the morning and is not so any more is not told`() async throws {
        let ground = try await MissionGround()
        let id = try await ground.given(try await ground.open(), 1)
        let held = """
            INSERT INTO notification.notices (person_id, kind, subject, status, dedupe_key, data,
                expires_at)
            VALUES (1, 'mission.offered', '%', 'held', gen_random_uuid()::text, '{}',
                now() + interval '1 day')
            """
        let counts = """
            SELECT string_agg(status || ' ' || subject, ', ' ORDER BY id)
            FROM notification.notices
            """
        for subject in ["mission:\(id)", "mission:\(id + 1)", "shopper:1"] {
            try await ground.session.script(
                held.replacing("%", with: subject))
        }
        _ = try await ground.accept(1, id)
        #expect(
            try await ground.text(counts)
                == "withdrawn mission:\(id), held mission:\(id + 1), held shopper:1")
        _ = try await ground.text("SELECT missions.suspend(1, 'Olga', 'x')")
        #expect(
            try await ground.text(counts)
                == "withdrawn mission:\(id), held mission:\(id + 1), withdrawn shopper:1")
    }
}
