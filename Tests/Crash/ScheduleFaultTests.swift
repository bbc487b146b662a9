import Foundation
import Glibc
import ErrandPostgres
import ErrandTestServices
import Testing

extension CrashTests {
    /// Schedules whose schedulers and servers die, by a clock of their own that runs faster.
    @Suite("Schedules") struct ScheduleFaultTests {
        @Test(.timeLimit(.minutes(4)))
        func `two schedulers and a tick each second race and die: each occurrence exactly once`()
            async throws
        {
            let ground = try CrashGround.here()
            // Five days in a minute, over the night on which Toronto's clocks go back.
            let night = try AcceleratedScheduler(ground, from: "2026-10-30T00:00:00Z", pace: 7_200)
            let schedules = [
                ("ten", "*/10 * * * *", "UTC"), ("interval", "@every 17m", "UTC"),
                ("fixed", "30 1 * * *", "America/Toronto"),
                ("clock", "15 * * * *", "America/Toronto"),
                ("office", "0,30 9-17 * * MON-FRI", "Europe/Paris"),
            ]
            for (name, recurrence, zone) in schedules {
                try await night.add(
                    name,
                    [
                        "recurrence": recurrence, "zone": zone, "catch_up": "all",
                        "catch_up_limit": 1_000, "catch_up_window_s": 864_000,
                    ])
            }
            try await night.tick()
            var schedulers = try (0..<2).map { _ in try night.scheduler() }
            let end = ContinuousClock.now + .seconds(60)
            var deaths = 0
            while ContinuousClock.now < end {
                let tick = try night.startTick()
                try await Task.sleep(for: .milliseconds(Int.random(in: 20...1_000)))
                if Bool.random() { tick.signal(SIGKILL) }
                let victim = Int.random(in: 0..<2)
                schedulers[victim].signal(SIGKILL)
                _ = try await schedulers[victim].end(within: .seconds(5))
                schedulers[victim] = try night.scheduler()
                deaths += 1
                _ = try await tick.end(within: .seconds(20))
            }
            // From then on they end in order; sessions may be of those that were killed.
            try await eventually("both to be up") {
                schedulers.allSatisfy { $0.errors.contains("running schedules with") }
            }
            for scheduler in schedulers { try await ground.expectCleanStop(scheduler) }
            let ticked = night.now
            try await night.tick()
            #expect(deaths > 20)
            for (name, recurrence, zone) in schedules {
                let made = try await night.expectAll(
                    of: name, recurrence, zone, from: "2026-10-30T00:00:01Z", upTo: ticked)
                #expect(made > 20 || name == "fixed" && made >= 4, "\(name): \(made)")
            }
            try await night.expectOneJobEach()
            #expect(try await ground.number("SELECT count(*) FROM errand.schedule_misses") == 0)
        }

        @Test(.timeLimit(.minutes(3)))
        func `each catch-up policy through the death of a scheduler and a crash of PostgreSQL`()
            async throws
        {
            let ground = try CrashGround.here()
            let day = try AcceleratedScheduler(ground, from: "2026-01-05T00:00:00Z", pace: 60)
            for policy in ["none", "latest", "all", "merge"] {
                try await day.add(policy, ["recurrence": "* * * * *", "catch_up": policy])
            }
            var scheduler = try day.scheduler()
            try await day.untilMade(3)
            var outages: [ClosedRange<Instant>] = []
            var began = day.now
            scheduler.signal(SIGKILL)
            _ = try await scheduler.end(within: .seconds(5))
            try await day.sleep(minutes: 6)
            outages.append(began...day.now)
            scheduler = try day.scheduler()
            try await day.untilMade(2, since: day.now)

            began = day.now
            try await CrashServers.here().run("crash-postgres")
            try await day.sleep(minutes: 6)
            outages.append(began...day.now)
            try await CrashServers.here().run("start-postgres")
            try await day.untilMade(2, since: day.now)
            try await ground.expectCleanStop(scheduler)

            for policy in ["none", "latest", "all", "merge"] {
                try await day.expectEachMinuteAccountedFor(policy)
                for outage in outages {
                    // Those that were surely late when somebody came to look.
                    let late = outage.lowerBound...outage.upperBound.adding(.seconds(-60))
                    let jobs = try await day.count(
                        "SELECT count(*) FROM errand.schedule_occurrences o", policy, late,
                        "o.job_id IS NOT NULL")
                    let merged = try await day.count(
                        "SELECT count(*) FROM errand.schedule_occurrences o", policy, late,
                        "o.merged_into IS NOT NULL")
                    let all = day.minutes(in: late)
                    #expect(all >= 4)
                    switch policy {
                    case "none": #expect(jobs == 0 && merged == 0)
                    case "latest": #expect(jobs <= 1 && merged == 0)
                    case "all": #expect(jobs == all && merged == 0)
                    default: #expect(jobs <= 1 && jobs + merged == all)
                    }
                }
            }
            // What was merged is listed in the job that stands for it.
            let listed = try await ground.number(
                """
                SELECT count(*) FROM errand.schedule_occurrences o
                JOIN errand.schedule_occurrences into_ ON into_.schedule_id = o.schedule_id
                    AND into_.due_at = o.merged_into
                JOIN errand.jobs j ON j.id = into_.job_id
                WHERE j.options -> 'occurrence' -> 'missed' ? to_char(
                    o.due_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
                """)
            let merged = try await ground.number(
                """
                SELECT count(*) FROM errand.schedule_occurrences WHERE merged_into IS NOT NULL
                """)
            #expect(listed == merged && merged >= 8)
        }

