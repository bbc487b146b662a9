import ErrandAdministration
import Foundation
@testable import Errand
import ErrandPostgres
import ErrandRecurrence
import ErrandTestServices
import Testing

/// Schedules that several hands touch at once, and what becomes of jobs behind their backs.
@Suite(.database) struct ScheduleRaceTests {
    let ground: ScheduleGround

    init() throws { ground = try ScheduleGround() }

    private func backfill(from: String, to: String) async throws -> Schedules.Backfill {
        try #require(
            try await ground.schedules.backfill("ten", from: at(from), to: at(to), limit: 100))
    }

    @Test(arguments: ["replace", "cancel"])
    func `a job that a backfill made ahead of the pass stays`(overlap: String) async throws {
        try await ground.put("ten", ["overlap": overlap])
        let plan = try await backfill(from: "10:10", to: "10:11")
        #expect(try await ground.schedules.run(plan) == 1)
        #expect(try await ground.fire(at: at("10:10")).enqueued == 0)
        try await ground.tells("ten", ["10:10 enqueued"])
        #expect(try await ground.liveJobs().count == 1)
    }

    @Test func `a backfill makes nothing of what was merged meanwhile`() async throws {
        try await ground.put("ten", ["catch_up": "merge"])
        let plan = try await backfill(from: "10:10", to: "10:50")
        #expect(plan.missing.count == 4)
        try await ground.fire(at: at("10:45"))
        #expect(try await ground.schedules.run(plan) == 0)
        #expect(try await ground.liveJobs().count == 1)
    }

    @Test(arguments: ["buffer-one", "cancel"])
    func `what was merged into a held one is in its job`(overlap: String) async throws {
        try await ground.put("ten", ["catch_up": "merge", "overlap": overlap])
        try await ground.fire(at: at("10:10"))
        try await ground.claimAll()
        try await ground.fire(at: at("10:45"))
        try await ground.tells(
            "ten",
            ["10:10 enqueued", "10:20 skipped 10:40", "10:30 skipped 10:40", "10:40 held"])
        _ = try await ground.session.query("DELETE FROM errand.jobs")
        try await ground.fire(at: at("10:46"))
        let options = try await ground.session.query(
            "SELECT options -> 'occurrence' FROM errand.jobs")
        let occurrence = try JSONDecoder().decode(
            ScheduledOccurrence.self, from: Data(try options.json(0, 0)))
        #expect(occurrence.due == at("10:40").date)
        #expect(occurrence.missed == [at("10:20").date, at("10:30").date])
    }

    @Test func `one that could not be read for hours is caught up as its policy says`()
        async throws
    {
        try await ground.put("ten", ["recurrence": "* * * * *", "catch_up": "none"])
        _ = try await ground.session.query("UPDATE errand.schedules SET zone = 'Mars/Olympus'")
        for minute in stride(from: 1, to: 120, by: 10) {
            try await ground.fire(at: at("10:00").adding(.seconds(minute * 60)))
        }
        _ = try await ground.session.query("UPDATE errand.schedules SET zone = 'UTC'")
        #expect(try await ground.fire(at: at("12:10:30")).enqueued == 1)
        try await ground.tells("ten", ["12:10 enqueued"])
    }

    @Test func `a dead job that is retried counts as running again`() async throws {
        try await ground.put("ten", ["overlap": "skip"])
        try await ground.fire(at: at("10:10"))
        let jobs = try await ground.liveJobs()
        try await ground.runJobs(failing: true)
        try await ground.fire(at: at("10:11"))
        try await ground.tells("ten", ["10:10 dead"])
        _ = try await Inspector(session: ground.session).retry(jobs)
        try await ground.fire(at: at("10:20"))
        try await ground.tells("ten", ["10:10 enqueued", "10:20 skipped"])
        try await ground.runJobs()
        try await ground.fire(at: at("10:30"))
        try await ground.tells("ten", ["10:10 completed", "10:20 skipped", "10:30 enqueued"])
    }

    @Test func `the ends of runs are counted once, whoever writes them down`() async throws {
        for n in 0..<20 { try await ground.put("s\(n)", ["pause_after": 2]) }
        try await ground.fire(at: at("10:10"))
        try await ground.runJobs(failing: true)
        let database = try TestDatabase.here()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for n in 0..<6 {
                group.addTask {
                    let settling = OccurrenceResults(
                        session: database.session("settler-\(n)"),
                        clock: .given(at("10:11"), pace: 0), log: .silent)
                    try await settling.all(at: at("10:11"))
                }
            }
            try await group.waitForAll()
        }
        // What one had to leave because another had it locked comes with the next look.
        try await ground.fire(at: at("10:12"))
        #expect(
            try await ground.number("SELECT count(*) FROM errand.schedules WHERE failures = 1")
                == 20)
    }

    @Test func `an outage of many schedules is many transactions`() async throws {
        for n in 0..<10 {
            try await ground.put(
                "s\(n)", ["recurrence": "@every 1s", "catch_up": "all", "catch_up_limit": 1_000])
        }
        let pass = ground.pass(at: at("11:00"))
        let first = try await pass.fireSome(at: at("11:00"))
        #expect(first.hasMore)
        #expect((5_000..<7_000).contains(first.summary.enqueued))
        let rest = try await pass.fire(at: at("11:00"))
        // 1,000 that were late and 61 that were not, of each.
        #expect(first.summary.enqueued + rest.enqueued == 10_610)
        #expect(first.summary.schedules + rest.schedules == 10)
    }

    @Test func `settings are those of the schedule and of no other`() async throws {
        try await ground.put("victim")
        let id = try await ground.stored("victim").id
        await #expect(throws: PostgresError.self) { try await ground.put("own", ["id": id]) }
        await #expect(throws: PostgresError.self) { try await ground.put("own", ["colour": 1]) }
        try await ground.put("own", ["starts_at": "2026-01-01T00:00:00Z", "gap": "skip"])
        #expect(try await ground.stored("victim").recurrence == "*/10 * * * *")
        // What was changed is told the same to a session of any time zone.
        let session = try TestDatabase.here().session("far-away")
        _ = try await session.query("SET TimeZone = 'America/Toronto'")
        _ = try await session.query(
            "UPDATE errand.schedules s SET declared = errand.schedule_settings(s)")
        _ = try await session.query("SET TimeZone = 'Asia/Tokyo'")
        #expect(
            try await session.query(
                "SELECT cardinality(errand.changed_settings(s)) FROM errand.schedules s"
            ).allSatisfy { try $0.int32(0) == 0 })
    }

    @Test func `one that an operator added stays as it is when a program declares it`()
        async throws
    {
        try await ground.put("ten", ["overlap": "skip"])
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, _ in }
        kinds.schedule(try Schedule("ten", "@daily", run: Plain(n: 9)))
        _ = try await ground.session.pipeline(
            kinds.declarations(schedulesOf: kinds.scheduledQueues.contains))
        let listing = try #require(try await ground.schedules.list(named: "ten").first)
        #expect(listing.schedule.recurrence == "*/10 * * * *")
        #expect(listing.schedule.isDeclared)
        #expect(listing.changed == ["args", "overlap", "recurrence"])
    }

    @Test func `programs that start together declare without waiting in a ring`() async throws {
        let database = try TestDatabase.here()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, _ in }
        for n in 0..<20 {
            kinds.schedule(try Schedule("s\(n)", "@daily", run: Plain(n: n), queue: "q\(n % 3)"))
        }
        try await withThrowingTaskGroup(of: Void.self) { [kinds] group in
            for queue in ["q2", "q0", "q1", "other"] {
                group.addTask {
                    let worker = Worker(
                        servers: Servers(database: database.url, redis: database.redis),
                        kinds: kinds,
                        options: {
                            var options = WorkerOptions(queues: [.init(queue)])
                            options.drain = true
                            return options
                        }(), log: .silent)
                    _ = try await worker.run(until: Stop())
                }
            }
            try await group.waitForAll()
        }
        #expect(try await ground.number("SELECT count(*) FROM errand.schedules") == 20)
    }
}
