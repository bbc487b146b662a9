import Foundation
@testable import Errand
import ErrandPostgres
import ErrandRecurrence
import ErrandTestServices
import Testing

@Suite(.database) struct SchedulePassTests {
    let ground: ScheduleGround

    init() throws { ground = try ScheduleGround() }

    @Test func `an occurrence and its job are made together and the context says when it was due`()
        async throws
    {
        try await ground.put()
        #expect(try await ground.fire(at: at("10:09")).enqueued == 0)
        #expect(try await ground.fire(at: at("10:10")).enqueued == 1)
        #expect(try await ground.fire(at: at("10:10")).enqueued == 0)
        try await ground.tells("ten", ["10:10 enqueued"])

        let seen = Notebook<(ScheduledOccurrence?, Int)>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { job, context in seen.add((context.occurrence, job.n)) }
        _ = try await TestWorker.drain(kinds)
        #expect(seen.all.map(\.1) == [1])
        #expect(seen.all.first?.0?.schedule == "ten")
        #expect(seen.all.first?.0?.due == at("10:10").date)
        #expect(seen.all.first?.0?.missed == [])
        _ = try await ground.fire(at: at("10:11"))
        try await ground.tells("ten", ["10:10 completed"])
    }

    @Test func `merged occurrences are listed in the job's context`() async throws {
        try await ground.put("ten", ["catch_up": "merge"])
        #expect(try await ground.fire(at: at("10:45")).enqueued == 1)
        try await ground.tells(
            "ten",
            [
                "10:10 skipped 10:40", "10:20 skipped 10:40", "10:30 skipped 10:40",
                "10:40 enqueued",
            ])
        let seen = Notebook<ScheduledOccurrence?>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, context in seen.add(context.occurrence) }
        _ = try await TestWorker.drain(kinds)
        #expect(seen.all.first??.due == at("10:40").date)
        #expect(seen.all.first??.missed == [at("10:10"), at("10:20"), at("10:30")].map(\.date))
    }

    @Test func `many schedulers at once make each job once`() async throws {
        for n in 0..<40 { try await ground.put("s\(n)", ["catch_up": "all"]) }
        for n in 0..<40 { try await ground.put("n\(n)", ["catch_up": "none"]) }
        let database = try TestDatabase.here()
        let made = try await withThrowingTaskGroup(of: Int.self) { group in
            for n in 0..<6 {
                group.addTask {
                    let pass = SchedulePass(
                        session: database.session("racer-\(n)"), zones: ZoneDatabase(),
                        clock: .given(at("11:00"), pace: 0), log: .silent)
                    return try await pass.fire(at: at("11:00")).enqueued
                }
            }
            return try await group.reduce(0, +)
        }
        // Six occurrences of each of forty schedules, and one that is on time of forty others.
        #expect(made == 280)
        #expect(try await ground.liveJobs().count == 280)
        #expect(
            try await ground.number(
                "SELECT count(DISTINCT (schedule_id, due_at)) FROM errand.schedule_occurrences")
                == 280)
        #expect(
            try await ground.number(
                "SELECT sum(count) FROM errand.schedule_misses") == 200, "noted once each")
    }

    @Test func `a clock that goes back makes nothing twice`() async throws {
        try await ground.put()
        try await ground.fire(at: at("10:30"))
        #expect(try await ground.liveJobs().count == 1)
        try await ground.fire(at: at("10:05"))
        try await ground.fire(at: at("10:20"))
        #expect(try await ground.liveJobs().count == 1)
        try await ground.fire(at: at("10:40"))
        try await ground.tells("ten", ["10:30 enqueued", "10:40 enqueued"])
    }

    @Test func `after a clock was years ahead it goes on from now`() async throws {
        try await ground.put()
        let ahead = try #require(Instant("2036-05-01T00:00:00Z"))
        try await ground.fire(at: ahead)
        #expect(try await ground.liveJobs().count == 1)
        try await ground.fire(at: at("10:10"))
        #expect(try await ground.liveJobs().count == 1)
        try await ground.pass(at: at("10:10")).refreshPlans(at: at("10:10"))
        try await ground.fire(at: at("10:12"))
        try await ground.fire(at: at("10:20"))
        try await ground.tells("ten", ["10:20 enqueued", "00:00 enqueued"])
        // And when the time comes again it is not made again.
        try await ground.pass(at: ahead).refreshPlans(at: ahead)
        try await ground.fire(at: ahead)
        #expect(try await ground.liveJobs().count == 2)
    }

    @Test func `newer time-zone data recomputes what is not yet due and nothing else`()
        async throws
    {
        try await ground.put("nightly", ["recurrence": "0 2 * * *"])
        try await ground.put("ten")
        let row = try await ground.stored("nightly")
        #expect(row.plannedWith == ZoneDatabase().version)
        #expect(row.nextDue == at("02:00", day: 6))
        // As if it had been planned under older rules, an hour off.
        _ = try await ground.session.query(
            """
            UPDATE errand.schedules SET planned_with = '1999a',
                next_due = next_due + CASE name WHEN 'nightly' THEN interval '1 h' ELSE '0' END,
                next_at = next_at + CASE name WHEN 'nightly' THEN interval '1 h' ELSE '0' END
            """)
        try await ground.pass(at: at("10:12")).refreshPlans(at: at("10:12"))
        #expect(try await ground.stored("nightly").replan == .tzdata)
        // Due already: it keeps its time.
        #expect(try await ground.stored("ten").replan == nil)
        try await ground.fire(at: at("10:12"))
        #expect(try await ground.stored("nightly").nextDue == at("02:00", day: 6))
        #expect(try await ground.stored("nightly").plannedWith == ZoneDatabase().version)
        try await ground.tells("ten", ["10:10 enqueued"])
    }

    @Test func `one that cannot be read here holds up no other`() async throws {
        try await ground.put("broken")
        try await ground.put("whole")
        _ = try await ground.session.query(
            "UPDATE errand.schedules SET zone = 'Mars/Olympus' WHERE name = 'broken'")
        #expect(try await ground.fire(at: at("10:10")).enqueued == 1)
        #expect(try await ground.stored("broken").nextAt == at("10:11"))
        #expect(try await ground.stored("broken").nextDue == at("10:10"))
        _ = try await ground.session.query(
            "UPDATE errand.schedules SET zone = 'UTC' WHERE name = 'broken'")
        #expect(try await ground.fire(at: at("10:11")).enqueued == 1)
        try await ground.tells("broken", ["10:10 enqueued"])
    }

    @Test func `what is due goes before what is late or waits for its first time`()
        async throws
    {
        try await ground.put("late", ["overlap": "skip"])
        try await ground.put("due", ["recurrence": "15 * * * *", "overlap": "skip"])
        try await ground.put("new", ["overlap": "skip"])
        _ = try await ground.session.query(
            """
            UPDATE errand.schedules SET replan = 'tzdata', next_at = '-infinity'
            WHERE name = 'new'
            """)
        let pass = ground.pass(at: at("10:15"))
        #expect(try await pass.read(ahead: .seconds(2)).exact == at("10:15"))
        #expect(try await pass.fireUrgent(at: at("10:15")).schedules == 1)
        try await ground.tells("due", ["10:15 enqueued"])
        try await ground.tells("late", [])
        #expect(try await ground.stored("new").replan == .tzdata)
        #expect(try await pass.read(ahead: .seconds(2)).exact == nil)
        #expect(try await pass.fire(at: at("10:15")).schedules == 2)
    }

    @Test func `jobs get the schedule's settings, or else those of their kind`() async throws {
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, _ in }
        for statement in try kinds.declarations(schedulesOf: kinds.scheduledQueues.contains) {
            _ = try await ground.session.query(statement.sql, statement.parameters)
        }
        try await ground.put("plain")
        try await ground.put("own", ["queue": "mail", "priority": 0, "max_attempts": 9])
        try await ground.fire(at: at("10:10"))
        let rows = try await ground.session.query(
            "SELECT queue, priority, max_attempts FROM errand.jobs ORDER BY queue")
        #expect(try rows.map { try $0.text(0) } == ["default", "mail"])
        #expect(try rows.map { try $0.int16(1) } == [2, 0])
        #expect(try rows.map { try $0.int16(2) } == [3, 9])
    }
}

