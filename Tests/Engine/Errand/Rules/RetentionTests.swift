import ErrandAdministration
@testable import Errand
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("What is kept for how long", .database) struct RetentionTests {
    private static let day = Duration.seconds(86_400)

    /// A kind that is kept for twenty days.
    private struct Kept: Job {
        static let kind = "test.kept"
        static let options = JobOptions(retention: .seconds(20 * 86_400))
    }

    private func retention(_ ground: RulesGround) -> Retention {
        Retention(session: ground.session, log: .silent)
    }

    /// The days for which a job is kept, and the partition that holds it.
    private func keeping(_ id: Int64, _ ground: RulesGround) async throws -> (Int32, String) {
        let row = try await ground.session.query(
            """
            SELECT coalesce(long_until, keep_until) - (finished_at AT TIME ZONE 'UTC')::date,
                c.relname::text
            FROM errand.finished_jobs f JOIN pg_class c ON c.oid = f.tableoid WHERE f.id = $1
            """, [.int64(id)])
        return (try row.int32(0, 0), try row.text(0, 1))
    }

    private func finish(_ id: Int64, _ end: String, _ ground: RulesGround) async throws {
        let inspector = Inspector(session: ground.session)
        switch end {
        case "cancelled": _ = try await inspector.cancel([id], by: "test")
        case "rescued":
            let worker = try await ground.absentWorker(silentFor: "1 hour")
            try await ground.give([id], to: worker)
            _ = try await ground.session.query(
                "UPDATE errand.jobs SET cancel_requested = true WHERE id = $1", [.int64(id)])
            _ = try await ground.session.query("UPDATE errand.workers SET lease_seconds = 1")
            try await Rescuer(
                MaintenanceSession(ground.session), offer: { _, _ in }, log: .silent
            ).rescueUnresponsive()
        default:
            _ = try await ground.session.query(
                "UPDATE errand.jobs SET max_attempts = 1 WHERE id = $1", [.int64(id)])
            let worker = try await ground.absentWorker(silentFor: "1 hour")
            try await ground.give([id], to: worker)
            _ = try await ground.session.query("UPDATE errand.workers SET lease_seconds = 1")
            try await Rescuer(
                MaintenanceSession(ground.session), offer: { _, _ in }, log: .silent
            ).rescueUnresponsive()
            #expect(try await ground.record(id).state == .dead)
            _ = try await inspector.discard([id], by: "test")
        }
        #expect(try await ground.record(id).state == .cancelled)
    }

    @Test(arguments: ["cancelled", "rescued", "discarded"])
    func `a job that ends outside its handler is kept as it, its kind or the default says`(
        _ end: String
    ) async throws {
        let ground = try await RulesGround()
        let client = try await ground.client(hinting: false)
        var kinds = JobKinds()
        kinds.handle(Kept.self) { _, _ in }
        for statement in try kinds.declarations(schedulesOf: { _ in false }) {
            _ = try await ground.session.query(statement)
        }
        let plain = try await client.enqueue(Plain(n: 0)).id
        let kind = try await client.enqueue(Kept()).id
        let own = try await client.enqueue(Plain(n: 0), .init(retention: Self.day * 3)).id
        for (id, days) in [(plain, 7), (kind, 20), (own, 3)] as [(Int64, Int32)] {
            try await finish(id, end, ground)
            #expect(try await keeping(id, ground).0 == days)
        }
    }

    @Test func `a long retention is apart from the days, and is over in time`() async throws {
        let ground = try await RulesGround()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, _ in }
        let id = try await ground.client().enqueue(
            Plain(n: 0), .init(retention: Self.day * 100)
        ).id
        _ = try await TestWorker.drain(kinds)
        #expect(try await keeping(id, ground) == (100, "finished_jobs_long"))
        let finished = try #require(try await ground.record(id).finishedAt)
        try await retention(ground).run(now: finished.adding(Self.day * 100))
        #expect(try await ground.record(id).state == .completed)
        try await retention(ground).run(now: finished.adding(Self.day * 101))
        #expect(try await Inspector(session: ground.session).job(id) == nil)
    }

    @Test func `the days reach as far as the kinds' retention, up to a month`() async throws {
        let ground = try await RulesGround()
        let days = "SELECT daily_days::bigint FROM errand.instance"
        let ahead = """
            SELECT count(*) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
            WHERE i.inhparent = 'errand.finished_jobs'::regclass AND c.relname ~ '[0-9]{8}$'
            """
        try await retention(ground).run(now: .now())
        #expect(try await ground.number(days) == 8)
        #expect(try await ground.number(ahead) == 12)
        var kinds = JobKinds()
        kinds.handle(Kept.self) { _, _ in }
        let id = try await ground.client().enqueue(Kept()).id
        _ = try await TestWorker.drain(kinds)
        #expect(try await keeping(id, ground).0 == 20)
        try await retention(ground).run(now: .now())
        #expect(try await ground.number(days) == 20)
        #expect(try await ground.number(ahead) == 24)
        let next = try await ground.client().enqueue(Kept()).id
        _ = try await TestWorker.drain(kinds)
        let (kept, place) = try await keeping(next, ground)
        #expect(kept == 20 && place.hasPrefix("finished_jobs_20"))
    }

    /// Adds cancelled jobs of the default partition, kept until a day.
    private func addStrays(_ count: Int, until: String, _ ground: RulesGround) async throws {
        _ = try await ground.session.query(
            """
            INSERT INTO errand.finished_jobs (id, created_at, run_at, finished_at, keep_until,
                outcome, priority, attempt, max_attempts, args_version, queue, kind, args)
            SELECT nextval('errand.jobs_id_seq'), now(), now(), now(), \(until), 'cancelled', 2, 0,
                20, 1, 'default', 'test.plain', '{}'
            FROM generate_series(1, $1)
            """, [.int32(Int32(count))])
    }

    private static let today = "(now() AT TIME ZONE 'UTC')::date"
    private static let strays = "SELECT count(*) FROM errand.finished_jobs_other"

    @Test func `what was kept for ten years by mistake is kept for a week`() async throws {
        let ground = try await RulesGround()
        try await addStrays(12_000, until: "\(Self.today) + 3650", ground)
        try await addStrays(30, until: "\(Self.today) + 40", ground)
        #expect(try await ground.number(Self.strays) == 12_030)
        try await retention(ground).run(now: .now())
        #expect(try await ground.number(Self.strays) == 0)
        let week = "SELECT count(*) FROM errand.finished_jobs WHERE keep_until = \(Self.today) + 7"
        #expect(try await ground.number(week) == 12_000)
        #expect(try await ground.number("SELECT count(*) FROM errand.finished_jobs_long") == 30)
    }

    @Test func `a day's partition is created without reading the default one under its lock`()
        async throws
    {
        let ground = try await RulesGround()
        try await addStrays(12_000, until: "\(Self.today) + 3650", ground)
        func scans() async throws -> Int {
            _ = try await ground.session.query("SELECT pg_stat_force_next_flush()::text")
            _ = try await ground.session.query("SELECT 1")
            return try await ground.number(
                "SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'finished_jobs_other'")
        }
        let day = "2031-05-01"
        try await retention(ground).begin(day)
        let before = try await scans()
        let made = try await ground.session.query(Retention.createDay, [.text(day)])
        #expect(try made.bool(0, 0))
        #expect(try await scans() == before)
        #expect(
            try await ground.number(
                """
                SELECT count(*) FROM pg_constraint
                WHERE conrelid = 'errand.finished_jobs_other'::regclass AND conname LIKE 'not_%'
                """) == 0)
        let again = try await ground.session.query(Retention.createDay, [.text(day)])
        #expect(try !again.bool(0, 0))
    }

    @Test func `a reader of the history delays only what needs its lock`() async throws {
        let ground = try await RulesGround()
        let reader = ground.database.session("reader")
        try await reader.script(
            "BEGIN; SELECT count(*) FROM errand.finished_jobs; SELECT count(*) FROM errand.jobs")
        _ = try await ground.session.query(
            """
            INSERT INTO errand.demo_ledger (job_id, queue, at)
            VALUES (1, 'a', now() - interval '1 y')
            """
        )
        let later = Instant.now().adding(Self.day * 20)
        await #expect(throws: PostgresError.self) {
            try await retention(ground).run(now: later)
        }
        #expect(try await ground.number("SELECT count(*) FROM errand.demo_ledger") == 0)
        // Jobs are finished meanwhile.
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, _ in }
        let id = try await ground.client().enqueue(Plain(n: 0)).id
        _ = try await TestWorker.drain(kinds)
        #expect(try await ground.record(id).state == .completed)
        try await reader.script("ROLLBACK")
        await reader.close()
        try await retention(ground).run(now: later)
    }

    @Test func `queues, kinds, operations and audit lines are forgotten when nothing uses them`()
        async throws
    {
        let ground = try await RulesGround()
        try await ground.session.script(
            """
            INSERT INTO errand.queues (name, seen_at, paused_at) VALUES
                ('old', now() - interval '91 days', NULL),
                ('recent', now() - interval '89 days', NULL),
                ('paused', now() - interval '91 days', now()),
                ('waiting', now() - interval '91 days', NULL);
            INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts, seen_at)
            VALUES ('a.old', 1, 'default', 2, 20, now() - interval '91 days'),
                ('a.recent', 1, 'default', 2, 20, now() - interval '2 days');
            INSERT INTO errand.operations (action, operator, filter, total, state, started_at,
                ended_at)
            VALUES ('job cancel', 'tester', '{}', 1, 'done', now() - interval '1 year',
                    now() - interval '91 days'),
                ('job cancel', 'tester', '{}', 1, 'running', now() - interval '1 year', NULL);
            INSERT INTO errand.audit (at, operator, action, subject) VALUES
                (now() - interval '401 days', 'tester', 'queue pause', 'old'),
                (now() - interval '399 days', 'tester', 'queue pause', 'recent');
            SELECT errand.enqueue('test.plain', queue => 'waiting')
            """)
        try await retention(ground).run(now: .now())
        func list(_ sql: String) async throws -> [String] {
            try await ground.session.query(sql).map { try $0.text(0) }
        }
        #expect(
            try await list("SELECT name FROM errand.queues ORDER BY 1")
                == ["default", "paused", "recent", "waiting"])
        #expect(
            try await list("SELECT kind FROM errand.kinds WHERE kind ~ '^a\\.'") == ["a.recent"])
        #expect(try await list("SELECT state FROM errand.operations") == ["running"])
        #expect(try await list("SELECT subject FROM errand.audit") == ["recent"])
    }
}
