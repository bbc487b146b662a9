import ErrandAdministration
import Foundation
@testable import Errand
import ErrandPostgres
import ErrandTestServices
import Testing

/// Rule 3: a claim is a fence.
@Suite("Rule 3: a claim is a fence", .database) struct RulesFenceTests {
    /// Runs `body` as the handler of some jobs that are given to another worker before it ends,
    /// and expects that nothing of it was written.
    private func expectFencedOff(
        _ count: Int = 4, body: @escaping @Sendable (Plain, JobContext) async throws -> Outcome
    ) async throws {
        let ground = try await RulesGround()
        let other = try await ground.absentWorker()
        var kinds = JobKinds()
        kinds.handleWithOutcome(Plain.self) { job, context in
            try await ground.give([context.id], to: other)
            return try await body(job, context)
        }
        let ids = try await ground.client().enqueue(
            (0..<count).map { Plain(n: $0) }, .init(maxAttempts: 2)
        ).map(\.id)
        let before = try await ground.session.query("SELECT id, run_at FROM errand.jobs")
        let summary = try await TestWorker.drain(kinds)
        #expect(summary.fencedOff == count)
        #expect(summary.completed == 0)
        let after = try await ground.session.query(
            "SELECT id, run_at, claimed_by, claim_token, attempt, errors FROM errand.jobs")
        #expect(after.count == ids.count)
        for row in after {
            let id = try row.int64("id")
            let old = try #require(try before.first { try $0.int64("id") == id })
            #expect(try row.timestamp("run_at") == old.timestamp("run_at"))
            #expect(try row.int64("claimed_by") == other)
            #expect(try row.int64("claim_token") == 4_711)
            #expect(try row.int16("attempt") == 2)
            #expect(try row.isNull("errors"))
        }
        #expect(try await ground.number("SELECT count(*) FROM errand.finished_jobs") == 0)
        #expect(try await ground.number("SELECT count(*) FROM errand.demo_ledger") == 0)
        #expect(try await ground.number("SELECT count(*) FROM errand.once_effects") == 0)
    }

    @Test func `rule 3: a completion with a stale token writes nothing`() async throws {
        try await expectFencedOff { _, _ in .done }
    }

    @Test func `rule 3: a retry or snooze with a stale token writes nothing`() async throws {
        try await expectFencedOff { job, _ in
            switch job.n {
            case 0: .snooze(.zero)
            case 1: .snooze(.seconds(60))
            case 2: .retry(after: .zero, reason: "again")
            default: throw Failure()
            }
        }
    }

    @Test func `rule 3: giving up with a stale token writes nothing`() async throws {
        try await expectFencedOff { job, _ in
            job.n % 2 == 0 ? .dead(reason: "hopeless") : .discard(reason: "unwanted")
        }
    }

    @Test func `rule 3: a stale token undoes the handler's own writes`() async throws {
        try await expectFencedOff { _, context in
            try await context.database.transaction { transaction in
                try await transaction.query(
                    "INSERT INTO errand.demo_ledger (job_id, queue) VALUES ($1, 'default')",
                    [.int64(context.id)])
                try await context.complete(in: transaction)
            }
            Issue.record("the completion was taken")
            return .done
        }
    }

    @Test func `rule 3: an effect done under a stale token is not recorded`() async throws {
        try await expectFencedOff { _, context in
            do {
                _ = try await context.once("charge") { 42 }
                Issue.record("the effect was recorded")
            } catch JobError.claimLost(let job) {
                #expect(job == context.id)
            }
            return .done
        }
    }

    @Test func `rule 3: one stale token undoes the writes of a whole batch`() async throws {
        let ground = try await RulesGround()
        let other = try await ground.absentWorker()
        var kinds = JobKinds()
        kinds.handleBatch(Plain.self, upTo: 10) { batch in
            let lost = batch.items.filter { $0.job.n == 0 && $0.context.attempt == 1 }
            try await ground.give(lost.map(\.context.id), to: other)
            try await batch.items[0].context.database.transaction { transaction in
                for item in batch.items {
                    try await transaction.query(
                        "INSERT INTO errand.demo_ledger (job_id, queue) VALUES ($1, 'default')",
                        [.int64(item.context.id)])
                }
                try await batch.complete(batch.items, in: transaction)
            }
            return batch.items.map { _ in .done }
        }
        let ids = try await ground.client().enqueue((0..<10).map { Plain(n: $0) }).map(\.id)
        let summary = try await TestWorker.drain(kinds)
        #expect(summary.fencedOff == 1)
        #expect(summary.completed == 9)
        let ledger = try await ground.session.query(
            "SELECT job_id FROM errand.demo_ledger ORDER BY job_id")
        #expect(try ledger.map { try $0.int64(0) } == Array(ids.sorted().dropFirst()))
        #expect(try await ground.record(ids[0]).worker == other)
    }

    @Test func `rule 3: each batch of claims has a token drawn by lot`() async throws {
        let ground = try await RulesGround()
        var kinds = JobKinds()
        let tokens = Notebook<(id: Int64, token: Int64)>()
        kinds.handleWithOutcome(Plain.self) { _, context in
            tokens.add((context.id, context.claimToken))
            return context.attempt == 1 ? .retry(after: .zero, reason: "again") : .done
        }
        let client = try await ground.client()
        // Two workers, one after the other: a second one must not begin where the first did.
        for _ in 0..<2 {
            let made = try await client.enqueue((0..<20).map { Plain(n: $0) }).map(\.id)
            await client.flush()
            let earlier = Set(tokens.all.map(\.token))
            _ = try await TestWorker.drain(kinds)
            let own = tokens.all.filter { made.contains($0.id) }
            #expect(own.count == 40)
            #expect(earlier.isDisjoint(with: own.map(\.token)))
            for claims in Dictionary(grouping: own, by: \.id).values {
                #expect(Set(claims.map(\.token)).count == 2)
            }
        }
        let distinct = Set(tokens.all.map(\.token))
        #expect(distinct.count >= 4)
        #expect(distinct.count < 80, "a token serves a batch")
        // Counted numbers are small or lie together; drawn ones are spread over 64 bits.
        #expect(distinct.allSatisfy { $0.magnitude > 1 << 32 })
        let sorted = distinct.sorted()
        #expect(
            zip(sorted, sorted.dropFirst()).allSatisfy {
                $1.subtractingReportingOverflow($0).1
                    || $1 - $0 > 1 << 32
            })
    }

    @Test func `rule 3: what was done once stays done when a dead letter is retried`()
        async throws
    {
        let ground = try await RulesGround()
        let effects = Notebook<Int>()
        let isMended = Notebook<Bool>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, context in
            try await context.once("pay") { effects.add(1) }
            if isMended.count == 0 { throw Failure() }
        }
        let id = try await ground.client().enqueue(Plain(n: 0), .init(maxAttempts: 1)).id
        _ = try await TestWorker.drain(kinds)
        #expect(try await ground.record(id).state == .dead)
        // The leader's retention comes by every ten minutes.
        try await Retention(session: ground.session, log: .silent).run(now: .now())
        isMended.add(true)
        #expect(try await Inspector(session: ground.session).retry([id]) == [id: .retried])
        _ = try await TestWorker.drain(kinds)
        #expect(try await ground.record(id).state == .completed)
        #expect(effects.count == 1)
        // Nothing can repeat a completed job by itself, so its record may go.
        try await Retention(session: ground.session, log: .silent).run(now: .now())
        #expect(try await ground.number("SELECT count(*) FROM errand.once_effects") == 0)
    }
}
