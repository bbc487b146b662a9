import ErrandAdministration
import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

@testable import Errand

@Suite("Activity in memory") struct ActivityCountersTests {
    private let book = ActivityCounters(queue: "default")
    private let minute: Int64 = 60_000_000

    private func jobs(_ count: Int, kind: String = Plain.kind, attempt: Int = 1) -> [ClaimedJob] {
        (0..<count).map { id in
            ClaimedJob(
                id: Int64(id), token: 7, lane: Lane(queue: "default", kind: kind, version: 1),
                attempt: attempt, maxAttempts: 3, priority: 2, runAt: Instant(microseconds: 0),
                notAfter: nil, isCancelRequested: false, args: Array("{}".utf8), overrides: nil)
        }
    }

    private func result(_ verdict: AttemptResult.Verdict, took duration: Float = 5) -> AttemptResult
    {
        AttemptResult(
            id: 1, token: 7, lane: Lane(queue: "default", kind: Plain.kind, version: 1),
            verdict: verdict, duration: duration, keepDays: nil)
    }

    @Test func `it counts first starts, and what became of each attempt`() throws {
        let now = Instant(microseconds: 90 * minute + 7)
        book.started(jobs(3), at: now)
        book.started(jobs(1, attempt: 2), at: now)
        book.ended(
            [
                result(.cancelled(reason: "too late")), result(.completed), result(.completed),
                result(.dead(reason: "x", error: nil)), result(.waiting(delay: .zero, error: "x")),
                result(.waiting(delay: .zero, error: nil)), result(.requeued),
            ], at: now, neverRan: 1)
        let entry = try #require(book.takeChanged().first)
        let page = entry.page
        #expect(entry.minute == Instant(microseconds: 90 * minute))
        #expect(entry.queue == "default" && entry.kind == Plain.kind)
        #expect(page.started == 3 && page.waits.total == 4 && page.runs.total == 6)
        #expect(page.completed == 2 && page.cancelled == 1 && page.dead == 1)
        #expect(page.retried == 1 && page.snoozed == 1)
    }

    @Test func `only what has changed is written again, and whole`() {
        let now = Instant(microseconds: 90 * minute)
        book.started(jobs(2), at: now)
        book.started(jobs(1, kind: "test.other"), at: now)
        #expect(book.takeChanged().count == 2)
        #expect(book.takeChanged().isEmpty)
        book.started(jobs(1), at: now)
        let again = book.takeChanged()
        #expect(again.map(\.page.started) == [3])
        book.putBack(again)
        #expect(book.takeChanged().map(\.page.started) == [3])
    }

    @Test func `minutes stand apart, also when the clock is put back`() {
        for at in [5, 6, 5, 6, 7] as [Int64] {
            book.started(jobs(1), at: Instant(microseconds: at * minute))
        }
        let entries = book.takeChanged().sorted { $0.minute < $1.minute }
        #expect(entries.map(\.page.started) == [2, 2, 1])
        // While the database is away, old minutes make room.
        for at in Int64(10)..<40 { book.started(jobs(1), at: Instant(microseconds: at * minute)) }
        #expect(book.takeChanged().count == 10)
    }
}

@Suite("Activity in the database", .database) struct ActivityTests {
    private func worked() async throws -> RulesGround {
        let ground = try await RulesGround()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { job, _ in if job.n < 0 { throw Failure() } }
        let client = try await ground.client()
        _ = try await client.enqueue((0..<20).map { Plain(n: $0) })
        _ = try await client.enqueue([Plain(n: -1)], .init(maxAttempts: 2))
        let summary = try await TestWorker.drain(kinds)
        #expect(summary.completed == 20 && summary.dead == 1)
        return ground
    }

    @Test func `a worker that lives a moment leaves its numbers`() async throws {
        let ground = try await worked()
        func number(_ column: String) async throws -> Int {
            try await ground.number(
                "SELECT (coalesce(sum(\(column)), 0))::bigint FROM errand.activity")
        }
        #expect(try await number("started") == 21)
        #expect(try await number("completed") == 20)
        #expect(try await number("retried") == 1)
        #expect(try await number("dead") == 1)
        for column in ["wait_counts", "run_counts"] {
            let total = try await number("(SELECT sum(n) FROM unnest(\(column)) AS n)")
            #expect(total == 22)
        }
        let queue = try await Inspector(session: ground.session).queues(named: "default")[0]
        #expect(queue.waits.total == 22 && queue.rateOut > 0 && queue.rateIn ?? 0 > 0)
    }

    @Test func `after an hour rows are put together, after a day they go`() async throws {
        let ground = try await worked()
        try await ground.session.script(
            """
            UPDATE errand.activity SET minute = date_bin('10 min', minute, '2000-01-01')
                - interval '2 hours' + interval '3 min' WHERE minute = (
                SELECT min(minute) FROM errand.activity);
            INSERT INTO errand.activity SELECT minute + interval '1 min', worker + 7, started,
                completed, retried, dead, cancelled, snoozed, queue, kind, wait_buckets,
                wait_counts, run_buckets, run_counts
            FROM errand.activity WHERE minute < now() - interval '1 hour';
            INSERT INTO errand.activity (minute, worker, queue, kind, completed)
            VALUES (now() - interval '26 hours', 3, 'default', 'test.plain', 5);
            """)
        let inspector = Inspector(session: ground.session)
        let before = try await inspector.kindNumbers(named: Plain.kind, since: .seconds(82_800))[0]
        for _ in 0..<2 {
            try await Retention(session: ground.session, log: .silent).run(now: .now())
        }
        let after = try await inspector.kindNumbers(named: Plain.kind, since: .seconds(82_800))[0]
        #expect(before.completed >= 20 && after.completed == before.completed)
        #expect(after.failed == before.failed && after.waits == before.waits)
        #expect(after.runs == before.runs)
        #expect(
            try await ground.number(
                """
                SELECT count(*) FROM errand.activity
                WHERE minute < now() - interval '1 hour' AND worker > 0
                """) == 0)
        #expect(
            try await ground.number(
                "SELECT count(*) FROM errand.activity WHERE minute < now() - interval '25 hours'")
                == 0)
    }

    @Test(arguments: [
        "ALTER TABLE errand.activity RENAME TO elsewhere",
        "BEGIN; LOCK TABLE errand.activity",
    ])
    func `what cannot be written disturbs no work`(fault: String) async throws {
        let ground = try await RulesGround()
        let other = ground.database.session("rules-fault")
        try await other.script(fault)
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, _ in }
        _ = try await ground.client().enqueue((0..<5).map { Plain(n: $0) })
        #expect(try await TestWorker.drain(kinds).completed == 5)
        #expect(try await ground.number("SELECT count(*) FROM errand.workers") == 0)
        await other.close()
    }
}
