import Foundation
@testable import Errand
import ErrandPostgres
import ErrandRecurrence
import ErrandTestServices
import Testing

/// The scheduler inside running workers, by the real clock.
@Suite(.database) struct SchedulerTests {
    let ground: ScheduleGround

    init() throws { ground = try ScheduleGround() }

    private func kinds(_ seen: Notebook<(ScheduledOccurrence?, Date)>) throws -> JobKinds {
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, context in seen.add((context.occurrence, context.now)) }
        kinds.schedule(try Schedule("each-second", "@every 1s", run: Plain(n: 1)))
        return kinds
    }

    private func repeatedOccurrences() async throws -> Int {
        try await ground.number(
            """
            SELECT count(*) - count(DISTINCT options -> 'occurrence' ->> 'due')
            FROM errand.finished_jobs
            """)
    }

    @Test func `a worker runs what its program declares, none before its time`() async throws {
        let seen = Notebook<(ScheduledOccurrence?, Date)>()
        _ = try await TestWorker(kinds(seen)).during {
            try await eventually("four runs") { seen.count >= 4 }
        }
        let runs = seen.all.compactMap { run in run.0.map { (due: $0.due, began: run.1) } }
        #expect(runs.count == seen.count)
        let dues = runs.map(\.due).sorted()
        #expect(zip(dues, dues.dropFirst()).allSatisfy { $1.timeIntervalSince($0) == 1 })
        // Its job was made ahead; it is the claim that waits for the time. PostgreSQL's clock and
        // ours are one here.
        #expect(runs.allSatisfy { $0.began >= $0.due })
        #expect(try await repeatedOccurrences() == 0)
    }

    @Test func `another worker goes on when the leader stops or loses its connection`()
        async throws
    {
        let seen = Notebook<(ScheduledOccurrence?, Date)>()
        let first = try TestWorker(kinds(seen))
        let second = try TestWorker(kinds(seen))
        async let firstSummary = first.run()
        try await eventually("the first leads") { seen.count >= 1 }
        async let secondSummary = second.run()
        // Its connection is cut twice; then the process of the leader stops.
        for _ in 0..<2 {
            let before = seen.count
            _ = try await ground.session.query(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE application_name LIKE 'errand-schedule%' AND datname = current_database()
                """)
            try await eventually("they go on") { seen.count >= before + 2 }
        }
        first.stop.stop()
        _ = try await firstSummary
        let before = seen.count
        try await eventually("the second goes on") { seen.count >= before + 2 }
        second.stop.stop()
        _ = try await secondSummary
        #expect(Set(seen.all.compactMap(\.0?.due)).count == seen.count)
        #expect(try await repeatedOccurrences() == 0)
    }

    @Test func `a worker told not to, or one that drains, runs none`() async throws {
        let seen = Notebook<(ScheduledOccurrence?, Date)>()
        let kinds = try kinds(seen)
        _ = try await TestWorker.drain(kinds)
        let idle = try TestWorker(kinds) { $0.runsSchedules = false }
        _ = try await idle.during {
            let client = try await JobClient(pool: TestDatabase.here().pool(), redis: nil)
            _ = try await client.enqueue(Plain(n: 2))
            try await eventually("it works") { seen.count == 1 }
        }
        #expect(try await ground.stored("each-second").replan == .new)
        #expect(seen.all.first?.0 == nil)
    }

    @Test func `a tick makes what came since the last and then nothing`() async throws {
        let database = try TestDatabase.here()
        try await ground.put("ten")
        func tick(_ now: Instant) async throws -> PassSummary {
            try await Scheduler(
                database: database.url, clock: .given(now, pace: 0), zones: ZoneDatabase(),
                timeout: .seconds(20), log: .silent
            ).tick()
        }
        #expect(try await tick(at("10:09")).enqueued == 0)
        #expect(try await tick(at("10:10")).enqueued == 1)
        #expect(try await tick(at("10:10")) == PassSummary())
        #expect(try await tick(at("10:35")) == PassSummary(enqueued: 1, missed: 1, schedules: 1))
    }

    @Test func `a given clock runs at its pace`() {
        let clock = ScheduleClock.given(at("10:00"), pace: 100)
        #expect(clock.wait(for: .seconds(50)) == .milliseconds(500))
        let first = clock.now
        let second = clock.now
        #expect(first.map { $0 >= at("10:00") } == true)
        #expect((first ?? .infinity) <= (second ?? .negativeInfinity))
        #expect(ScheduleClock.server.now == nil)
        let still = ScheduleClock.given(at("10:00"), pace: 0)
        #expect(still.now == at("10:00"))
    }
}
