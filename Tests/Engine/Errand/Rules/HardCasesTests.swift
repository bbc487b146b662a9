import ErrandAdministration
import Foundation
@testable import Errand
import ErrandPostgres
import ErrandTestServices
import Testing

/// What goes wrong rarely: open transactions of others, handlers that hang on, refusals.
@Suite("Hard cases", .database) struct HardCasesTests {
    private func claimed(_ id: Int64, token: Int64) -> ClaimedJob {
        ClaimedJob(
            id: id, token: token, lane: RulesGround.lane, attempt: 1, maxAttempts: 3, priority: 2,
            runAt: .now(), notAfter: nil, isCancelRequested: false, args: [], overrides: nil)
    }

    @Test func `the end of an earlier claim leaves the later one of the same job alone`() {
        let running = RunningJobs()
        let (first, second) = (claimed(7, token: 1), claimed(7, token: 2))
        running.start(first, on: RunnerHandle(), at: .now, limit: .seconds(60))
        running.interruptAll(.leaseLost)
        running.start(second, on: RunnerHandle(), at: .now, limit: .seconds(60))
        #expect(running.end(first) == (false, .leaseLost))
        #expect(running.count == 1)
        running.interrupt(7, .cancelled)
        #expect(running.end(second) == (true, .cancelled))
        #expect(running.end(second) == (false, nil))
    }

    @Test func `a row that somebody has locked does not hold up the claim of others`()
        async throws
    {
        let ground = try await RulesGround()
        let seen = Notebook<Int>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { job, _ in seen.add(job.n) }
        let ids = try await ground.client().enqueue((0..<20).map { Plain(n: $0) }).map(\.id)
        let other = ground.database.session("locker")
        try await other.script("BEGIN")
        _ = try await other.query(
            "SELECT FROM errand.jobs WHERE id = $1 FOR UPDATE", [.int64(ids[0])])
        let summary = try await TestWorker(kinds).during {
            try await eventually("the others") { seen.count == 19 }
            #expect(!seen.all.contains(0))
            try await other.script("COMMIT")
            try await eventually("the locked one") { seen.count == 20 }
        }
        #expect(summary.completed == 20)
    }