@Suite(.database) struct ScheduleOverlapTests {
    let ground: ScheduleGround

    init() throws { ground = try ScheduleGround() }

    @Test func `one that waits is made as soon as the run before it has ended`() async throws {
        try await ground.put("ten", ["overlap": "buffer-one"])
        for time in ["10:10", "10:20", "10:30"] { try await ground.fire(at: at(time)) }
        try await ground.tells("ten", ["10:10 enqueued", "10:20 held", "10:30 skipped"])
        try await ground.runJobs()
        try await ground.fire(at: at("10:31"))
        try await ground.tells("ten", ["10:10 completed", "10:20 enqueued", "10:30 skipped"])
        #expect(try await ground.liveJobs().count == 1)
        #expect(try await ground.stored().runs == 2)
    }

    @Test func `a waiting run is replaced and a running one goes on`() async throws {
        try await ground.put("ten", ["overlap": "replace"])
        try await ground.fire(at: at("10:10"))
        try await ground.fire(at: at("10:20"))
        try await ground.tells("ten", ["10:10 cancelled", "10:20 enqueued"])
        try await ground.claimAll()
        try await ground.fire(at: at("10:30"))
        try await ground.tells("ten", ["10:10 cancelled", "10:20 enqueued", "10:30 enqueued"])
        #expect(try await ground.liveJobs().count == 2)
    }

