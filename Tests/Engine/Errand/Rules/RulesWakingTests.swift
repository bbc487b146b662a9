import Foundation
@testable import Errand
import ErrandPostgres
import ErrandRedis
import ErrandTestServices
import Testing

/// Rules 8 and 11: how jobs start, and how a worker stops.
@Suite("Rules 8 and 11: waking and stopping", .database) struct RulesWakingTests {
    /// Hears what is notified on a channel while `body` runs, without the times.
    private func notices(
        _ ground: RulesGround, _ body: () async throws -> Void
    ) async throws -> [String] {
        let heard = Notebook<String>()
        let listener = ground.database.session("rules-listener")
        try await listener.listen(["errand_ready"]) {
            heard.add(
                $0.payload.replacing(/\tsince\t\d+$/, with: "\tsince")
                    .replacing(/\tjob\t\d+\t2\t\d+$/, with: "\tjob"))
        } onReset: {
            heard.add("reset")
        }
        try await body()
        // Notices come in the order of the commits: after the last one nothing is outstanding.
        _ = try await ground.session.query("SELECT pg_notify('errand_ready', 'end')")
        try await eventually("the last notice") { heard.all.last == "end" }
        await listener.close()
        return heard.all.filter { $0 != "end" && $0 != "reset" }
    }

