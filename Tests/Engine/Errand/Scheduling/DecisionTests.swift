import Foundation
@testable import Errand
import ErrandPostgres
import ErrandRecurrence
import Testing

/// A schedule every ten minutes that was last dealt with at 10:00 on 5 January 2026, UTC.
func tenMinutes(_ change: (inout StoredSchedule) -> Void = { _ in }) -> StoredSchedule {
    var schedule = StoredSchedule(
        id: 7, name: "ten", recurrence: "*/10 * * * *", zone: "UTC", gap: nil, repeats: nil,
        startsAt: nil, endsAt: nil, jitter: .zero, kind: "test.plain", args: Array("{}".utf8),
        argsVersion: 1, queue: "default", priority: 2, maxAttempts: 3, catchUp: .latest(),
        overlap: .allow, pauseAfter: nil, runLimit: nil, nextDue: at("10:10"),
        nextAt: at("10:10"), lastDue: at("10:00"), runs: 3, failures: 0, replan: nil,
        replanAt: at("10:00"),
        pausedAt: nil, pausedBy: nil, pauseNote: nil, isDeclared: false, createdAt: at("00:00"),
        changedAt: nil, changedBy: nil, plannedWith: "2025b")
    change(&schedule)
    return schedule
}

/// A time of 5 January 2026, UTC, or of another day of that month.
func at(_ time: String, day: Int = 5) -> Instant {
    let text = time.count == 5 ? time + ":00" : time
    guard let instant = Instant("2026-01-\(day < 10 ? "0" : "")\(day)T\(text)Z") else {
        preconditionFailure("\(time) is no time of day")
    }
    return instant
}

private func decide(
    _ schedule: StoredSchedule, now: Instant, ahead: Duration = .zero,
    open: [Decision.Open] = [], heldDue: Instant? = nil
) throws -> Decision {
    Decision(
        schedule, try Plan(schedule, zones: ZoneDatabase()), now: now,
        horizon: now.adding(ahead), open: open, heldDue: heldDue)
}

/// Which occurrences a decision runs, holds, skips and misses.
private func history(_ decision: Decision) -> String {
    func time(_ instant: Instant) -> String { String(instant.description.dropFirst(11).prefix(5)) }
    var parts = decision.runs.map { run in
        "run \(time(run.due.due))" + (run.isLate ? " late" : "")
            + (run.merged.isEmpty ? "" : " with " + run.merged.map(time).joined(separator: ","))
    }
    if let held = decision.held { parts.append("hold \(time(held.due.due))") }
    parts += decision.skips.map { "skip \(time($0.due))" }
    if let unheld = decision.unheld { parts.append("unhold \(time(unheld.due))") }
    parts += decision.misses.map {
        "miss \(time($0.first))-\(time($0.last)) x\($0.count.map(String.init) ?? "?")"
    }
    if !decision.cancels.isEmpty {
        parts.append("cancel \(decision.cancels)" + (decision.cancelsRunning ? " running too" : ""))
    }
    parts.append("next \(decision.next.map { time($0.due) } ?? "never")")
    return parts.joined(separator: "; ")
}

@Suite struct DecisionTests {
    @Test func `what is due runs, and the next is computed from the calendar and not the clock`()
        throws
    {
        let schedule = tenMinutes()
        #expect(history(try decide(schedule, now: at("10:09:59"))) == "next 10:10")
        #expect(history(try decide(schedule, now: at("10:10"))) == "run 10:10; next 10:20")
        #expect(history(try decide(schedule, now: at("10:10:59"))) == "run 10:10; next 10:20")
        let ahead = try decide(schedule, now: at("10:09:58"), ahead: .seconds(2))
        #expect(history(ahead) == "run 10:10; next 10:20")
        #expect(ahead.lastDue == at("10:10"))
    }

    @Test(arguments: [
        (CatchUp.none, "miss 10:10-11:00 x6; next 11:10"),
        (.latest(), "run 11:00 late; miss 10:10-10:50 x5; next 11:10"),
        (.latest(within: .seconds(60)), "miss 10:10-11:00 x6; next 11:10"),
        (
            .all(),
            "run 10:10 late; run 10:20 late; run 10:30 late; run 10:40 late; run 10:50 late; "
                + "run 11:00 late; next 11:10"
        ),
        (.all(limit: 2), "run 10:50 late; run 11:00 late; miss 10:10-10:40 x4; next 11:10"),
        (
            .all(within: .seconds(1_800)),
            "run 10:40 late; run 10:50 late; run 11:00 late; miss 10:10-10:30 x3; next 11:10"
        ),
        (.merge(), "run 11:00 late with 10:10,10:20,10:30,10:40,10:50; next 11:10"),
        (.merge(limit: 3), "run 11:00 late with 10:40,10:50; miss 10:10-10:30 x3; next 11:10"),
    ])
    func `an outage of an hour`(policy: CatchUp, expected: String) throws {
        let decision = try decide(tenMinutes { $0.catchUp = policy }, now: at("11:05"))
        #expect(history(decision) == expected)
    }