    @Test func `a running one is cancelled, and the next starts when it has ended`() async throws {
        try await ground.put("ten", ["overlap": "cancel"])
        try await ground.fire(at: at("10:10"))
        try await ground.claimAll()
        try await ground.fire(at: at("10:20"))
        try await ground.tells("ten", ["10:10 enqueued", "10:20 held"])
        #expect(
            try await ground.number("SELECT count(*) FROM errand.jobs WHERE cancel_requested") == 1)
        try await ground.fire(at: at("10:30"))
        try await ground.tells("ten", ["10:10 enqueued", "10:20 skipped", "10:30 held"])
        let first = try await ground.liveJobs()
        _ = try await ground.session.query(
            Statements.giveUp,
            [
                .int64Array(first), .int64Array([1]), .floatArray([1]), .nullableInt16Array([7]),
                .textArray(["cancelled"]), .textArray(["asked to"]), .nullableTextArray([nil]),
            ])
        try await ground.fire(at: at("10:31"))
        try await ground.tells("ten", ["10:10 cancelled", "10:20 skipped", "10:30 enqueued"])
    }

    @Test func `a waiting one that is to be cancelled makes room in the same pass`() async throws {
        try await ground.put("ten", ["overlap": "cancel"])
        try await ground.fire(at: at("10:10"))
        try await ground.fire(at: at("10:20"))
        try await ground.tells("ten", ["10:10 cancelled", "10:20 enqueued"])
    }

    @Test func `a skipped one says which job was in its way`() async throws {
        try await ground.put("ten", ["overlap": "skip"])
        try await ground.fire(at: at("10:10"))
        try await ground.fire(at: at("10:20"))
        let schedule = try await ground.stored()
        let newest = try #require(
            try await ground.schedules.history(of: schedule, limit: 1).first)
        let job = try #require(try await ground.liveJobs().first)
        #expect(newest.outcome == "skipped")
        #expect(newest.reason == "job \(job) of 2026-01-05T10:10:00Z was unfinished")
        try await ground.runJobs()
        try await ground.fire(at: at("10:30"))
        try await ground.tells("ten", ["10:10 completed", "10:20 skipped", "10:30 enqueued"])
    }

    @Test func `failures in a row pause it, and a success begins the count anew`() async throws {
        try await ground.put("ten", ["pause_after": 2])
        for (time, fails) in [("10:10", true), ("10:20", false), ("10:30", true)] {
            try await ground.fire(at: at(time))
            try await ground.runJobs(failing: fails)
        }
        try await ground.fire(at: at("10:40"))
        #expect(try await ground.stored().failures == 1)
        #expect(try await ground.stored().pausedAt == nil)
        try await ground.runJobs(failing: true)
        try await ground.fire(at: at("10:41"))
        let paused = try await ground.stored()
        #expect(paused.failures == 2)
        #expect(paused.pausedBy == "errand")
        #expect(paused.pauseNote == "2 runs in a row failed")
        #expect(try await ground.fire(at: at("10:50")).enqueued == 0)
        #expect(try await ground.schedules.resume("ten"))
        try await ground.fire(at: at("11:01"))
        #expect(try await ground.stored().failures == 0)
        #expect(try await ground.fire(at: at("11:10")).enqueued == 1)
        #expect(
            try await ground.number(
                "SELECT count(*) FROM errand.schedule_misses WHERE reason = 'paused'") == 1)
    }
}
