import Errand
import ErrandNews
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

/// Whom a sending reaches, chunk by chunk.
@Suite("Fan-out of news", .database) struct FanOutTests {
    @Test func `all people are notified once, in chunks that count them`() async throws {
        let ground = try await NewsGround()
        let id = try await ground.draft()
        try await ground.changes.start(id)
        #expect(try await ground.sending(id).people == 10)
        #expect(try await !ground.chunk(id))
        var sending = try await ground.sending(id)
        #expect(sending.notified == 4 && sending.left == 6 && sending.state == .running)
        #expect(sending.rate != nil && sending.remaining != nil)
        #expect(try await ground.notified() == [1, 2, 3, 4])
        #expect(try await ground.sendAll(id) == 2)
        sending = try await ground.sending(id)
        #expect(sending.state == .done && sending.left == 0 && sending.endedAt != nil)
        #expect(sending.notified == 10 && sending.skipped == 0)
        #expect(try await ground.notified() == Array(1...10))
        // A job that comes late finds nothing to do.
        #expect(try await ground.chunk(id))
        #expect(try await ground.notified() == Array(1...10))
    }

    @Test func `a number of people that fills the last chunk ends with an empty one`()
        async throws
    {
        let ground = try await NewsGround(people: 8)
        let id = try await ground.draft()
        try await ground.changes.start(id)
        #expect(try await ground.sendAll(id) == 3)
        #expect(try await ground.sending(id).notified == 8)
    }

    @Test func `who joins after the start gets nothing`() async throws {
        let ground = try await NewsGround()
        let id = try await ground.draft()
        try await ground.changes.start(id)
        _ = try await ground.session.query("INSERT INTO people.people (id) VALUES (11), (0)")
        try await ground.sendAll(id)
        #expect(try await ground.notified() == Array(1...10))
        #expect(try await ground.sending(id).skipped == 0)
    }

    @Test func `the people of an app are those with a device or a notice of it`() async throws {
        let ground = try await NewsGround()
        _ = try await ground.session.query(
            """
            INSERT INTO notification.notices (person_id, kind, subject, dedupe_key, expires_at, app)
            VALUES (4, 'coupon.nearby', 'coupon:1', 'x', now(), 'survey'),
                (6, 'household.x', 'y', 'y', now(), 'household')
            """)
        let id = try await ground.draft(to: "app:survey")
        try await ground.changes.start(id)
        #expect(try await ground.sending(id).people == 6)
        try await ground.sendAll(id)
        #expect(try await ground.notified() == [1, 3, 4, 5, 7, 9])
        let unknown = try await ground.refusal { try await ground.draft(to: "app:nobodys") }
        #expect(unknown == .invalid("draft: app:nobodys: no module has this app"))
    }

    @Test func `a list reaches its people once, and has no unknown ones`() async throws {
        let ground = try await NewsGround()
        let id = try await ground.draft(to: "list", people: [9, 2, 2, 5])
        try await ground.changes.start(id)
        #expect(try await ground.sending(id).people == 3)
        try await ground.sendAll(id, of: 2)
        #expect(try await ground.notified() == [2, 5, 9])
        let unknown = try await ground.refusal {
            try await ground.draft(to: "list", people: [1, 77])
        }
        #expect(unknown == .invalid("no person has the id 77"))
        #expect(try await ground.number("SELECT count(*) FROM news.sendings") == 1)
    }

    @Test func `blocked and erased people, choices and the cap are skipped and counted`()
        async throws
    {
        let ground = try await NewsGround()
        try await ground.session.script(
            """
            UPDATE people.people SET blocked_at = now() WHERE id IN (1, 2);
            UPDATE people.people SET erased_at = now() WHERE id = 2;
            UPDATE people.people SET muted_until = now() + interval '3 days' WHERE id = 3;
            SELECT notification.set_preference(4, 'company.news', c, false)
            FROM unnest('{push,email,inbox}'::text[]) c;
            INSERT INTO notification.notices (person_id, kind, subject, dedupe_key, expires_at, app,
                urgency, send_decided_at, status)
            SELECT 5, 'coupon.nearby', 'c', 'c' || n, now(), 'survey', 'promotional', now(), 'sent'
            FROM generate_series(1, 3) n;
            """)
        let id = try await ground.draft()
        try await ground.changes.start(id)
        try await ground.sendAll(id)
        #expect(try await ground.notified() == Array(6...10))
        let sending = try await ground.sending(id)
        #expect(sending.notified == 5 && sending.skipped == 5)
    }

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

    @Test func `a chunk that does not commit has notified nobody`() async throws {
        struct Lost: Error {}
        let ground = try await NewsGround(people: 3)
        let id = try await ground.draft()
        try await ground.changes.start(id)
        let planner = NoticePlanner(
            ground.catalogue, client: try await JobClient(pool: ground.pool))
        await #expect(throws: Lost.self) {
            _ = try await FanOut(id, database: ground.pool, planner: planner)
                .chunk(now: Instant.now().date) { _ in throw Lost() }
        }
        #expect(try await ground.notified() == [])
        #expect(try await ground.sending(id).notified == 0)
        try await ground.sendAll(id)
        #expect(try await ground.notified() == [1, 2, 3])
    }

    @Test func `two workers at once take turns, and nobody is notified twice`() async throws {
        let ground = try await NewsGround(people: 60)
        let id = try await ground.draft()
        try await ground.changes.start(id)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 1...4 { group.addTask { try await ground.sendAll(id, of: 3) } }
            try await group.waitForAll()
        }
        #expect(try await ground.notified() == Array(1...60))
        #expect(try await ground.sending(id).notified == 60)
    }
}
