@testable import ErrandAdministration
import ErrandPostgres
import ErrandTestServices
import Testing

@testable import Errand

/// Numbers that are estimated, or not to be had.
@Suite("Numbers that nobody can know exactly", .database) struct NumberTests {
    @Test func `two versions of one kind are estimated apart`() async throws {
        let ground = try await RulesGround()
        _ = try await ground.session.query(
            """
            INSERT INTO errand.jobs (queue, kind, args_version)
            SELECT 'default', 'test.plain', 1 + n % 2 FROM generate_series(1, 400) AS n
            """)
        let row = try #require(
            try await ground.session.query(
                Statements.kindNumbers, [.text("test.plain"), .double(600), .int64(10)]
            ).first)
        #expect(try row.bool("is_estimate"))
        #expect(try row.int64("waiting") == 400)
    }

    @Test func `jobs that left no trace make the rate of arrivals an estimate`() async throws {
        let ground = try await RulesGround()
        let inspector = Inspector(session: ground.session)
        func queue() async throws -> QueueRecord {
            try #require(try await inspector.queues(named: "default").first)
        }
        let none = try await queue()
        #expect(none.rateIn == 0 && !none.isRateInEstimate)
        let client = try await ground.client(hinting: false)
        _ = try await client.enqueue((0..<60).map { Plain(n: $0) })
        let all = try await queue()
        #expect(all.rateIn == 1 && !all.isRateInEstimate)
        _ = try await ground.session.query("DELETE FROM errand.jobs")
        let gone = try await queue()
        #expect(gone.rateIn == 0 && gone.isRateInEstimate)
        // Those of long ago are no matter.
        _ = try await ground.session.query(
            """
            INSERT INTO errand.jobs (queue, kind, created_at)
            VALUES ('default', 'test.plain', now() - interval '2 min')
            """)
        #expect(try await !queue().isRateInEstimate)
    }

    @Test func `workers serve queues by name, else by the longest pattern`() async throws {
        let ground = try await RulesGround()
        try await ground.session.script(
            """
            INSERT INTO errand.queues (name) VALUES ('tenant-1'), ('tenant-2'), ('other');
            INSERT INTO errand.workers (host, pid, version, lease_seconds, stopping, queues, load,
                kinds)
            SELECT 'a', n, '1', 600, n = 3,
                '{"tenant-*": {"concurrency": 4}, "t*": {"concurrency": 9},
                    "tenant-1": {"concurrency": 2}}',
                '{"tenant-2": {"busy": 3, "waiting": 1}}', '{}'
            FROM generate_series(1, 3) AS n;
            INSERT INTO errand.workers (host, pid, version, lease_seconds, queues, kinds)
            VALUES ('b', 1, '1', 600, '{"*": {"concurrency": 1}}', '{}')
            """)
        let queues = try await Inspector(session: ground.session).queues()
        #expect(queues.map(\.name) == ["default", "other", "tenant-1", "tenant-2"])
        #expect(queues.map(\.workers) == [1, 1, 4, 4])
        #expect(queues.map(\.slots) == [1, 1, 5, 9])
        #expect(queues.map(\.busy) == [0, 0, 0, 9])
        let running = "SELECT running FROM errand.queue_depth WHERE queue = 'tenant-2'"
        #expect(try await ground.number(running) == 12)
        let workers = try await Inspector(session: ground.session).workers()
        let reports = try #require(workers.first).queueReports()
        #expect(reports.map(\.name) == ["t*", "tenant-*", "tenant-1", "tenant-2"])
        #expect(reports.map(\.concurrency) == [9, 4, 2, 4])
        #expect(reports.map(\.busy) == [0, 0, 0, 3])
        let unaware = try await Inspector(session: ground.session)
            .unaware(of: "tenant-9", setAt: .now())
        #expect(unaware.count == 4)
    }

    @Test func `a heartbeat reports only queues with jobs`() async throws {
        let ground = try await RulesGround()
        let (started, end) = (Signal(), Signal())
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, _ in
            started.raise()
            await end.wait()
        }
        let worker = try TestWorker(kinds, queues: [.init("default"), .init("idle")])
        _ = try await ground.client().enqueue(Plain(n: 1))
        _ = try await worker.during {
            await started.wait()
            let inspector = Inspector(session: ground.session)
            let record = try #require(try await inspector.workers().first)
            let fresh = try #require(try await inspector.refresh(record))
            try await eventually("a report of the job") {
                try await ground.number(
                    "SELECT count(*) FROM errand.workers WHERE load -> 'default' ->> 'busy' = '1'")
                    == 1
            }
            #expect(fresh.id == record.id)
            #expect(
                try await ground.number(
                    "SELECT count(*) FROM errand.workers WHERE load ? 'idle' OR NOT queues ? 'idle'"
                )
                    == 0)
            end.raise()
        }
    }
}
