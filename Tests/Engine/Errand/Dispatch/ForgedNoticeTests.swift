import ErrandPostgres
import ErrandTestServices
import Testing

@testable import Errand

/// What a login that may only notify can do to the feeder.
@Suite("Forged notices", .database) struct ForgedNoticeTests {
    /// Sends notices as a login that may read one view; each `SELECT` is a transaction.
    private func notify(_ ground: RulesGround, _ payloads: [String]) async throws {
        let (session, _) = try await ground.database.login(as: "errand_autoscaler")
        for payload in payloads {
            _ = try await session.query("SELECT pg_notify('errand_ready', \(payload))")
        }
        await session.close()
    }

    private func names(_ ground: RulesGround, _ sql: String) async throws -> [String] {
        try await ground.session.query(sql).map { try $0.text(0) }
    }

    @Test func `lanes without jobs are not read, polled or warned of, however many`() async throws {
        let ground = try await RulesGround()
        let warnings = Notebook<String>()
        let ran = Notebook<Int>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { job, _ in ran.add(job.n) }
        let worker = try TestWorker(
            kinds, queues: [.init("default"), .init("q*")],
            log: Log(minimum: .warning) { warnings.add($0.message) }
        ) { $0.noticeLimit = 20 }
        _ = try await worker.during {
            _ = try await ground.session.query("SELECT errand.enqueue('test.plain', '{\"n\": 0}')")
            try await eventually("a feeder") { ran.all == [0] }
            let known = #"'q' || n || E'\ttest.plain\t1'"#
            try await notify(
                ground,
                [
                    #"'q' || n || E'\tno.kind\t1') FROM generate_series(1, 20000) AS n(n"#,
                    "\(known)) FROM generate_series(1, 20000) AS n(n",
                    "\(known) || E'\\tlater') FROM generate_series(1, 5000) AS n(n",
                    "\(known) || E'\\tsince\\t0') FROM generate_series(1, 5000) AS n(n",
                    "\(known) || E'\\tjob\\t' || n || E'\\t0\\t0') "
                        + "FROM generate_series(1, 5000) AS n(n",
                    "repeat(E'\\t', n)) FROM generate_series(1, 5000) AS n(n",
                ]
                    + [String](repeating: #"E'q1\ttest.plain\t1'"#, count: 200)
                    + [String](repeating: "'x'", count: 200))
            _ = try await ground.session.query("SELECT errand.enqueue('test.plain', '{\"n\": 1}')")
            try await eventually("a job behind them") { ran.all == [0, 1] }
            // One of a queue that only a pattern serves is found all the same.
            _ = try await ground.session.query(
                "SELECT errand.enqueue('test.plain', '{\"n\": 2}', queue => 'q1')")
            try await eventually("a job of a new lane") { ran.all == [0, 1, 2] }
        }
        #expect(warnings.all == [])
        #expect(
            try await names(
                ground, "SELECT DISTINCT queue FROM errand.lane_starts ORDER BY queue"
            )
            .filter { $0 != "default" && $0 != "q1" } == [])
        let window = ground.window()
        #expect(try await window.lanesInUse().allSatisfy { ["default", "q1"].contains($0.queue) })
    }

