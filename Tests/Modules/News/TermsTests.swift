import Errand
import ErrandNews
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

/// Whom terms reach, and which were sent.
@Suite("Terms", .database) struct TermsTests {
    @Test func `terms reach who has muted, turned off or had enough, by mail and inbox`()
        async throws
    {
        let ground = try await NewsGround(people: 3)
        try await ground.session.script(
            """
            UPDATE people.people SET muted_until = now() + interval '3 days' WHERE id = 1;
            SELECT notification.set_preference(2, k, c, false)
            FROM unnest('{email,inbox}'::text[]) c, unnest('{*,company.terms}'::text[]) k;
            UPDATE people.people SET blocked_at = now() WHERE id = 3;
            """)
        let id = try await ground.draft("company.terms", version: "2026-12")
        try await ground.changes.start(id)
        try await ground.sendAll(id)
        #expect(try await ground.notified("company.terms") == [1, 2])
        #expect(try await ground.sending(id).skipped == 1)
        let ways = try await ground.texts(
            """
            SELECT n.person_id || ' ' || d.provider || ' ' || i.title
            FROM notification.notices n
            JOIN notification.deliveries d ON d.notice_id = n.id
            JOIN notification.inbox_items i ON i.notice_id = n.id
            WHERE n.kind = 'company.terms' ORDER BY 1
            """)
        #expect(ways == ["1 mail Two cities more", "2 mail Two cities more"])
        let settings = try await ground.texts(
            """
            SELECT concat_ws(' ', channel, is_on, can_be_off)
            FROM notification.preferences_of(2) WHERE kind IN ('company.terms') ORDER BY channel
            """)
        #expect(settings == ["email t f", "inbox t f"])
    }

    @Test func `each version of the terms is sent to a person once, by any number of sendings`()
        async throws
    {
        let ground = try await NewsGround(people: 4)
        let first = try await ground.draft("company.terms", to: "app:survey", version: "2026-12")
        try await ground.changes.start(first)
        try await ground.sendAll(first)
        #expect(try await ground.notified("company.terms") == [1, 3])
        let second = try await ground.draft("company.terms", version: "2026-12")
        try await ground.changes.start(second)
        try await ground.sendAll(second)
        #expect(try await ground.notified("company.terms") == [1, 2, 3, 4])
        #expect(try await ground.sending(second).notified == 2)
        #expect(try await ground.sending(second).skipped == 2)
        let next = try await ground.draft("company.terms", version: "2027-01")
        try await ground.changes.start(next)
        try await ground.sendAll(next)
        #expect(try await ground.sending(next).notified == 4)
    }

    @Test func `an app reads which terms were sent last, and whether the person agreed`()
        async throws
    {
        let ground = try await NewsGround(people: 2)
        func terms() async throws -> [String] {
            try await ground.texts(
                """
                SELECT concat_ws(' ', version, sent_at IS NOT NULL, agreed_at IS NOT NULL)
                FROM news.terms_of(1)
                """)
        }
        #expect(try await terms() == [])
        for version in ["2026-12", "2027-01"] {
            let id = try await ground.draft("company.terms", version: version)
            try await ground.changes.start(id)
            try await ground.sendAll(id)
            #expect(try await terms() == ["\(version) t f"])
            _ = try await ground.session.query(
                "SELECT people.record_consent(1, 'terms', $1)", [.text(version)])
            #expect(try await terms() == ["\(version) t t"])
        }
        _ = try await ground.session.query("SELECT people.withdraw_consent(1, 'terms')")
        #expect(try await terms() == ["2027-01 t f"])
    }

    @Test func `terms that are held, expired or failed were not sent`() async throws {
        let ground = try await NewsGround(people: 1)
        func terms() async throws -> [String] {
            try await ground.texts("SELECT version FROM news.terms_of(1)")
        }
        for version in ["2026-12", "2027-01"] {
            let id = try await ground.draft("company.terms", version: version)
            try await ground.changes.start(id)
            try await ground.sendAll(id)
        }
        for status in ["held", "expired", "failed", "withdrawn"] {
            _ = try await ground.session.query(
                """
                UPDATE notification.notices SET status = $1::text::notification.notice_status
                WHERE dedupe_key = 'company.terms:2027-01:1'
                """, [.text(status)])
            #expect(try await terms() == ["2026-12"], "\(status)")
        }
        // In quiet hours it is held, and sent by the decision afterwards.
        try await ground.session.script(
            """
            UPDATE people.people SET quiet_from = (now() - interval '1 hour')::time,
                quiet_until = (now() + interval '1 hour')::time, time_zone = 'UTC'
            """)
        let id = try await ground.draft("company.terms", version: "2027-02")
        try await ground.changes.start(id)
        try await ground.sendAll(id)
        #expect(try await ground.notified("company.terms") == [1, 1])
        #expect(try await terms() == ["2026-12"])
    }

    @Test func `mails of terms go before news and behind people's own affairs`() async throws {
        // Without a device.
        let (ground, person) = (try await NewsGround(people: 2), Int64(2))
        // Their own time has come.
        try await ground.session.script(
            """
            UPDATE people.people SET time_zone = 'UTC',
                notice_time = date_trunc('minute', now() AT TIME ZONE 'UTC')::time
            """)
        for (kind, version) in [("company.news", nil), ("company.terms", "1")] {
            let id = try await ground.draft(kind, version: version)
            try await ground.changes.start(id)
            try await ground.sendAll(id)
        }
        let planner = NoticePlanner(
            ground.catalogue, client: try await JobClient(pool: ground.pool))
        try await ground.pool.transaction { transaction in
            let answers = try await planner.notify(
                [
                    Intent(
                        "inquiry.answered", to: person, of: "inquiry:1",
                        data: [UInt8](#"{"thread": 1, "about": "x"}"#.utf8), dedupeKey: "x",
                        expiresAt: Instant.now().adding(.seconds(86_400)))
                ], now: Instant.now().date, in: transaction)
            #expect(answers[0].isKept)
        }
        let priorities = try await ground.texts(
            """
            SELECT n.kind || ' ' || j.priority FROM errand.jobs j
            JOIN notification.deliveries d ON d.id = (j.args ->> 'delivery_id')::bigint
            JOIN notification.notices n ON n.id = d.notice_id
            WHERE j.kind = 'notification.email' AND n.person_id = $1 ORDER BY j.priority
            """, [.int64(person)])
        #expect(priorities == ["inquiry.answered 1", "company.terms 2", "company.news 3"])
    }
}