    @Test(arguments: [
        (CatchUp.none, "run 11:00; miss 10:10-10:50 x5; next 11:10"),
        (.latest(), "run 11:00; miss 10:10-10:50 x5; next 11:10"),
        (.merge(), "run 11:00 with 10:10,10:20,10:30,10:40,10:50; next 11:10"),
    ])
    func `an outage that ends just when one is due`(policy: CatchUp, expected: String) throws {
        let decision = try decide(tenMinutes { $0.catchUp = policy }, now: at("11:00:30"))
        #expect(history(decision) == expected)
    }

    @Test func `an outage of months is no flood and no long walk`() throws {
        let schedule = tenMinutes {
            $0.recurrence = "@every 1s"
            $0.catchUp = .all(within: .seconds(86_400 * 400), limit: 5)
            $0.lastDue = Instant("2025-03-01T00:00:00Z")
            $0.nextDue = Instant("2025-03-01T00:00:01Z")
            $0.nextAt = $0.nextDue
        }
        let decision = try decide(schedule, now: at("10:00:00"))
        // Those of the last minute are on time, five more are caught up.
        #expect(decision.runs.count == 66)
        #expect(decision.runs.last?.due.due == at("10:00:00"))
        #expect(decision.misses.map(\.count) == [nil])
        #expect(decision.misses.map(\.last) == [at("09:58:54")])
        #expect(decision.misses.map(\.first) == [Instant("2025-03-01T00:00:01Z")])
        #expect(decision.next?.due == at("10:00:01"))
    }

    private static let running = Decision.Open(due: at("10:00"), job: 55, isWaiting: false)
    private static let waiting = Decision.Open(due: at("10:00"), job: 55, isWaiting: true)

    @Test(arguments: [
        (Overlap.allow, [running], "run 10:10; next 10:20"),
        (.skip, [], "run 10:10; next 10:20"),
        (.skip, [running], "skip 10:10; next 10:20"),
        (.skip, [waiting], "skip 10:10; next 10:20"),
        (.bufferOne, [], "run 10:10; next 10:20"),
        (.bufferOne, [running], "hold 10:10; next 10:20"),
        (.replace, [], "run 10:10; next 10:20"),
        (.replace, [running], "run 10:10; next 10:20"),
        (.replace, [waiting], "run 10:10; cancel [55]; next 10:20"),
        (.cancel, [], "run 10:10; next 10:20"),
        (.cancel, [running], "hold 10:10; cancel [55] running too; next 10:20"),
        (.cancel, [waiting], "hold 10:10; cancel [55] running too; next 10:20"),
    ])
    func `an earlier run has not ended`(rule: Overlap, open: [Decision.Open], expected: String)
        throws
    {
        let schedule = tenMinutes { $0.overlap = rule }
        #expect(history(try decide(schedule, now: at("10:10:01"), open: open)) == expected)
    }

