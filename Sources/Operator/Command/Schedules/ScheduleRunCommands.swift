import ErrandMemory
import FoundationEssentials
import Errand
import ErrandPostgres
import ErrandRecurrence
import ErrandTerminal
import ErrandThreads

/// `errand schedule tick` and `run`.
enum ScheduleRunCommands {
    static let all = [tick, run]

    private static let now = Option<Instant?>.value(
        "now", JobInputOptions.time, help: "Pretend it is this time (dry runs and tests)")
    private static let dryRun = Option.flag("dry-run", help: "Only show what would be done")
    private static let limit = Option.integer(
        "limit", default: 1_000, range: 1...100_000,
        help: "With --dry-run: show at most N lines")
    private static let speed = Option<Double?>.value(
        "speed", .number("N", in: 0...1_000_000),
        help: "With --now: run the clock N times as fast (default: 1; 0 stops it)")
    /// A leader without a query for this long is suspended or hangs.
    private static let timeout = Duration.seconds(20)

    private static let tick = Command(
        "schedule", "tick", effect: .write, summary: "Enqueue the jobs of due schedules, and exit",
        discussion: """
            Run it from cron or a Kubernetes CronJob, for example every minute, if no 'errand \
            work' or 'errand schedule run' runs the schedules. It is safe to run alongside them. \
            It needs only PostgreSQL.

            --now with --dry-run shows what would be done at that time. --now alone does it, on \
            the real tables: use it only with a test database.
            """,
        examples: [
            .init("errand schedule tick --output json", "from a crontab"),
            .init("errand schedule tick --dry-run --now 2026-11-01T05:30:00Z", "what would be due"),
        ],
        options: [now, dryRun, limit, AuditOptions.reason]
    ) { invocation in
        let clock = invocation[now].map { ScheduleClock.given($0, pace: 0) } ?? .server
        let zones = invocation.zones
        if invocation[dryRun] {
            let pass = SchedulePass(
                session: try invocation.session(), zones: zones, clock: clock,
                log: try invocation.log)
            let reading = try await pass.read(ahead: .zero)
            let previews = try await pass.preview(at: reading.now, limit: invocation[limit])
            try ScheduleForecast.show(
                previews, at: reading.now, limit: invocation[limit], invocation.output)
            return .done
        }
        let scheduler = Scheduler(
            database: try invocation.databaseURL(), clock: clock, pooling: try invocation.pooling,
            zones: zones, timeout: timeout, log: try invocation.log)
        // The history of the schedules covers ordinary runs; a set clock needs an audit entry.
        if let now = invocation[now] {
            let line = AuditLine(
                operatorName: invocation.operatorName, action: "schedule tick", subject: "all",
                reason: invocation[AuditOptions.reason],
                change: try AuditLine.json(["now": "\(now)"]))
            _ = try await invocation.session().pipeline([line.statement])
        }
        let done = try await scheduler.tick()
        try invocation.output.show(
            Record([
                ("enqueued", .int(done.enqueued)), ("held", .int(done.held)),
                ("skipped", .int(done.skipped)), ("missed_runs", .int(done.missed)),
                ("schedules", .int(done.schedules)),
            ]))
        return .done
    }

    private static let run = Command(
        "schedule", "run", effect: .run,
        summary: "Run the schedules, but no jobs, until it is stopped",
        discussion: """
            Enqueues the jobs of schedules until SIGTERM or SIGINT, then exits 0. One such process \
            or 'errand work' is the scheduler; the others are standbys and take over when it ends. \
            It needs only PostgreSQL. With --listen it serves metrics and probes, as 'errand work' \
            does.

            --now and --speed set a simulated clock, to run through a night in a minute. It writes \
            to the real tables: use it only with a test database.
            """,
        examples: [
            .init("errand schedule run", "alongside 'errand work --no-schedules'"),
            .init(
                "errand schedule run --now 2026-10-31T22:00:00Z --speed 600",
                "a night in a minute, in a test database"),
        ],
        options: [now, speed, ListenOption.option]
    ) { invocation in
        guard invocation[speed] == nil || invocation[now] != nil else {
            throw CommandFailure(
                exit: .usage, message: "--speed needs --now TIME",
                hint: "the speed of the real clock is fixed")
        }
        let clock =
            invocation[now].map { ScheduleClock.given($0, pace: invocation[speed] ?? 1) } ?? .server
        let log = try invocation.log
        let stats = WorkerStats(timeout: timeout)
        async let _ = StartMemory().release(after: .seconds(10))
        try await ListenOption.shown(invocation, stats, log: log) {
            try await runSchedules(invocation, clock, stats, log)
        }
        return .done
    }

