import ErrandAdministration
import Foundation
@testable import Errand
import ErrandPostgres
import ErrandRedis
import ErrandTestServices
import Testing

/// Rules 1 and 2: what Redis may know, and what its loss may cost.
@Suite("Rules 1 and 2: Redis dispatches", .database) struct RulesRedisTests {
    @Test func `rule 1: Redis holds ids and never arguments`() async throws {
        let ground = try await RulesGround()
        let gate = Gate()
        var kinds = JobKinds()
        kinds.handle(Note.self) { _, context in
            try await gate.pass()
            if context.attempt == 1 { throw Failure() }
        }
        let secret = "jane.doe@example.org"
        let client = try await ground.client()
        let made = try await client.enqueue(
            (0..<300).map { Note(text: "\(secret) \($0)") },
            .init(backoff: Backoff(base: 0, jitter: 0), tags: [secret]))
        _ = try await ground.session.query(
            """
            SELECT errand.enqueue('test.note', '{"text": "\(secret)"}', unique_key => '\(secret)'),
                errand.enqueue('test.note', '{"text": "\(secret)"}', delay => '1 s')
            """)
        await client.flush()
        let ids = Set(
            try await ground.session.query("SELECT id FROM errand.jobs").map { try $0.int64(0) })
        func expectOnlyIds() async throws {
            for (key, contents) in try await ground.ownKeys() {
                #expect(!contents.contains { $0.contains("jane") || $0.contains("@") }, "\(key)")
                guard key.contains("}:w:") else { continue }
                #expect(contents.allSatisfy { Int64($0).map(ids.contains) == true }, "\(key)")
            }
        }
        let lane = Lane(queue: "default", kind: Note.kind, version: 1)
        #expect(try await ground.staged(lane).sorted() == made.map(\.id).sorted())
        try await expectOnlyIds()
        let worker = try TestWorker(kinds, queues: [.init("default", concurrency: 2)])
        let summary = try await worker.during {
            // The feeder's own staging, the retries, and the delayed job.
            try await eventually("the job of SQL to be staged") {
                try await ground.stagedCount(lane) >= 299
            }
            try await expectOnlyIds()
            gate.open()
            try await eventually("all jobs to end") {
                let count = try await ground.number("SELECT count(*) FROM errand.jobs")
                try await expectOnlyIds()
                return count == 0
            }
        }
        #expect(summary.completed == 302)
        try await expectOnlyIds()
    }

    @Test func `rule 1: a backlog of any length fills a window and no more`() async throws {
        let ground = try await RulesGround()
        let limit = 200
        let seen = Notebook<Int>()
        let sizes = Notebook<Int>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { job, _ in
            if job.n % 500 == 0 { sizes.add(try await ground.stagedCount()) }
            seen.add(job.n)
        }
        let client = try await ground.client(hinting: false)
        _ = try await client.enqueue((0..<30_000).map { Plain(n: $0) })
        let worker = try TestWorker(kinds) {
            $0.windowLimit = limit
            $0.pollInterval = .milliseconds(50)
        }
        _ = try await worker.during {
            try await eventually("all jobs to be done", within: .seconds(60)) {
                seen.count >= 30_000
            }
        }
        #expect(seen.all.sorted() == Array(0..<30_000))
        #expect(sizes.count == 60)
        #expect(sizes.all.allSatisfy { $0 <= 2 * limit })
        #expect(sizes.all.contains { $0 > 0 })
    }

    /// Works the paused queue "default", where what `fill` enqueues piles up, and a queue beside
    /// it, whose jobs tell how far the feeder has come; then lets the backlog run.
    private func expectBounded(
        limit: Int, total: Int,
        fill: (RulesGround, _ fed: () async throws -> Void) async throws -> Void
    ) async throws {
        let ground = try await RulesGround()
        let seen = Notebook<Int>()
        let beside = Notebook<String>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { job, _ in seen.add(job.n) }
        kinds.handle(Note.self) { job, _ in beside.add(job.text) }
        let inspector = Inspector(session: ground.session)
        #expect(try await inspector.pause("default", by: "test", reason: nil))
        let queues: [WorkerOptions.Queue] = [.init("default"), .init("beside")]
        let worker = try TestWorker(kinds, queues: queues) { $0.windowLimit = limit }
        _ = try await worker.during {
            try await fill(ground) {
                let before = beside.count
                _ = try await ground.session.query(
                    "SELECT errand.enqueue('test.note', '{\"text\": \"\"}', queue => 'beside')")
                try await eventually("the feeder to come by") { beside.count > before }
            }
            let staged = try await ground.stagedCount()
            #expect(staged > 0)
            #expect(staged <= 2 * limit, "\(staged) ids for a limit of \(limit)")
            #expect(seen.count == 0)
            #expect(try await inspector.resume("default"))
            try await eventually("the backlog to be done") { seen.count >= total }
        }
        #expect(seen.all.sorted() == Array(0..<total))
    }