    @Test func `a dead worker's open transaction is ended, and its job comes back`()
        async throws
    {
        let ground = try await RulesGround()
        let id = try await ground.client(hinting: false).enqueue(Plain(n: 1)).id
        let dead = try await ground.absentWorker(silentFor: "601 s")
        try await ground.give([id], to: dead)
        let left = ground.database.session(Rescuer.poolName(of: dead))
        try await left.script("BEGIN")
        _ = try await left.query("DELETE FROM errand.jobs WHERE id = $1", [.int64(id)])
        let seen = Notebook<Int>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, context in seen.add(context.attempt) }
        let summary = try await TestWorker(kinds).during {
            try await eventually("the job to be done by another") { seen.all == [2] }
        }
        #expect(summary.completed == 1)
        #expect(try await ground.number("SELECT count(*) FROM errand.workers") == 0)
    }

    @Test func `handlers that hold all sessions can still record effects and enqueue`()
        async throws
    {
        let ground = try await RulesGround()
        var kinds = JobKinds()
        let inside = Notebook<Int>()
        kinds.handle(Note.self) { _, _ in }
        kinds.handle(Plain.self) { job, context in
            try await context.database.transaction { transaction in
                _ = try await transaction.query("SELECT 1")
                inside.add(job.n)
                while inside.count < 2 { try await Task.sleep(for: .milliseconds(2)) }
                try await context.once("effect") {}
                _ = try await context.client.enqueue([Note(text: "\(job.n)")])
            }
        }
        _ = try await ground.client().enqueue((0..<16).map { Plain(n: $0) })
        let summary = try await TestWorker.drain(kinds)
        #expect(summary.completed == 32)
        #expect(summary.failed == 0)
    }

    @Test func `cancelling one job of a batch fails none of the others`() async throws {
        let ground = try await RulesGround()
        let rounds = Notebook<[Int]>()
        var kinds = JobKinds()
        kinds.handleBatch(Plain.self, upTo: 10) { batch in
            rounds.add(batch.items.map(\.job.n))
            if rounds.count == 1 { try await Task.sleep(for: .seconds(600)) }
            return batch.items.map { _ in .done }
        }
        let ids = try await ground.client().enqueue((0..<5).map { Plain(n: $0) }).map(\.id)
        let inspector = Inspector(session: ground.session)
        let summary = try await TestWorker(kinds).during {
            try await eventually("the batch to run") { rounds.count == 1 }
            _ = try await inspector.cancel([ids[2]], by: "kim")
            try await eventually("all to end") {
                try await ground.number("SELECT count(*) FROM errand.jobs") == 0
            }
        }
        #expect(summary.cancelled == 1)
        #expect(summary.completed == 4)
        #expect(summary.failed == 0)
        #expect(try await ground.record(ids[0]).attempt == 1)
    }

    @Test func `arguments that were replaced by a newer version are left to who knows it`()
        async throws
    {
        let ground = try await RulesGround()
        let id = try await ground.client(hinting: false).enqueue(Plain(n: 1)).id
        let job = Staged(id: id, priority: 2, runAt: .now())
        try await ground.window().stage([(lane: RulesGround.lane, jobs: [job])])
        _ = try await ground.session.query("UPDATE errand.jobs SET args_version = 2")
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, _ in Issue.record("it ran with arguments it cannot know") }
        let summary = try await TestWorker(kinds).during {
            try await eventually("the id to be popped") {
                try await ground.staged().isEmpty
            }
        }
        #expect(summary.completed == 0)
        let record = try await ground.record(id)
        #expect(record.state == .available)
        #expect(record.attempt == 0)
    }

    @Test(arguments: [-60, 0] as [Double])
    func `a time that has passed means now, on the fast path too`(_ delay: Double) async throws {
        let ground = try await RulesGround()
        let client = try await ground.client()
        let at = Date(timeIntervalSinceNow: delay)
        let single = try await client.enqueue(Plain(n: 1), .init(at: at)).id
        let many = try await client.enqueue([Plain(n: 2)], .init(at: at))[0].id
        await client.flush()
        #expect(try await ground.staged() == [single, many])
    }

    @Test func `jobs handed back behind a backlog go first again`() async throws {
        let ground = try await RulesGround()
        let order = Notebook<Int>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { job, _ in order.add(job.n) }
        let client = try await ground.client(hinting: false)
        let first = try await client.enqueue((0..<5).map { Plain(n: $0) }).map(\.id)
        _ = try await client.enqueue((5..<2_000).map { Plain(n: $0) })
        // Held by a worker that dies while the feeder is far past them.
        let dead = try await ground.absentWorker()
        try await ground.give(first, to: dead)
        let worker = try TestWorker(kinds, queues: [.init("default", concurrency: 1)]) {
            $0.windowLimit = 50
        }
        _ = try await worker.during {
            try await eventually("the feeder to have gone on") { order.count > 500 }
            _ = try await ground.session.query(
                "UPDATE errand.workers SET last_seen_at = '-infinity' WHERE id = $1",
                [.int64(dead)])
            try await eventually("all to be done") { order.count == 2_000 }
        }
        #expect(Set(order.all) == Set(0..<2_000))
    }

    @Test func `a delay without end does not stop the results of other jobs`() async throws {
        let ground = try await RulesGround()
        var kinds = JobKinds()
        kinds.handleWithOutcome(Plain.self) { job, _ in
            job.n == 0 ? .snooze(.seconds(Int64.max)) : .done
        }
        let ids = try await ground.client().enqueue((0..<10).map { Plain(n: $0) }).map(\.id)
        let summary = try await TestWorker.drain(kinds)
        #expect(summary.completed == 9)
        #expect(summary.snoozed == 1)
        #expect(try await ground.record(ids[0]).state == .scheduled)
    }

    @Test func `an result that is refused for good is buried, and the others are written`()
        async throws
    {
        let ground = try await RulesGround()
        try await ground.session.script(
            """
            ALTER TABLE errand.finished_jobs ADD CHECK (outcome = 'dead' OR args ->> 'n' <> '3')
            """)
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, _ in }
        let ids = try await ground.client().enqueue((0..<10).map { Plain(n: $0) }).map(\.id)
        _ = try await TestWorker.drain(kinds)
        #expect(try await ground.record(ids[3]).state == .dead)
        #expect(try await ground.record(ids[3]).reason?.contains("could not be written") == true)
        for n in [0, 1, 2, 4, 9] {
            #expect(try await ground.record(ids[n]).state == .completed)
        }
    }
}
