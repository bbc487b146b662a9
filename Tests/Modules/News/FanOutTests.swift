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

    @Test func `a list leaves out who is to be erased, also by a draft at the same time`()
        async throws
    {
        let ground = try await NewsGround(people: 4)
        try await ground.session.script("UPDATE people.people SET blocked_at = now() WHERE id = 2")
        let id = try await ground.draft(to: "list", people: [1, 2, 3])
        #expect(
            try await ground.texts("SELECT person_id::text FROM news.recipients") == ["1", "3"])
        try await ground.changes.start(id)
        #expect(try await ground.sending(id).people == 2)
        // A draft that has not committed keeps an erasure waiting, which then finds its list.
        let other = try TestDatabase.here().session()
        _ = try await other.query("BEGIN")
        _ = try await other.query(
            "SELECT news.draft('company.news', 'list', 'h', 's', 'b', NULL, '{4}', 'Olga')")
        await #expect(throws: PostgresError.self) {
            try await ground.session.script(
                """
                BEGIN; SET LOCAL lock_timeout = '100ms';
                UPDATE people.people SET blocked_at = now() WHERE id = 4; COMMIT
                """)
        }
        _ = try await ground.session.query("ROLLBACK")
        _ = try await other.query("COMMIT")
        #expect(
            try await ground.texts("SELECT rows::text FROM news.erase(4)") == ["1"])
    }

    @Test func `the size of a chunk is a setting`() async throws {
        let ground = try await NewsGround(people: 5)
        try await ground.session.script("UPDATE news.rules SET chunk_size = 2")
        let id = try await ground.draft()
        try await ground.changes.start(id)
        let planner = NoticePlanner(
            ground.catalogue, client: try await JobClient(pool: ground.pool))
        let fanOut = FanOut(id, database: ground.pool, planner: planner)
        #expect(try await !fanOut.chunk(now: Instant.now().date))
        #expect(try await ground.notified() == [1, 2])
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