    @Test func `of two that wait for a run to end the older stays, unless it is to be cancelled`()
        throws
    {
        let open = [Self.running]
        let buffering = tenMinutes { $0.overlap = .bufferOne }
        let kept = try decide(buffering, now: at("10:10:01"), open: open, heldDue: at("10:05"))
        #expect(history(kept) == "skip 10:10; next 10:20")
        let cancelling = tenMinutes { $0.overlap = .cancel }
        let replaced = try decide(cancelling, now: at("10:10:01"), open: open, heldDue: at("10:05"))
        #expect(
            history(replaced)
                == "hold 10:10; unhold 10:05; cancel [55] running too; next 10:20")
    }

    @Test func `a run that somebody made ahead is not cancelled by itself or an earlier one`()
        throws
    {
        // A backfill has made that of 10:10, or another clock that of 10:50.
        for due in ["10:10", "10:50"] {
            for rule in [Overlap.replace, .cancel] {
                let schedule = tenMinutes { $0.overlap = rule }
                let open = [Decision.Open(due: at(due), job: 55, isWaiting: true)]
                #expect(try decide(schedule, now: at("10:10"), open: open).cancels == [])
            }
        }
    }

    @Test func `exactly as many as are walked through one by one`() throws {
        for (minutes, count) in [(999, 999), (1_000, 1_000), (1_001, 1_000)] {
            let schedule = tenMinutes {
                $0.recurrence = "* * * * *"
                $0.catchUp = .all(limit: 1_000)
                $0.lastDue = at("00:00")
                $0.nextDue = at("00:01")
            }
            // One more is on time by then.
            let now = at("00:00").adding(.seconds(minutes * 60 + 90))
            let decision = try decide(schedule, now: now)
            #expect(decision.runs.count == count + 1, "\(minutes)")
            let missed = decision.misses.map(\.reason)
            #expect(missed.count == minutes - count)
            #expect(missed.allSatisfy { $0.contains("limited to 1000") })
        }
    }

    @Test(arguments: [
        (
            Overlap.skip,
            "run 10:10 late; skip 10:20; skip 10:30; next 10:40"
        ),
        (.bufferOne, "run 10:10 late; hold 10:20; skip 10:30; next 10:40"),
        (.replace, "run 10:30 late; skip 10:10; skip 10:20; next 10:40"),
        (.cancel, "run 10:30 late; skip 10:10; skip 10:20; next 10:40"),
    ])
    func `several caught up at once overlap each other`(rule: Overlap, expected: String) throws {
        let schedule = tenMinutes {
            $0.overlap = rule
            $0.catchUp = .all()
        }
        #expect(history(try decide(schedule, now: at("10:35"))) == expected)
    }

    @Test func `a limit of runs ends it with the last`() throws {
        let schedule = tenMinutes {
            $0.runLimit = 5
            $0.catchUp = .all()
        }
        #expect(
            history(try decide(schedule, now: at("10:45")))
                == "run 10:10 late; run 10:20 late; skip 10:30; skip 10:40; next never")
        // What the last one leaves no room for is told; a skipped one is no run.
        let busy = tenMinutes {
            $0.runLimit = 4
            $0.overlap = .skip
        }
        #expect(
            history(try decide(busy, now: at("10:10"), open: [Self.running]))
                == "skip 10:10; next 10:20")
        let spent = tenMinutes { $0.runLimit = 3 }
        #expect(history(try decide(spent, now: at("10:10"))) == "skip 10:10; next never")
    }

    @Test func `nothing comes before the start or from the end on`() throws {
        let starting = tenMinutes {
            $0.startsAt = at("12:00")
            $0.replan = .new
        }
        #expect(history(try decide(starting, now: at("10:10"))) == "next 12:00")
        let result = tenMinutes { $0.endsAt = at("10:20") }
        #expect(history(try decide(result, now: at("10:10"))) == "run 10:10; next never")
        // An interval counts from its start.
        let interval = tenMinutes {
            $0.recurrence = "@every 7m"
            $0.startsAt = at("12:01")
            $0.replan = .new
        }
        let plan = try Plan(interval, zones: ZoneDatabase())
        #expect(plan.next(after: at("12:01"))?.due == at("12:08"))
        #expect(plan.next(after: at("09:00"))?.due == at("12:01"))
        #expect(plan.previous(before: at("12:01")) == nil)
    }
}

/// Times that are computed anew.
@Suite struct ReplanningTests {
    @Test func `a new schedule begins with what lies ahead`() throws {
        let new = tenMinutes {
            $0.replan = .new
            $0.nextDue = nil
            $0.nextAt = .negativeInfinity
            $0.lastDue = nil
            $0.replanAt = at("10:15")
        }
        #expect(history(try decide(new, now: at("10:15"))) == "next 10:20")
        // Nobody looked before its first time had come.
        #expect(history(try decide(new, now: at("10:20:01"))) == "run 10:20; next 10:30")
    }

