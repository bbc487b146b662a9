import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Notices of badges, and erased people", .database) struct BadgeNoticeTests {
    @Test func `a person is notified of each badge once, with where it was earned`() async throws {
        let ground = try await BadgeGround()
        try await ground.count("survey_done", of: 1, at: 2, times: 3)
        try await ground.notify()
        let notices = """
            SELECT concat_ws(' | ', person_id, kind, subject, data ->> 'badge',
                data ->> 'title', data ->> 'level', data ->> 'establishment')
            FROM notification.notices ORDER BY dedupe_key
            """
        let expected = [
            "1 | badge.earned | badge:regular:2 | Regular: 3 at Bar Deux | Regular | 3 | Bar Deux",
            "1 | badge.earned | badge:surveys_done | Surveys done: 1 | Surveys done | 1 | ",
        ]
        #expect(try await ground.texts(notices) == expected)
        try await ground.notify()
        #expect(try await ground.texts(notices) == expected)
        // As after a backup was restored that had notified of none.
        try await ground.session.script("UPDATE badges.badges SET notice_due = true")
        try await ground.notify()
        #expect(try await ground.texts(notices) == expected)
    }

    @Test func `of several levels since the last minute the highest is worth a notice`()
        async throws
    {
        let ground = try await BadgeGround()
        try await ground.count("coupon_used", of: 1, times: 25)
        try await ground.notify()
        #expect(
            try await ground.texts("SELECT data ->> 'badge' FROM notification.notices")
                == ["Coupons used: 25"])
        #expect(try await ground.due() == [])
    }

    @Test func `badges that are earned at night wait for the morning`() async throws {
        let ground = try await BadgeGround()
        try await ground.session.script(
            """
            UPDATE people.people SET
                quiet_from = ((now() - interval '1 hour') AT TIME ZONE time_zone)::time,
                quiet_until = ((now() + interval '2 hours') AT TIME ZONE time_zone)::time
            WHERE id = 1
            """)
        try await ground.count("survey_done", of: 1, times: 3)
        try await ground.notify()
        #expect(
            try await ground.texts(
                "SELECT kind || ' ' || status FROM notification.notices ORDER BY id")
                == ["badge.earned held", "badge.earned held"])
    }

    @Test func `people who are blocked are not notified`() async throws {
        let ground = try await BadgeGround()
        try await ground.count("coupon_used", of: 1)
        try await ground.session.script("UPDATE people.people SET blocked_at = now() WHERE id = 1")
        try await ground.notify()
        #expect(
            try await ground.number(
                "SELECT count(*) FROM notification.notices WHERE status <> 'dropped'") == 0)
    }

    @Test func `a person's badges are exported, and erased once`() async throws {
        let ground = try await BadgeGround()
        try await ground.count("survey_done", of: 1, times: 3)
        try await ground.count("survey_done", of: 2)
        #expect(
            try await ground.texts(
                """
                SELECT concat_ws(' ', d #>> '{badges,1,kind}', d #>> '{badges,1,establishment}',
                    d #>> '{badges,1,level}', d #>> '{counts,0,deeds}',
                    jsonb_array_length(d -> 'badges'), jsonb_array_length(d -> 'counts'))
                FROM badges.personal_data(1) AS d
                """) == ["regular Café Un 3 3 2 2"])
        let erase = "SELECT concat_ws(' ', object, action, rows) FROM badges.erase(1)"
        #expect(
            try await ground.texts(erase) == [
                "badges.badges deleted 2", "badges.counts deleted 2",
            ])
        #expect(
            try await ground.texts(erase) == [
                "badges.badges deleted 0", "badges.counts deleted 0",
            ])
        #expect(
            try await ground.texts("SELECT badges.personal_data(1)::text")
                == [#"{"badges": [], "counts": []}"#])
        #expect(try await ground.badges(2) == ["surveys_done 1"])
        // Badges that are gone notify nobody.
        try await ground.notify()
        #expect(
            try await ground.texts("SELECT DISTINCT person_id FROM notification.notices") == ["2"])
        #expect(
            try await ground.texts(
                "SELECT position || ' ' || blocks FROM people.holders WHERE module = 'badges'")
                == ["45 false"])
    }
}
