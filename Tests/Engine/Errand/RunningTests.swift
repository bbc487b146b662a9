import ErrandAdministration
import ErrandDemo
import Foundation
import Errand
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Running jobs", .database) struct RunningTests {
    private func client() async throws -> JobClient {
        let database = try TestDatabase.here()
        return try await JobClient(pool: database.pool(), redis: database.redis)
    }

    private func record(_ id: Int64) async throws -> JobRecord {
        let inspector = Inspector(session: try TestDatabase.here().session())
        return try #require(try await inspector.job(id))
    }

    @Test func `a job is run once and leaves its record in the history`() async throws {
        let seen = Notebook<String>()
        var kinds = JobKinds()
        kinds.handle(Note.self) { job, _ in seen.add(job.text) }
        let id = try await client().enqueue(Note(text: "héllo"), .init(tags: ["a", "b"])).id
        let summary = try await TestWorker.drain(kinds)
        #expect(seen.all == ["héllo"])
        #expect(summary.completed == 1)
        let job = try await record(id)
        #expect(job.state == .completed)
        #expect(job.attempt == 1)
        #expect(job.tags == ["a", "b"])
        #expect(String(decoding: job.args, as: UTF8.self) == #"{"text": "héllo"}"#)
    }

    @Test func `many jobs are each run once`() async throws {
        let seen = Notebook<Int>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { job, _ in seen.add(job.n) }
        let made = try await client().enqueue((0..<25_000).map { Plain(n: $0) })
        #expect(Set(made.map(\.id)).count == 25_000)
        let summary = try await TestWorker.drain(kinds)
        #expect(summary.completed == 25_000)
        #expect(seen.all.sorted() == Array(0..<25_000))
    }

    @Test func `a failed attempt keeps its error, and the last one buries the job`() async throws {
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, _ in throw Failure() }
        let id = try await client().enqueue(Plain(n: 1)).id
        let worker = try TestWorker(kinds)
        let summary = try await worker.during {
            try await eventually("the job to die") { try await record(id).state == .dead }
        }
        #expect(summary.failed == 3)
        #expect(summary.retried == 2)
        #expect(summary.dead == 1)
        let job = try await record(id)
        #expect(job.attempt == 3)
        let errors = try JSONSerialization.jsonObject(with: Data(job.errors)) as? [[String: Any]]
        #expect(errors?.map { $0["attempt"] as? Int } == [1, 2, 3])
        #expect(errors?.allSatisfy { $0["error"] as? String == "it went wrong" } == true)
        #expect(errors?.allSatisfy { $0["worker"] is Int && $0["at"] is String } == true)
    }

    @Test func `a handler decides what becomes of its job`() async throws {
        var kinds = JobKinds()
        kinds.handleWithOutcome(Plain.self) { job, context in
            switch job.n {
            case 0: .done
            case 1: .discard(reason: "not wanted")
            case 2: .dead(reason: "hopeless")
            case 3: context.attempt == 1 ? .retry(after: .zero, reason: "again") : .done
            default: .snooze(.seconds(3_600))
            }
        }
        let ids = try await client().enqueue((0...4).map { Plain(n: $0) }).map(\.id)
        let summary = try await TestWorker.drain(kinds)
        #expect(summary.snoozed == 1)
        var jobs: [JobRecord] = []
        for id in ids { jobs.append(try await record(id)) }
        #expect(jobs.map(\.state) == [.completed, .cancelled, .dead, .completed, .scheduled])
        #expect(jobs[1].reason == "not wanted")
        #expect(jobs[2].reason == "hopeless")
        #expect(jobs[3].attempt == 2)
        #expect(jobs[4].attempt == 0)
    }

    @Test func `effects in the completing transaction happen exactly once`() async throws {
        let database = try TestDatabase.here()
        var kinds = JobKinds()
        DemoKinds.add(to: &kinds)
        let ids = try await client().enqueue((0..<200).map { _ in DemoKinds.Ledger() }).map(\.id)
        let summary = try await TestWorker.drain(kinds)
        #expect(summary.completed == 200)
        #expect(summary.fencedOff == 0)
        let rows = try await database.session().query(
            "SELECT job_id FROM errand.demo_ledger ORDER BY job_id")
        #expect(try rows.map { try $0.int64(0) } == ids.sorted())
    }

    @Test func `an effect that is known to be done is not done again`() async throws {
        let effects = Notebook<Int>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, context in
            let value = try await context.once("charge") { () -> Int in
                effects.add(context.attempt)
                return 42
            }
            #expect(value == 42)
            if context.attempt == 1 { throw Failure() }
        }
        let id = try await client().enqueue(Plain(n: 0)).id
        let worker = try TestWorker(kinds)
        _ = try await worker.during {
            try await eventually("the job to end") { try await record(id).state == .completed }
        }
        #expect(effects.all == [1])
    }

    @Test func `a batch handler takes many and answers for each`() async throws {
        let sizes = Notebook<Int>()
        var kinds = JobKinds()
        kinds.handleBatch(Plain.self, upTo: 50) { batch in
            sizes.add(batch.items.count)
            return batch.items.map { $0.job.n % 2 == 0 ? .done : .discard(reason: "odd") }
        }
        _ = try await client().enqueue((0..<200).map { Plain(n: $0) })
        let summary = try await TestWorker.drain(kinds)
        #expect(summary.completed == 100)
        #expect(summary.cancelled == 100)
        #expect(sizes.all.reduce(0, +) == 200)
        #expect(sizes.all.allSatisfy { $0 <= 50 })
        #expect(sizes.all.contains { $0 > 1 })
    }

    @Test func `a job past its deadline is dropped and never run`() async throws {
        let seen = Notebook<Int>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { job, _ in seen.add(job.n) }
        let client = try await client()
        let late = try await client.enqueue(
            Plain(n: 1), .init(notAfter: Date(timeIntervalSinceNow: -1)))
        _ = try await client.enqueue(Plain(n: 2), .init(notAfter: Date(timeIntervalSinceNow: 600)))
        let summary = try await TestWorker.drain(kinds)
        #expect(seen.all == [2])
        #expect(summary.cancelled == 1)
        #expect(try await record(late.id).reason?.contains("deadline") == true)
    }

    @Test func `a job over its time limit is cancelled and has failed`() async throws {
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, _ in try await Task.sleep(for: .seconds(600)) }
        let id = try await client().enqueue(
            Plain(n: 0), .init(maxAttempts: 1, timeout: .milliseconds(50))
        ).id
        let summary = try await TestWorker.drain(kinds)
        #expect(summary.dead == 1)
        let job = try await record(id)
        #expect(String(decoding: job.errors, as: UTF8.self).contains("time limit"))
    }

    @Test func `a running job that is cancelled sees its task cancelled`() async throws {
        let started = Notebook<Int64>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, context in
            started.add(context.id)
            try await Task.sleep(for: .seconds(600))
        }
        let id = try await client().enqueue(Plain(n: 0)).id
        let inspector = Inspector(session: try TestDatabase.here().session())
        let worker = try TestWorker(kinds)
        _ = try await worker.during {
            try await eventually("the job to start") { started.all == [id] }
            #expect(try await inspector.cancel([id], by: "test")[id] == .cancelRequested)
            try await eventually("the job to end") { try await record(id).state == .cancelled }
        }
    }

    @Test func `a waiting job that is cancelled never runs`() async throws {
        let seen = Notebook<Int>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { job, _ in seen.add(job.n) }
        let ids = try await client().enqueue([Plain(n: 1), Plain(n: 2)]).map(\.id)
        let inspector = Inspector(session: try TestDatabase.here().session())
        let effects = try await inspector.cancel([ids[0], 999_999], by: "test")
        #expect(effects == [ids[0]: .cancelled, 999_999: .unknown])
        _ = try await TestWorker.drain(kinds)
        #expect(seen.all == [2])
    }

    @Test func `better priorities go first, and equals in their order`() async throws {
        let seen = Notebook<Int>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { job, _ in seen.add(job.n) }
        let client = try await client()
        for (n, priority) in [
            (5, Priority.low), (3, .normal), (1, .high), (0, .critical), (4, .normal), (2, .high),
        ] {
            try await client.enqueue(Plain(n: n), .init(priority: priority))
        }
        await client.flush()
        _ = try await TestWorker.drain(kinds, queues: [.init("default", concurrency: 1)])
        #expect(seen.all == [0, 1, 2, 3, 4, 5])
    }

    @Test func `a delayed job waits for its time and then runs`() async throws {
        let seen = Notebook<Date>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, context in
            #expect(context.now >= context.dueAt)
            seen.add(context.dueAt)
        }
        let client = try await client()
        _ = try await client.enqueue(Plain(n: 0), .init(in: .milliseconds(700)))
        _ = try await client.enqueue(Plain(n: 1), .init(in: .seconds(3_600)))
        let worker = try TestWorker(kinds)
        _ = try await worker.during {
            try await eventually("the delayed job") { seen.count == 1 }
        }
        #expect(seen.count == 1)
    }

    @Test func `a paused queue waits until it is resumed`() async throws {
        let seen = Notebook<Int>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { job, _ in seen.add(job.n) }
        let inspector = Inspector(session: try TestDatabase.here().session())
        #expect(try await inspector.pause("default", by: "test", reason: "looking"))
        _ = try await client().enqueue(Plain(n: 7))
        // A drain must not wait for a paused queue, nor run it.
        _ = try await TestWorker.drain(kinds)
        #expect(seen.all.isEmpty)
        let worker = try TestWorker(kinds)
        _ = try await worker.during {
            #expect(try await inspector.resume("default"))
            try await eventually("the resumed queue") { seen.all == [7] }
        }
    }

    @Test func `a kind that no worker knows is left waiting and said once`() async throws {
        let lines = Notebook<String>()
        var kinds = JobKinds()
        kinds.handle(Note.self) { _, _ in }
        let ids = try await client().enqueue([Plain(n: 1), Plain(n: 2)]).map(\.id)
        _ = try await client().enqueue(Note(text: "known"))
        let log = Log { lines.add($0.message) }
        let worker = try TestWorker(kinds, log: log)
        let summary = try await worker.during {
            try await eventually("the warning") { lines.all.contains { $0.contains("test.plain") } }
            try await eventually("the known job") {
                try await Inspector(session: TestDatabase.here().session())
                    .queues(named: "default")[0].available == 2
            }
        }
        #expect(summary.completed == 1)
        #expect(lines.all.count { $0.contains("test.plain") } == 1)
        for id in ids { #expect(try await record(id).state == .available) }
    }

    @Test func `arguments that do not decode go to the dead letters at once`() async throws {
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, _ in }
        let rows = try await TestDatabase.here().session().query(
            "SELECT errand.enqueue('test.plain', '{\"n\": \"three\"}')")
        let summary = try await TestWorker.drain(kinds)
        #expect(summary.dead == 1)
        let job = try await record(rows.int64(0, 0))
        #expect(job.attempt == 1)
        #expect(job.reason?.contains("test.plain version 1") == true)
        #expect(job.reason?.contains("n") == true)
    }

    @Test func `old arguments are lifted by their upcaster`() async throws {
        struct Old: Codable { var number: Int }
        struct Lifted: Job {
            static let kind = "test.lifted"
            static let argsVersion = 2
            static let upcasters = [Upcaster(from: 1, Old.self) { Lifted(n: $0.number * 10) }]
            var n: Int
        }
        let seen = Notebook<Int>()
        var kinds = JobKinds()
        kinds.handle(Lifted.self) { job, _ in seen.add(job.n) }
        let session = try TestDatabase.here().session()
        _ = try await session.query(
            "SELECT errand.enqueue('test.lifted', '{\"number\": 4}', args_version => 1)")
        // A version from the future is left for a worker that knows it.
        let future = try await session.query(
            "SELECT errand.enqueue('test.lifted', '{\"x\": 4}', args_version => 3)")
        try await client().enqueue(Lifted(n: 5))
        _ = try await TestWorker.drain(kinds)
        #expect(seen.all.sorted() == [5, 40])
        #expect(try await record(future.int64(0, 0)).state == .available)
    }

    @Test func `a stop hands back what has not started, without using an attempt`() async throws {
        let started = Notebook<Int>()
        let release = Notebook<Bool>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { job, _ in
            started.add(job.n)
            while release.count == 0 { try await Task.sleep(for: .milliseconds(2)) }
        }
        _ = try await client().enqueue((0..<100).map { Plain(n: $0) })
        let worker = try TestWorker(kinds, queues: [.init("default", concurrency: 2)])
        let database = try TestDatabase.here()
        async let summary = worker.run()
        try await eventually("two jobs to run") { started.count == 2 }
        worker.stop.stop()
        release.add(true)
        let done = try await summary
        let rows = try await database.session().query(
            "SELECT count(*), coalesce(max(attempt), 0), count(claimed_by) FROM errand.jobs")
        #expect(try rows.int64(0, 0) == Int64(100 - done.completed))
        #expect(try rows.int64(0, 1) == 0)
        #expect(try rows.int64(0, 2) == 0)
        #expect(try await database.session().query("SELECT FROM errand.workers").isEmpty)
    }
}