    private static func runSchedules(
        _ invocation: Invocation, _ clock: ScheduleClock, _ stats: WorkerStats, _ log: Log
    ) async throws {
        let zones = invocation.zones
        let url = try invocation.databaseURL()
        let pooling = try invocation.pooling
        let session = try invocation.session()
        try await session.requireOwnProcess(for: "running the schedules")
        try await invocation.requireSchema(session)
        await session.close()
        // Fails here in an empty database, instead of logging a warning every half minute.
        _ = try await invocation.schedules().now()
        if let finding = zones.finding { log.warning("\(finding)") }
        let scheduler = Scheduler(
            database: url, clock: clock, pooling: pooling, zones: zones, timeout: timeout,
            log: log, stats: stats)
        let work = Task { await scheduler.run() }
        Termination.onRequest {
            guard !work.isCancelled else { return }
            log.info("stopping")
            stats.end()
            work.cancel()
        }
        log.info("running schedules with time zone data \(zones.version)")
        stats.begin()
        await work.value
    }
}

/// The actions of a dry run, as records.
enum ScheduleForecast {
    static func show(
        _ previews: [SchedulePass.Preview], at now: Instant, limit: Int, _ output: Output
    ) throws {
        let lines = previews.flatMap { records($0, output.times) }
        try output.list(
            Array(lines.prefix(limit)),
            columns: [
                Column("schedule"), Column("due_at", title: "DUE"), Column("action"),
                Column("reason", isFlexible: true),
            ], empty: "nothing is due at \(now)")
        if lines.count > limit || previews.count == limit {
            output.note("more lines were cut off: pass a higher --limit")
        }
    }

    private static func records(
        _ preview: SchedulePass.Preview, _ times: TimeFormat
    ) -> [Record] {
        let (name, decision) = (preview.schedule.name, preview.decision)
        func record(_ due: Instant?, _ action: String, _ reason: String?) -> Record {
            Record([
                ("schedule", .text(name)), ("due_at", .optional(due) { $0.cell }),
                ("action", .text(action)), ("reason", .optional(reason) { .text($0) }),
            ])
        }
        var list = decision.misses.map { miss in
            record(miss.first, "miss", span(miss, times))
        }
        list += decision.skips.map { record($0.due, "skip", $0.reason) }
        if let skip = decision.unheld { list.append(record(skip.due, "skip", skip.reason)) }
        list += decision.cancels.map { job in
            record(
                nil, "cancel",
                "job \(job), if it \(decision.cancelsRunning ? "has not ended" : "waits")")
        }
        list += decision.runs.map { record($0.due.due, "enqueue", reason($0)) }
        if let held = decision.held {
            list.append(record(held.due.due, "hold", "waits for the previous run to end"))
        }
        if let next = decision.next {
            if list.isEmpty { list.append(record(next.due, "plan", why(preview.schedule.replan))) }
        } else {
            list.append(record(nil, "end", "no further occurrences"))
        }
        return list
    }

    private static func span(_ miss: Decision.Miss, _ times: TimeFormat) -> String {
        guard miss.count != 1 else { return miss.reason }
        let count = miss.count.map(HumanFormat.count) ?? "many"
        return "\(count) up to \(times.text(miss.last.date)): \(miss.reason)"
    }

    private static func reason(_ run: Decision.Run) -> String? {
        var parts: [String] = []
        if run.isLate { parts.append("late: catch-up") }
        if !run.merged.isEmpty {
            parts.append("merges \(HumanFormat.count(run.merged.count)) earlier occurrences")
        }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    private static func why(_ replan: StoredSchedule.Replan?) -> String {
        switch replan {
        case nil: "next time"
        case .new: "new schedule: its first time"
        case .edited: "the schedule was changed: its next time"
        case .resumed: "the schedule was resumed: its next time"
        case .tzdata: "time zone data has changed: its next time"
        case .clock: "a clock was wrong: its next time"
        }
    }
}