    @Test func `rule 8: SQL names a few jobs, then notifies once per transaction and lane`()
        async throws
    {
        let ground = try await RulesGround()
        let heard = try await notices(ground) {
            try await ground.session.script(
                """
                BEGIN;
                SELECT errand.enqueue('test.plain', '{"n": 1}') FROM generate_series(1, 500);
                SELECT errand.enqueue('test.plain', '{"n": 1}');
                COMMIT
                """)
            try await ground.session.script(
                """
                BEGIN;
                SELECT errand.enqueue('test.plain', delay => '2 s') FROM generate_series(1, 9);
                SELECT errand.enqueue('test.plain', delay => '1 hour');
                SELECT errand.enqueue('test.note', queue => 'mail', args_version => 3);
                SELECT errand.enqueue('test.note', queue => 'mail', args_version => 4);
                COMMIT
                """)
            try await ground.session.script(
                "BEGIN; SELECT errand.enqueue('test.plain'); ROLLBACK")
        }
        #expect(
            heard == [
                "default\ttest.plain\t1\tjob", "default\ttest.plain\t1\tjob",
                "default\ttest.plain\t1\tjob", "default\ttest.plain\t1\tjob",
                "default\ttest.plain\t1\tsince", "default\ttest.plain\t1\tlater",
                "mail\ttest.note\t3\tjob", "mail\ttest.note\t4\tjob",
            ])
    }

    @Test func `rule 8: a skipped duplicate wakes nobody`() async throws {
        let ground = try await RulesGround()
        _ = try await ground.session.query("SELECT errand.enqueue('test.plain', unique_key => 'k')")
        let heard = try await notices(ground) {
            _ = try await ground.session.query(
                "SELECT errand.enqueue('test.plain', unique_key => 'k')")
        }
        #expect(heard.isEmpty)
    }

    @Test func `rule 8: the Swift client stages what it has committed`() async throws {
        let ground = try await RulesGround()
        let client = try await ground.client()
        let one = try await client.enqueue(Plain(n: 0)).id
        let many = try await client.enqueue((1...9).map { Plain(n: $0) }).map(\.id)
        _ = try await client.enqueue(Plain(n: 10), .init(in: .seconds(3_600)))
        await client.flush()
        // No worker and no feeder runs: nobody else can have done it.
        #expect(try await ground.staged() == [one] + many)
    }

    @Test func `rule 8: inside a transaction nothing is told before the commit`() async throws {
        let ground = try await RulesGround()
        let client = try await ground.client()
        let pool = ground.database.pool()
        let heard = try await notices(ground) {
            try await pool.transaction { transaction in
                _ = try await client.enqueue((0..<50).map { Plain(n: $0) }, in: transaction)
                _ = try await client.enqueue(Plain(n: 50), in: transaction)
                await client.flush()
                #expect(try await ground.staged().isEmpty)
                #expect(try await ground.number("SELECT count(*) FROM errand.jobs") == 0)
            }
            await #expect(throws: Failure.self) {
                try await pool.transaction { transaction in
                    _ = try await client.enqueue(Note(text: "undone"), in: transaction)
                    throw Failure()
                }
            }
        }
        #expect(heard == ["default\ttest.plain\t1\tsince"])
        #expect(try await ground.number("SELECT count(*) FROM errand.jobs") == 51)
    }

    @Test func `rule 8: where jobs come fast the feeder looks, and nobody has to tell it`()
        async throws
    {
        let ground = try await RulesGround()
        let seen = Notebook<Int>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { job, _ in seen.add(job.n) }
        let worker = try TestWorker(kinds) { $0.noticeLimit = 20 }
        let isPolled = "SELECT count(*) FROM errand.polled_lanes WHERE lane LIKE '%test.plain%'"
        _ = try await worker.during {
            var made = 0
            while try await ground.number(isPolled) == 0 {
                made += 1
                _ = try await ground.session.query(
                    "SELECT errand.enqueue('test.plain', jsonb_build_object('n', $1::int))",
                    [.int32(Int32(made))])
            }
            // Of this one nobody tells.
            _ = try await ground.session.query("SELECT errand.enqueue('test.plain', '{\"n\": 0}')")
            try await eventually("all have run") { seen.all.count == made + 1 }
            #expect(Set(seen.all) == Set(0...made))
            try await eventually("it wants to be told again") {
                try await ground.number(isPolled) == 0
            }
            _ = try await ground.session.query("SELECT errand.enqueue('test.plain', '{\"n\": -1}')")
            try await eventually("one that was told of") { seen.all.last == -1 }
        }
    }

    @Test func `rule 8: the slow poll finds what no hint told of`() async throws {
        let ground = try await RulesGround()
        let seen = Notebook<Int>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { job, _ in seen.add(job.n) }
        let worker = try TestWorker(kinds) { $0.pollInterval = .milliseconds(100) }
        _ = try await worker.during {
            // Once something has run, a leader feeds and has read all that there was.
            try await ground.client().enqueue(Plain(n: 0))
            try await eventually("the first job") { seen.all == [0] }
            let early = ground.database.session("rules-early")
            try await early.script(
                """
                BEGIN;
                INSERT INTO errand.jobs (queue, kind, args)
                VALUES ('default', 'test.plain', '{"n": 1}')
                """)
            _ = try await ground.session.query(
                """
                INSERT INTO errand.jobs (queue, kind, args)
                VALUES ('default', 'test.plain', '{"n": 2}')
                """)
            try await eventually("the job without a hint") { seen.all == [0, 2] }
            // This one commits behind the place up to which the feeder has read.
            try await early.script("COMMIT")
            try await eventually("the late commit") { seen.all == [0, 2, 1] }
            await early.close()
        }
    }

    @Test func `rule 11: what has not started goes back as it was`() async throws {
        let ground = try await RulesGround()
        let gate = Gate()
        let started = Notebook<Int64>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, context in
            started.add(context.id)
            try await gate.pass()
        }
        // For its sake nine jobs are claimed ahead.
        kinds.handleBatch(Note.self, upTo: 10) { batch in batch.items.map { _ in .done } }
        _ = try await ground.client().enqueue((0..<200).map { Plain(n: $0) })
        let before = try await ground.session.query("SELECT id, run_at FROM errand.jobs")
        let worker = try TestWorker(kinds, queues: [.init("default", concurrency: 1)])
        let summary = try await worker.during {
            try await eventually("claims beyond the one that runs") {
                try await ground.number("SELECT count(claimed_by) FROM errand.jobs") == 10
                    && started.count == 1
            }
            worker.stop.stop()
            try await eventually("those to go back") {
                try await ground.number("SELECT count(claimed_by) FROM errand.jobs") == 1
            }
            gate.open()
        }
        #expect(summary.requeued == 9)
        #expect(summary.completed == 1)
        try await expectNothingHeld(ground, waiting: 199)
        let after = try await ground.session.query("SELECT id, run_at FROM errand.jobs")
        for row in after {
            let id = try row.int64("id")
            let old = try #require(try before.first { try $0.int64("id") == id })
            #expect(try row.timestamp("run_at") == old.timestamp("run_at"))
        }
    }

    @Test(arguments: [true, false])
    func `rule 11: after the grace what runs is cancelled and goes back`(
        _ listens: Bool
    ) async throws {
        let ground = try await RulesGround()
        let gate = Gate()
        let started = Notebook<Int>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { job, _ in
            started.add(job.n)
            if listens { return try await gate.pass() }
            // Deaf to its cancellation, and in the end it even claims success.
            let deaf = Task { try await gate.pass() }
            try await deaf.value
        }
        _ = try await ground.client().enqueue((0..<40).map { Plain(n: $0) })
        let worker = try TestWorker(kinds, queues: [.init("default", concurrency: 4)]) {
            $0.grace = .milliseconds(20)
        }
        let summary = try await worker.during {
            defer { if !listens { gate.open() } }
            try await eventually("four jobs to run") { started.count == 4 }
            worker.stop.stop()
            guard !listens else { return }
            try await eventually("them to be given up") {
                try await ground.number("SELECT count(claimed_by) FROM errand.jobs") == 0
            }
        }
        #expect(summary.completed == 0)
        #expect(summary.failed == 0)
        #expect(summary.requeued >= 4)
        try await expectNothingHeld(ground, waiting: 40)
    }

    /// Nothing is claimed, no attempt has been used up, and no worker is left in the table.
    private func expectNothingHeld(_ ground: RulesGround, waiting: Int) async throws {
        let rows = try await ground.session.query(
            """
            SELECT count(*), count(claimed_by), count(claim_token), coalesce(max(attempt), 0)::int,
                count(errors) FROM errand.jobs
            """)
        #expect(try rows.int64(0, 0) == Int64(waiting))
        #expect(try rows.int64(0, 1) == 0)
        #expect(try rows.int64(0, 2) == 0)
        #expect(try rows.int32(0, 3) == 0)
        #expect(try rows.int64(0, 4) == 0)
        #expect(try await ground.number("SELECT count(*) FROM errand.workers") == 0)
    }
}