    @Test func `a lane without jobs does not become polled`() async throws {
        let ground = try await RulesGround()
        let ran = Notebook<Int>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { job, _ in ran.add(job.n) }
        let worker = try TestWorker(kinds, queues: [.init("default"), .init("q*")]) {
            $0.noticeLimit = 3
        }
        let polled = "SELECT lane FROM errand.polled_lanes WHERE lane LIKE 'q%'"
        _ = try await worker.during {
            _ = try await ground.session.query("SELECT errand.enqueue('test.plain', '{\"n\": 0}')")
            try await eventually("a feeder") { ran.all == [0] }
            for round in 1...20 {
                try await notify(
                    ground, [String](repeating: #"E'q1\ttest.plain\t1'"#, count: 20))
                #expect(try await names(ground, polled) == [], "round \(round)")
            }
        }
    }

    @Test func `jobs that wait for no worker are warned of once, and only a few by name`()
        async throws
    {
        let ground = try await RulesGround()
        let warnings = Notebook<String>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, _ in }
        let worker = try TestWorker(
            kinds, log: Log(minimum: .warning) { warnings.add($0.message) }
        ) { $0.pollInterval = .milliseconds(20) }
        _ = try await ground.session.query(
            """
            INSERT INTO errand.jobs (queue, kind)
            SELECT 'default', 'kind' || n FROM generate_series(1, 50) AS n
            """)
        _ = try await worker.during {
            try await eventually("the warnings") { warnings.count == 21 }
            _ = try await ground.session.query(
                "INSERT INTO errand.jobs (queue, kind) VALUES ('default', 'kind.new')")
            try await eventually("that of another kind") {
                warnings.all.contains { $0.contains("kind.new") }
            }
        }
        #expect(warnings.count == 22)
        #expect(warnings.all.count { $0.contains("30 more") } == 1)
    }

    /// Runs a worker whose only slot is taken, with a small window, and no poll after the first.
    private func withFullWorker(
        _ ground: RulesGround, noticeLimit: Int,
        _ body: (_ gate: Gate, _ ran: Notebook<Int>) async throws -> Void
    ) async throws {
        let (gate, ran) = (Gate(), Notebook<Int>())
        var kinds = JobKinds()
        kinds.handle(Plain.self) { job, _ in
            ran.add(job.n)
            if job.n == 0 { try await gate.pass() }
        }
        let worker = try TestWorker(kinds, queues: [.init("default", concurrency: 1)]) {
            $0.windowLimit = 100
            $0.noticeLimit = noticeLimit
            $0.pollInterval = .seconds(3_600)
        }
        _ = try await worker.during {
            defer { gate.open() }
            _ = try await ground.session.query("SELECT errand.enqueue('test.plain', '{\"n\": 0}')")
            try await eventually("the slot to be taken") { ran.all == [0] }
            try await body(gate, ran)
        }
    }

    private func add(_ count: Int, _ ground: RulesGround) async throws -> [Int64] {
        try await ground.session.query(
            """
            INSERT INTO errand.jobs (queue, kind, args)
            SELECT 'default', 'test.plain', '{"n": 1}' FROM generate_series(1, $1) RETURNING id
            """, [.int32(Int32(count))]
        ).map { try $0.int64(0) }
    }

    @Test func `ids of no job leave most of a window to jobs`() async throws {
        let ground = try await RulesGround()
        try await withFullWorker(ground, noticeLimit: 1_000_000) { gate, ran in
            try await notify(
                ground,
                [
                    #"E'default\ttest.plain\t1\tjob\t' || 1000000 + n || E'\t0\t0') "#
                        + "FROM generate_series(1, 5000) AS n(n"
                ])
            let jobs = try await add(30, ground)
            _ = try await ground.session.query(
                #"SELECT pg_notify('errand_ready', E'default\ttest.plain\t1')"#)
            try await eventually("the jobs to be staged") {
                Set(try await ground.staged()).isSuperset(of: jobs)
            }
            #expect(try await ground.staged().count { $0 > 1_000_000 } == 10)
            gate.open()
            try await eventually("all jobs to run") { ran.count == 31 }
        }
        #expect(try await ground.number("SELECT count(*) FROM errand.jobs") == 0)
    }

    @Test func `beyond a few in a second, ids that notices name are looked up`() async throws {
        let ground = try await RulesGround()
        try await withFullWorker(ground, noticeLimit: 3) { gate, ran in
            let jobs = try await add(40, ground)
            let later = try await ground.session.query(
                "SELECT errand.enqueue('test.plain', '{\"n\": 9}', delay => '1 hour')"
            ).int64(0, 0)
            let named = (jobs + [later]).map(String.init).joined(separator: ",")
            // With wrong priorities and times, in between those of no job.
            try await notify(
                ground,
                [
                    #"E'default\ttest.plain\t1\tjob\t' || id || E'\t0\t' || id) "#
                        + "FROM (SELECT 1000000 + n FROM generate_series(1, 500) AS n "
                        + "UNION ALL SELECT unnest('{\(named)}'::bigint[])) AS t(id"
                ])
            try await eventually("the jobs to be staged") {
                Set(try await ground.staged()).isSuperset(of: jobs)
            }
            let staged = try await ground.staged()
            #expect(staged.count { $0 > 1_000_000 } <= 3)
            #expect(!staged.contains(later))
            gate.open()
            try await eventually("all jobs to run") { ran.count == 41 }
        }
    }
}