    @Test func `rule 1: a backlog that grows drop by drop stays bounded`() async throws {
        try await expectBounded(limit: 100, total: 1_200) { ground, fed in
            for drop in 0..<30 {
                _ = try await ground.session.query(
                    """
                    SELECT errand.enqueue('test.plain', jsonb_build_object('n', \(drop) * 40 + n))
                    FROM generate_series(0, 39) AS n
                    """)
                try await fed()
            }
            try await fed()
        }
    }

    @Test func `rule 1: delayed jobs that fall due together stay bounded`() async throws {
        try await expectBounded(limit: 100, total: 3_000) { ground, fed in
            try await fed()
            _ = try await ground.session.query(
                """
                SELECT errand.enqueue('test.plain', jsonb_build_object('n', n), delay => '700 ms')
                FROM generate_series(0, 2999) AS n
                """)
            try await eventually("them to be due") {
                try await ground.number(
                    "SELECT count(*) FROM errand.jobs WHERE run_at > clock_timestamp()") == 0
            }
            // Their staging goes before what the feeder is asked for after it.
            for _ in 0..<3 { try await fed() }
            try await eventually("them to be staged") { try await ground.stagedCount() > 0 }
        }
    }

    @Test func `rule 2: staging twice is staging once`() async throws {
        let ground = try await RulesGround()
        let seen = Notebook<Int>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { job, _ in seen.add(job.n) }
        let made = try await ground.client(hinting: false).enqueue(
            (0..<50).map { Plain(n: $0) })
        let jobs = try made.map {
            Staged(id: $0.id, priority: 2, runAt: try #require($0.runAt))
        }
        let window = ground.window()
        for _ in 0..<2 {
            try await window.stage([(lane: RulesGround.lane, jobs: jobs)])
            _ = try await window.offer(jobs, to: RulesGround.lane)
        }
        #expect(try await ground.staged() == made.map(\.id))
        _ = try await TestWorker.drain(kinds)
        // What is finished may be staged again: a feeder may have read it before.
        try await window.stage([(lane: RulesGround.lane, jobs: jobs)])
        let summary = try await TestWorker.drain(kinds)
        #expect(summary.completed == 0)
        #expect(seen.all.sorted() == Array(0..<50))
        #expect(try await ground.number("SELECT count(*) FROM errand.finished_jobs") == 50)
    }

    @Test func `rule 2: ids of jobs that are not to be had are dropped in silence`() async throws {
        let ground = try await RulesGround()
        let seen = Notebook<Int>()
        let lines = Notebook<String>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { job, _ in seen.add(job.n) }
        let client = try await ground.client(hinting: false)
        let finished = try await client.enqueue(Plain(n: 0)).id
        _ = try await TestWorker.drain(kinds)
        let made = try await client.enqueue((1...4).map { Plain(n: $0) }).map(\.id)
        let inspector = Inspector(session: ground.session)
        #expect(try await inspector.cancel([made[0]], by: "test") == [made[0]: .cancelled])
        let other = try await ground.absentWorker()
        try await ground.give([made[1]], to: other)
        _ = try await ground.session.query(
            "UPDATE errand.jobs SET run_at = run_at + '1 hour' WHERE id = $1", [.int64(made[2])])
        let staged = ([finished, 999_999] + made).map {
            Staged(id: $0, priority: 0, runAt: .negativeInfinity)
        }
        try await ground.window().stage([(lane: RulesGround.lane, jobs: staged)])
        let summary = try await TestWorker.drain(
            kinds, log: Log(minimum: .warning) { lines.add($0.message) })
        #expect(seen.all == [0, 4])
        #expect(summary.completed == 1)
        #expect(lines.all.isEmpty)
        let claimed = try await ground.record(made[1])
        #expect(claimed.worker == other)
        #expect(claimed.attempt == 1)
        #expect(try await ground.record(made[2]).attempt == 0)
    }

    @Test func `rule 2: losing all keys again and again loses and repeats nothing`() async throws {
        let ground = try await RulesGround()
        let seen = Notebook<Int>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { job, _ in
            if job.n % 400 == 17 { try await ground.loseKeys() }
            seen.add(job.n)
        }
        let client = try await ground.client()
        for start in stride(from: 0, to: 6_000, by: 2_000) {
            try await client.enqueue((start..<(start + 2_000)).map { Plain(n: $0) })
        }
        let worker = try TestWorker(kinds) { $0.windowLimit = 500 }
        let summary = try await worker.during {
            try await eventually("all jobs to be done") { seen.count >= 6_000 }
        }
        #expect(seen.all.sorted() == Array(0..<6_000))
        #expect(summary.completed == 6_000)
        #expect(summary.fencedOff == 0)
    }
}
