import ErrandAdministration
import ErrandDemo
import Foundation
@testable import Errand
import ErrandPostgres
import ErrandRedis
import ErrandTestServices
import Testing

/// Rules 6, 7 and 10: feeding, leading, rescuing.
@Suite("Rules 6, 7 and 10: maintenance", .database) struct RulesMaintenanceTests {
    private func feeder(
        _ ground: RulesGround, on place: FeederThread, limit: Int = 200,
        poll: Duration = .milliseconds(10)
    ) -> Feeder {
        let settings = SessionSettings(
            ground.database.url, name: "rules-feed", setup: Statements.sessionSetup)
        let window = ReadyWindow(
            connection: Connection(ground.database.redis, name: "rules-feed", thread: place.thread),
            keys: ground.keys, limit: limit)
        return Feeder(
            session: Session(settings, thread: place.thread), window: window,
            requests: Feeder.Requests(), pollInterval: poll, noticeLimit: 200, log: .silent,
            onFed: {})
    }

    @Test func `rule 6: three feeders at once do no harm`() async throws {
        let ground = try await RulesGround()
        let places = [FeederThread(), FeederThread()]
        var kinds = JobKinds()
        DemoKinds.add(to: &kinds)
        let ids = try await ground.client(hinting: false).enqueue(
            (0..<3_000).map { _ in DemoKinds.Ledger() }
        ).map(\.id)
        let worker = try TestWorker(kinds) { $0.windowLimit = 200 }
        let summary = try await withThrowingTaskGroup(of: Void.self) { group in
            // Beside the worker's own, which holds the lock.
            for place in places {
                group.addTask { try await place.run(feeder(ground, on: place)) }
            }
            defer { group.cancelAll() }
            return try await worker.during {
                try await eventually("all jobs to be done", within: .seconds(60)) {
                    try await ground.number("SELECT count(*) FROM errand.demo_ledger") >= 3_000
                }
            }
        }
        #expect(summary.completed == 3_000)
        #expect(summary.fencedOff == 0)
        let ledger = try await ground.session.query(
            "SELECT job_id FROM errand.demo_ledger ORDER BY job_id")
        #expect(try ledger.map { try $0.int64(0) } == ids.sorted())
        #expect(
            try await ground.number("SELECT max(attempt) FROM errand.finished_jobs") == 1)
    }

    @Test func `rule 6: one leads at a time, and another follows`() async throws {
        let ground = try await RulesGround()
        let seen = Notebook<Int>()
        let led = [Notebook<String>(), Notebook<String>()]
        var kinds = JobKinds()
        kinds.handle(Plain.self) { job, _ in seen.add(job.n) }
        let workers = try led.map { notebook in
            try TestWorker(
                kinds,
                log: Log(minimum: .debug) {
                    if $0.message.hasPrefix("this worker is the feeder") {
                        notebook.add($0.message)
                    }
                }
            ) { $0.runsSchedules = false }
        }
        func leader() async throws -> Int32? {
            let rows = try await ground.session.query(
                "SELECT l.backend FROM errand.leaders l WHERE errand.is_led(l)")
            #expect(rows.count <= 1)
            return try rows.first?.int32(0)
        }
        func expectWork(_ n: Int) async throws {
            // Told by NOTIFY alone: it runs only if someone feeds.
            _ = try await ground.session.query(
                "SELECT errand.enqueue('test.plain', jsonb_build_object('n', $1::int))",
                [.int32(Int32(n))])
            try await eventually("job \(n)") { seen.all.contains(n) }
        }
        async let summaries = workers[0].run()
        async let others = workers[1].run()
        defer { for worker in workers { worker.stop.stop() } }
        // One leads, and the other is registered and stands by without a connection for it.
        try await eventually("a leader and one who stands by") {
            let candidates = try await ground.number(
                "SELECT count(*) FROM errand.workers WHERE roles = '{feeder}'")
            let feeders = try await ground.number(
                """
                SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                    AND application_name LIKE 'errand-feed %'
                """)
            // The leader says so once it has signed, a moment after it has the lock.
            let hasSaid = led.contains { $0.count > 0 }
            return try await leader() != nil && candidates == 2 && feeders == 1 && hasSaid
        }
        #expect(led.map(\.count).reduce(0, +) == 1)
        try await expectWork(1)
        let before = led.map(\.count)
        let first = try #require(try await leader())
        #expect(
            try await ground.session.query("SELECT pg_terminate_backend($1)", [.int32(first)])
                .bool(0, 0))
        try await eventually("someone to lead again") { led.map(\.count) != before }
        #expect(try await leader() != first)
        try await expectWork(2)
        // Whoever leads now goes home, and the other takes over.
        let leading = led[0].count > before[0] ? 0 : 1
        let other = led[1 - leading].count
        workers[leading].stop.stop()
        try await eventually("the other to lead") { led[1 - leading].count > other }
        try await expectWork(3)
        for worker in workers { worker.stop.stop() }
        let done = try await [summaries, others]
        #expect(done.map(\.completed).reduce(0, +) == 3)
    }

    @Test func `rule 7: a silent worker's jobs come back with their attempt counted`()
        async throws
    {
        let ground = try await RulesGround()
        let seen = Notebook<(n: Int, attempt: Int)>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { job, context in seen.add((job.n, context.attempt)) }
        let client = try await ground.client()
        let ids = try await client.enqueue((0..<3).map { Plain(n: $0) }, .init(maxAttempts: 2))
            .map(\.id)
        let gone = try await client.enqueue(Plain(n: 3), .init(retention: .zero)).id
        let alive = try await client.enqueue(Plain(n: 4)).id
        let silent = try await ground.absentWorker(silentFor: "601 s")
        let busy = try await ground.absentWorker(silentFor: "500 s")
        try await ground.give(ids + [gone], to: silent)
        // This one has killed a worker before: it has no attempt left.
        try await ground.give([ids[2]], to: silent)
        try await ground.give([alive], to: busy)
        _ = try await ground.session.query(
            "UPDATE errand.jobs SET cancel_requested = true WHERE id = $1", [.int64(gone)])
        let worker = try TestWorker(kinds)
        _ = try await worker.during {
            try await eventually("the freed jobs to be done") {
                try await ground.number("SELECT count(*) FROM errand.jobs") == 1
            }
        }
        #expect(seen.all.map(\.n).sorted() == [0, 1])
        #expect(seen.all.allSatisfy { $0.attempt == 2 })
        for id in ids {
            let job = try await ground.record(id)
            #expect(job.state == (id == ids[2] ? .dead : .completed))
            #expect(job.attempt == 2)
            let errors = try await ground.errors(of: id)
            #expect(errors.count == 1)
            #expect(errors[0]["attempt"] as? Int == (id == ids[2] ? 2 : 1))
            #expect(errors[0]["worker"] as? Int == Int(silent))
            #expect((errors[0]["error"] as? String)?.contains("died or hung") == true)
        }
        #expect(try await ground.record(ids[2]).reason?.contains("died or hung") == true)
        // Cancelled before its worker died, and to leave no trace.
        #expect(try await Inspector(session: ground.session).job(gone) == nil)
        // The one within its lease is left alone.
        #expect(try await ground.record(alive).worker == busy)
        let left = try await ground.session.query("SELECT id FROM errand.workers")
        #expect(try left.map { try $0.int64(0) } == [busy])
    }

    @Test func `rule 7: claims in the name of no worker at all are freed`() async throws {
        let ground = try await RulesGround()
        let offers = Notebook<Int64>()
        let ids = try await ground.client(hinting: false).enqueue(
            (0..<2).map { Plain(n: $0) }, .init(maxAttempts: 2)
        ).map(\.id)
        try await ground.give(ids, to: 987_654)
        try await ground.give([ids[1]], to: 987_654)
        let rescuer = Rescuer(
            MaintenanceSession(ground.session), offer: { job, _ in offers.add(job.id) },
            log: .silent)
        try await rescuer.rescueOrphans()
        #expect(offers.all == [ids[0]])
        let freed = try await ground.record(ids[0])
        #expect(freed.state == .retrying)
        #expect(freed.attempt == 1)
        #expect(try await ground.errors(of: ids[0]).count == 1)
        #expect(try await ground.record(ids[1]).state == .dead)
    }

    @Test func `rule 10: another's open transaction does not make the feeder read more`()
        async throws
    {
        let ground = try await RulesGround()
        let limit = 200
        let worker = try await ground.absentWorker(canRun: true)
        let holder = ground.database.session("rules-holder")
        try await holder.script(
            "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM errand.jobs")
        _ = try await ground.client(hinting: false).enqueue((0..<6_000).map { Plain(n: $0) })
        let place = FeederThread()
        let feeder = feeder(ground, on: place, limit: limit)
        let window = ground.window(limit: limit)
        var left = 6_000
        func work(downTo count: Int) async throws {
            try await eventually("\(count) jobs to be left", within: .seconds(60)) {
                let ids = try await window.pop([
                    .init(lanes: [RulesGround.lane], count: 50)
                ]).ids[0]
                let jobs = try ClaimedJob.read(
                    try await ground.session.query(
                        Statements.claim, [.int64Array(ids), .int64(worker), .int64(1)]),
                    token: 1)
                _ = try await ground.session.query(
                    Statements.complete,
                    [
                        .int64Array(jobs.map(\.id)), .int64Array(jobs.map { _ in 1 }),
                        .floatArray(jobs.map { _ in 0 }),
                        .nullableInt16Array(jobs.map { _ in 7 }),
                    ])
                left -= jobs.count
                return left <= count
            }
        }
        /// How often the feeder has looked into a lane, and how many places of it that cost, dead
        /// rows counted.
        func cost() async throws -> (looks: Int, places: Int) {
            _ = try await feeder.session.query("SELECT pg_stat_force_next_flush()")
            let rows = try await ground.session.query(
                """
                SELECT idx_scan, idx_tup_read FROM pg_stat_user_indexes
                WHERE indexrelid = 'errand.jobs_lane'::regclass
                """)
            return (Int(try rows.int64(0, 0)), Int(try rows.int64(0, 1)))
        }
        let feeding = Task { try await place.run(feeder) }
        defer { feeding.cancel() }
        try await work(downTo: 2_000)
        let early = try await cost()
        try await work(downTo: 0)
        let late = try await cost()
        #expect(try await ground.number("SELECT count(*) FROM errand.finished_jobs") == 6_000)
        // The dead rows are still there: 4,000 and more of them before each look.
        #expect(await holder.isInTransaction)
        let (looks, places) = (late.looks - early.looks, late.places - early.places)
        #expect(looks > 20)
        #expect(places < looks * limit, "\(places) places in \(looks) looks")
        await holder.close()
    }
}
