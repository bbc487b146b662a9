import ErrandAdministration
import Foundation
@testable import Errand
import ErrandPostgres
import ErrandTestServices
import Testing

/// Which job goes first, and which must wait.
@Suite("Rules of order: priorities, weights, pauses", .database) struct RulesOrderTests {
    @Test func `the best priority of a queue goes first whatever its kind`() async throws {
        let ground = try await RulesGround()
        let seen = Notebook<String>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { job, _ in seen.add("plain \(job.n)") }
        kinds.handle(Note.self) { job, _ in seen.add("note \(job.text)") }
        let client = try await ground.client()
        for priority in Priority.allCases.reversed() {
            let rank = Int(priority.rawValue)
            try await client.enqueue(Plain(n: rank), .init(priority: priority))
            try await client.enqueue(Note(text: "\(rank)"), .init(priority: priority))
        }
        await client.flush()
        _ = try await TestWorker.drain(kinds, queues: [.init("default", concurrency: 1)])
        #expect(seen.all == (0...3).flatMap { ["plain \($0)", "note \($0)"] })
    }

    @Test func `a better priority passes a backlog that fills the window`() async throws {
        let ground = try await RulesGround()
        let gate = Gate()
        let seen = Notebook<Int>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { job, _ in
            seen.add(job.n)
            try await gate.pass()
        }
        let client = try await ground.client(hinting: false)
        _ = try await client.enqueue((0..<2_000).map { Plain(n: $0) }, .init(priority: .low))
        let worker = try TestWorker(kinds, queues: [.init("default", concurrency: 1)]) {
            $0.windowLimit = 100
        }
        _ = try await worker.during {
            try await eventually("the window to fill") {
                try await ground.stagedCount() >= 99 && seen.count == 1
            }
            let urgent = try await client.enqueue(Plain(n: -1), .init(priority: .high)).id
            try await eventually("the urgent job to be staged first") {
                try await ground.staged().first == urgent
            }
            gate.open()
            try await eventually("some jobs") { seen.count > 50 }
        }
        // At most what was popped before it, one job, lies between.
        #expect(try #require(seen.all.firstIndex(of: -1)) <= 2)
    }

    @Test func `a claim is shared among queues by their weights`() async throws {
        let ground = try await RulesGround()
        try await ground.session.script(
            """
            CREATE TABLE public.claims (transaction xid8, queue text, jobs bigint);
            CREATE FUNCTION public.count_claims() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                INSERT INTO public.claims
                SELECT pg_current_xact_id(), queue, count(*) FROM changed
                WHERE claimed_by IS NOT NULL GROUP BY queue;
                RETURN NULL;
            END $$;
            CREATE TRIGGER count_claims AFTER UPDATE ON errand.jobs
            REFERENCING NEW TABLE AS changed FOR EACH STATEMENT
            EXECUTE FUNCTION public.count_claims();
            """)
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, _ in }
        let client = try await ground.client()
        for queue in ["heavy", "light"] {
            _ = try await client.enqueue((0..<2_000).map { Plain(n: $0) }, .init(queue: queue))
        }
        await client.flush()
        let summary = try await TestWorker.drain(
            kinds,
            queues: [
                .init("heavy", concurrency: 2_000, weight: 3),
                .init("light", concurrency: 2_000, weight: 1),
            ])
        #expect(summary.completed == 4_000)
        let first = try await ground.session.query(
            """
            SELECT queue, jobs FROM claims
            WHERE transaction = (SELECT min(transaction) FROM claims) ORDER BY queue
            """)
        #expect(try first.map { try $0.text(0) } == ["heavy", "light"])
        #expect(try first.map { try $0.int64(1) } == [750, 250])
    }

    @Test func `a pause hands back what waits, spares what runs, and leaves other queues alone`()
        async throws
    {
        let ground = try await RulesGround()
        let gate = Gate()
        let started = Notebook<Int>()
        let other = Notebook<Int>()
        let said = Notebook<String>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { job, context in
            if context.queue == "other" { return other.add(job.n) }
            started.add(job.n)
            if job.n == 0 { try await gate.pass() }
        }
        let inspector = Inspector(session: ground.session)
        let client = try await ground.client()
        _ = try await client.enqueue((0..<100).map { Plain(n: $0) })
        let worker = try TestWorker(
            kinds, queues: [.init("default", concurrency: 1), .init("other")],
            log: Log { said.add($0.message) })
        let summary = try await worker.during {
            try await eventually("the first job to run") { started.all == [0] }
            #expect(try await inspector.pause("default", by: "kim", reason: "flood"))
            let queue = try await inspector.queues(named: "default")[0]
            #expect(queue.pausedAt != nil)
            #expect(queue.pausedBy == "kim" && queue.pauseReason == "flood")
            try await eventually("the worker to know") {
                said.all.contains("queue default paused")
            }
            try await eventually("all but the running one to wait") {
                try await ground.number("SELECT count(claimed_by) FROM errand.jobs") == 1
            }
            gate.open()
            try await eventually("the running one to end") {
                try await ground.number("SELECT count(*) FROM errand.jobs") == 99
            }
            _ = try await client.enqueue((0..<20).map { Plain(n: $0) }, .init(queue: "other"))
            try await eventually("the other queue's jobs") { other.count == 20 }
            #expect(started.all == [0])
            #expect(
                try await ground.number(
                    "SELECT max(attempt) FROM errand.jobs WHERE claimed_by IS NULL") == 0)
            #expect(try await inspector.resume("default"))
            try await eventually("the resumed queue") { started.count == 100 }
        }
        #expect(summary.completed == 120)
        #expect(try await inspector.queues(named: "default")[0].pausedBy == nil)
        #expect(try await !inspector.pause("nowhere", by: "kim", reason: nil))
        #expect(try await !inspector.resume("nowhere"))
    }
}
