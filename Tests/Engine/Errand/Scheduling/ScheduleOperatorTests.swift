import Foundation
@testable import Errand
import ErrandPostgres
import ErrandRecurrence
import ErrandTestServices
import Testing

@Suite(.database) struct ScheduleOperatorTests {
    let ground: ScheduleGround

    init() throws { ground = try ScheduleGround() }

    private func declare(_ schedule: Schedule) async throws {
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, _ in }
        kinds.schedule(schedule)
        _ = try await ground.session.pipeline(
            kinds.declarations(schedulesOf: kinds.scheduledQueues.contains))
    }

    private func edit(_ name: String, _ settings: [String: Any], args: String? = nil) async throws {
        _ = try await ground.schedules.put(
            name, settings: Array(try JSONSerialization.data(withJSONObject: settings)),
            args: args.map { Array($0.utf8) }, by: "operator")
    }

    private func listing(_ name: String = "ten") async throws -> Schedules.Listing {
        try #require(try await ground.schedules.list(named: name).first)
    }

    @Test func `a declaration is kept as it was made`() async throws {
        try await declare(
            Schedule(
                "ten", "30 9 * * MON-FRI", in: "America/Toronto", run: Plain(n: 5), gap: .skip,
                repeats: .last, starts: at("00:00", day: 1).date, ends: at("00:00", day: 31).date,
                jitter: .milliseconds(1_500), catchUp: .all(within: .seconds(60), limit: 7),
                overlap: .bufferOne, pauseAfter: 3, runLimit: 9, queue: "mail", priority: .high,
                maxAttempts: 4))
        let stored = try await listing().schedule
        #expect(stored.recurrence == "30 9 * * MON-FRI")
        #expect(stored.zone == "America/Toronto")
        #expect(stored.gap == .skip && stored.repeats == .last)
        #expect(stored.startsAt == at("00:00", day: 1) && stored.endsAt == at("00:00", day: 31))
        #expect(stored.jitter == .milliseconds(1_500))
        #expect(stored.catchUp == .all(within: .seconds(60), limit: 7))
        #expect(stored.overlap == .bufferOne)
        #expect(stored.pauseAfter == 3 && stored.runLimit == 9)
        #expect(stored.queue == "mail" && stored.priority == 1 && stored.maxAttempts == 4)
        #expect(stored.kind == Plain.kind && stored.argsVersion == 1)
        #expect(String(decoding: stored.args, as: UTF8.self) == #"{"n": 5}"#)
        #expect(stored.isDeclared && stored.replan == .new)
        #expect(try await listing().changed == [])
    }

    @Test func `what an operator changed stays and the rest follows the program`() async throws {
        try await declare(Schedule("ten", "*/10 * * * *", run: Plain(n: 1), overlap: .skip))
        try await ground.fire(at: at("10:00"))
        try await edit("ten", ["recurrence": "*/5 * * * *", "queue": "mail"])
        #expect(try await listing().changed == ["queue", "recurrence"])
        #expect(try await listing().schedule.changedBy == "operator")
        #expect(try await listing().schedule.replan == .edited)

        // The same declaration again, as when a worker starts: nothing happens.
        try await declare(Schedule("ten", "*/10 * * * *", run: Plain(n: 1), overlap: .skip))
        #expect(try await listing().schedule.recurrence == "*/5 * * * *")

        try await declare(
            Schedule("ten", "*/20 * * * *", run: Plain(n: 2), overlap: .allow, pauseAfter: 4))
        let stored = try await listing().schedule
        #expect(stored.recurrence == "*/5 * * * *" && stored.queue == "mail")
        #expect(stored.overlap == .allow && stored.pauseAfter == 4)
        #expect(String(decoding: stored.args, as: UTF8.self) == #"{"n": 2}"#)
        #expect(try await listing().changed == ["queue", "recurrence"])

        // Changed back to what the program says: no change any more.
        try await edit("ten", ["recurrence": "*/20 * * * *", "queue": NSNull()])
        #expect(try await listing().changed == [])
        try await declare(Schedule("ten", "*/30 * * * *", run: Plain(n: 2)))
        #expect(try await listing().schedule.recurrence == "*/30 * * * *")
    }

    @Test func `a change that leaves the times alone loses no occurrence`() async throws {
        try await ground.put()
        try await edit("ten", ["queue": "mail"], args: #"{"n": 3}"#)
        #expect(try await ground.stored().replan == nil)
        #expect(try await ground.fire(at: at("10:10")).enqueued == 1)
        // While no scheduler ran an hour passed; then its times are changed.
        try await edit("ten", ["recurrence": "5 * * * *"])
        try await ground.fire(at: at("11:01"))
        #expect(try await ground.stored().nextDue == at("11:05"))
        #expect(
            try await ground.number(
                "SELECT count FROM errand.schedule_misses WHERE reason = 'its times were changed'")
                == 1)
    }

    @Test func `what cannot be read or would never run is refused and changes nothing`()
        async throws
    {
        try await ground.put()
        await #expect(throws: JobError.self) { try await edit("ten", ["recurrence": "61 * * * *"]) }
        await #expect(throws: JobError.self) { try await edit("ten", ["zone": "Mars/Olympus"]) }
        await #expect(throws: JobError.self) {
            try await edit("ten", ["ends_at": "2020-01-01T00:00:00Z"])
        }
        await #expect(throws: PostgresError.self) { try await edit("ten", ["overlap": "maybe"]) }
        let stored = try await ground.stored()
        #expect(stored.recurrence == "*/10 * * * *" && stored.zone == "UTC")
        await #expect(throws: JobError.self) {
            try await edit("other", ["recurrence": "x", "kind": Plain.kind])
        }
        #expect(try await ground.schedules.list(named: "other").isEmpty)
    }

    @Test func `a paused one makes nothing and a trigger still does`() async throws {
        try await ground.put()
        #expect(try await ground.schedules.pause("ten", by: "operator", note: "the shop moves"))
        #expect(try await ground.fire(at: at("10:10")).enqueued == 0)
        let job = try #require(try await ground.schedules.trigger("ten"))
        #expect(try await ground.liveJobs() == [job])
        #expect(try await ground.schedules.trigger("unknown") == nil)
        #expect(try await ground.schedules.resume("ten"))
        #expect(try await !ground.schedules.resume("ten"))
        try await ground.fire(at: at("10:31"))
        #expect(try await ground.stored().nextDue == at("10:40"))
        let history = try await ground.schedules.history(of: ground.stored(), limit: 10)
        #expect(history.map(\.outcome).sorted() == ["available", "missed"])
        let missed = try #require(history.first { $0.outcome == "missed" })
        #expect(missed.firstDue == at("10:10") && missed.lastDue == at("10:30"))
        #expect(missed.reason == "paused")
    }

    @Test func `a backfill runs what had no job and nothing twice`() async throws {
        try await ground.put("ten", ["overlap": "skip"])
        try await ground.fire(at: at("10:10"))
        try await ground.fire(at: at("10:20"))
        try await ground.tells("ten", ["10:10 enqueued", "10:20 skipped"])
        let plan = try #require(
            try await ground.schedules.backfill(
                "ten", from: at("09:00"), to: at("10:30"), limit: 1_000))
        #expect(plan.missing.first == at("09:00") && plan.missing.last == at("10:20"))
        #expect(plan.missing.count == 8)
        #expect(plan.taken == 1)
        #expect(try await ground.schedules.run(plan) == 8)
        #expect(try await ground.schedules.run(plan) == 0)
        #expect(try await ground.liveJobs().count == 9)
        let again = try await ground.schedules.backfill(
            "ten", from: at("09:00"), to: at("10:30"), limit: 1_000)
        #expect(again?.missing == [] && again?.taken == 9)
        let cut = try await ground.schedules.backfill(
            "ten", from: at("00:00"), to: at("09:00"), limit: 5)
        #expect(cut?.isCut == true && cut?.missing.count == 5)
        // The time went by for the scheduler all the same.
        #expect(try await ground.stored().nextDue == at("10:30"))
    }

    @Test func `a removed one takes its history along and leaves its jobs`() async throws {
        try await ground.put()
        try await ground.fire(at: at("10:10"))
        #expect(try await ground.schedules.remove("ten"))
        #expect(try await !ground.schedules.remove("ten"))
        #expect(try await ground.number("SELECT count(*) FROM errand.schedule_occurrences") == 0)
        #expect(try await ground.liveJobs().count == 1)
        try await ground.runJobs()
        #expect(try await ground.fire(at: at("10:20")).schedules == 0)
    }

    @Test func `old history is forgotten and what is open is not`() async throws {
        try await ground.put("ten", ["catch_up": "none"])
        try await ground.fire(at: at("10:10"))
        // A backfill of last year is made just now, and is not to be made again.
        let lastYear = try #require(
            try await ground.schedules.backfill(
                "ten", from: Instant("2025-01-01T10:00:00Z") ?? .infinity,
                to: Instant("2025-01-01T10:05:00Z") ?? .infinity, limit: 1))
        #expect(try await ground.schedules.run(lastYear) == 1)
        try await ground.runJobs()
        try await ground.fire(at: at("10:20"))
        try await ground.fire(at: at("11:45"))
        for change in [
            """
            UPDATE errand.schedule_occurrences SET due_at = due_at - interval '200 days',
                decided_at = decided_at - interval '200 days' WHERE origin <> 'backfill'
            """,
            """
            UPDATE errand.schedule_misses SET first_due = first_due - interval '200 days',
                last_due = last_due - interval '200 days',
                noted_at = noted_at - interval '200 days'
            """,
        ] { _ = try await ground.session.query(change) }
        try await Retention(session: ground.session, log: .silent).run(now: .now())
        try await ground.tells("ten", ["10:00 completed", "10:20 enqueued"])
        #expect(try await ground.number("SELECT count(*) FROM errand.schedule_misses") == 0)
    }
}