        @Test(.timeLimit(.minutes(3)))
        func `each overlap policy through the death of a scheduler and a crash of PostgreSQL`()
            async throws
        {
            let ground = try CrashGround.here()
            let day = try AcceleratedScheduler(ground, from: "2026-01-05T00:00:00Z", pace: 60)
            let policies = ["allow", "skip", "buffer-one", "replace", "cancel"]
            for policy in policies {
                // Runs that take two and a half of the minutes between two of them.
                try await day.add(
                    policy,
                    [
                        "recurrence": "* * * * *", "overlap": policy, "catch_up": "all",
                        "kind": "demo.sleep",
                    ], args: #"{"ms": 2500}"#)
            }
            let worker = try ground.worker(["--no-schedules"])
            var scheduler = try day.scheduler()
            try await day.untilMade(4, of: "allow")
            scheduler.signal(SIGKILL)
            _ = try await scheduler.end(within: .seconds(5))
            try await day.sleep(minutes: 3)
            scheduler = try day.scheduler()
            try await day.untilMade(3, of: "allow", since: day.now)
            try await CrashServers.here().run("crash-postgres")
            try await day.sleep(minutes: 3)
            try await CrashServers.here().run("start-postgres")
            try await day.untilMade(3, of: "allow", since: day.now)
            try await ground.expectCleanStop(scheduler)
            // Nothing more is to come; held ones are made when the job before them has ended.
            _ = try await ground.session.query("UPDATE errand.schedules SET next_at = NULL")
            try await ground.allDone()
            try await eventually("the end of all runs") {
                try await day.tick()
                return try await ground.number(
                    """
                    SELECT (SELECT count(*) FROM errand.jobs) + (
                        SELECT count(*) FROM errand.schedule_occurrences
                        WHERE outcome IN ('held', 'enqueued'))
                    """) == 0
            }
            try await ground.expectCleanStop(worker)

            for policy in policies { try await day.expectEachMinuteAccountedFor(policy) }
            for policy in ["skip", "buffer-one", "cancel"] {
                #expect(try await day.overlaps(of: policy) == 0, "\(policy): made too early")
            }
            #expect(try await day.overlaps(of: "allow") > 0)
            func outcomes(_ policy: String, _ outcome: String) async throws -> Int {
                try await day.count(
                    "SELECT count(*) FROM errand.schedule_occurrences o", policy, nil,
                    "o.outcome = '\(outcome)'")
            }
            #expect(try await outcomes("allow", "skipped") == 0)
            for policy in ["skip", "buffer-one"] {
                #expect(try await outcomes(policy, "skipped") > 0)
                #expect(try await outcomes(policy, "completed") > 1)
                #expect(try await outcomes(policy, "cancelled") == 0)
            }
            #expect(try await outcomes("cancel", "cancelled") > 1)
            #expect(try await outcomes("cancel", "completed") >= 1)
            #expect(try await outcomes("replace", "completed") > 1)
        }
    }
}