    @Test func `a pause passes over what came meanwhile, and says so`() throws {
        let resumed = tenMinutes {
            $0.replan = .resumed
            $0.nextAt = .negativeInfinity
            $0.replanAt = at("11:05")
        }
        #expect(
            history(try decide(resumed, now: at("11:05"))) == "miss 10:10-11:00 x?; next 11:10")
        #expect(
            history(try decide(resumed, now: at("11:10")))
                == "run 11:10; miss 10:10-11:00 x?; next 11:20")
        #expect(history(try decide(resumed, now: at("10:05"))) == "next 10:10")
        // Due before the pause, and put off by its jitter to after it.
        let late = tenMinutes {
            $0.replan = .resumed
            $0.jitter = .seconds(599)
        }
        let at1010 = try Plan(late, zones: ZoneDatabase()).timed(at("10:10")).at
        let kept = tenMinutes {
            $0.replan = .resumed
            $0.jitter = .seconds(599)
            $0.replanAt = at1010.adding(.milliseconds(-1))
        }
        #expect(try decide(kept, now: at1010).runs.map(\.due.due) == [at("10:10")])
    }

    @Test func `other times hold from now on`() throws {
        let edited = tenMinutes {
            $0.replan = .edited
            $0.recurrence = "5 * * * *"
            $0.nextAt = .negativeInfinity
            $0.replanAt = at("10:15")
        }
        #expect(history(try decide(edited, now: at("10:00:30"))) == "next 10:05")
        #expect(
            history(try decide(edited, now: at("10:15"))) == "miss 10:10-10:10 x1; next 11:05")
        // A time that the old ones and the new have in common is not lost.
        let common = tenMinutes {
            $0.replan = .edited
            $0.recurrence = "*/5 * * * *"
            $0.replanAt = at("10:10:30")
        }
        #expect(history(try decide(common, now: at("10:10:31"))) == "run 10:10; next 10:15")
    }

    @Test func `other zone rules run what they put before now`() throws {
        // Due under the old rules at 10:10; under the new ones at 10:00 already, and last dealt
        // with a day ago.
        let moved = tenMinutes {
            $0.recurrence = "0 10 * * *"
            $0.replan = .tzdata
            $0.lastDue = at("10:10", day: 4)
            $0.nextAt = .negativeInfinity
        }
        let decision = try decide(moved, now: at("10:05"))
        #expect(history(decision) == "run 10:00 late; next 10:00")
        #expect(decision.next?.due == at("10:00", day: 6))
        // Run at nine by the old rules, which is ten by the new ones: not again.
        let done = tenMinutes {
            $0.recurrence = "0 10 * * *"
            $0.replan = .tzdata
            $0.lastDue = at("09:00")
            $0.nextDue = at("09:00", day: 6)
            $0.nextAt = .negativeInfinity
        }
        let later = try decide(done, now: at("20:00"))
        #expect(later.runs.isEmpty && later.next?.due == at("10:00", day: 6))
    }

    @Test func `a clock that was years ahead leaves nothing behind`() throws {
        let lost = tenMinutes {
            $0.replan = .clock
            $0.lastDue = Instant("2036-01-01T00:00:00Z")
            $0.nextDue = Instant("2036-01-01T00:10:00Z")
            $0.nextAt = .negativeInfinity
        }
        let decision = try decide(lost, now: at("10:15"))
        #expect(history(decision) == "next 10:20")
        #expect(decision.lastDue == nil)
        // Seen by a scheduler whose clock is behind, computed by one whose clock is not.
        let met = tenMinutes {
            $0.replan = .clock
            $0.catchUp = .all()
            $0.nextAt = .negativeInfinity
        }
        #expect(
            history(try decide(met, now: at("10:25")))
                == "run 10:10 late; run 10:20 late; next 10:30"
        )
    }
}

@Suite struct JitterTests {
    @Test func `it is stable for each occurrence, spread, and never past the next`() throws {
        let schedule = tenMinutes { $0.jitter = .seconds(900) }
        let plan = try Plan(schedule, zones: ZoneDatabase())
        var moment = at("00:00")
        var lateness: [Int64] = []
        for _ in 0..<500 {
            let next = try #require(plan.next(after: moment))
            #expect(next == plan.next(after: moment))
            #expect(plan.previous(before: next.due.adding(.seconds(1))) == next)
            let late = next.at.durationSince(next.due).milliseconds
            #expect((0..<600_000).contains(late))
            lateness.append(late)
            moment = next.due
        }
        let other = try Plan(
            tenMinutes {
                $0.id = 8; $0.jitter = .seconds(900)
            }, zones: ZoneDatabase())
        #expect(other.next(after: at("00:00")) != plan.next(after: at("00:00")))
        // Each fifth of the ten minutes gets its share of 100, give or take 40.
        for fifth in 0..<5 {
            let share = lateness.count { $0 / 120_000 == fifth }
            #expect((60...140).contains(share))
        }
    }

    @Test func `one that was put off is not early, and not missed`() throws {
        let schedule = tenMinutes { $0.jitter = .seconds(300) }
        let made = try Plan(schedule, zones: ZoneDatabase()).timed(at("10:10")).at
        #expect(made > at("10:10"))
        #expect(try decide(schedule, now: made.adding(.milliseconds(-1))).runs.isEmpty)
        let decision = try decide(schedule, now: made)
        #expect(decision.runs.map(\.due.due) == [at("10:10")])
        #expect(decision.runs.map(\.isLate) == [false])
    }
}
