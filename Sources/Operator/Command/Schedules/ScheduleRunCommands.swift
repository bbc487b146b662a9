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
        "now", JobWords.time, help: "Take this for the present time: for a rehearsal")
    private static let dryRun = Option.flag("dry-run", help: "Only say what would be done")
    private static let limit = Option.integer(
        "limit", default: 1_000, range: 1...100_000,
        help: "With --dry-run: show so many lines at most")
    private static let pace = Option<Double?>.value(
        "pace", .number("N", in: 0...1_000_000),
        help: "With --now: let the clock run so many times as fast (default: 1; 0 stands still)")
    /// A leader that asks nothing for so long is stopped or hangs.
    private static let patience = Duration.seconds(20)

    private static let tick = Command(
        "schedule", "tick", effect: .changes, summary: "Make the jobs of all that is due, and end",
        discussion: """
            For cron or a Kubernetes CronJob, every minute say, where no 'errand work' or 'errand \
            schedule run' runs the schedules; beside them it does no harm. Needs PostgreSQL only.

            --now with --dry-run says what would be done at that time. --now alone does it, \
            on the real tables: that is for a test database.
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
            zones: zones, patience: patience, log: try invocation.log)
        // The clock's own work is in the schedules' history; a clock that somebody set is theirs.
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
        "schedule", "run", effect: .starts,
        summary: "Run the schedules, and no jobs, until told to stop",
        discussion: """
            Makes the jobs of schedules until SIGTERM or SIGINT, then exits 0. One such process \
            or 'errand work' leads and the others stand by; another takes over when it ends. \
            Needs PostgreSQL only. With --listen it shows metrics and probes, as 'errand work' does.

            --now and --pace give it a clock of its own, to rehearse a night in a minute: on the \
            real tables, so that is for a test database.
            """,
        examples: [
            .init("errand schedule run", "beside 'errand work --no-schedules'"),
            .init(
                "errand schedule run --now 2026-10-31T22:00:00Z --pace 600",
                "a night in a minute, in a test database"),
        ],
        options: [now, pace, ListenOption.option]
    ) { invocation in
        guard invocation[pace] == nil || invocation[now] != nil else {
            throw CommandFailure(
                exit: .usage, message: "--pace goes with --now TIME",
                hint: "the real clock runs as it does")
        }
        let clock =
            invocation[now].map { ScheduleClock.given($0, pace: invocation[pace] ?? 1) } ?? .server
        let log = try invocation.log
        let vitals = Vitals(patience: patience)
        async let _ = StartMemory().release(after: .seconds(10))
        try await ListenOption.shown(invocation, vitals, log: log) {
            try await runSchedules(invocation, clock, vitals, log)
        }
        return .done
    }

    private static func runSchedules(
        _ invocation: Invocation, _ clock: ScheduleClock, _ vitals: Vitals, _ log: Log
    ) async throws {
        let zones = invocation.zones
        let url = try invocation.databaseURL()
        let pooling = try invocation.pooling
        let session = try invocation.session()
        try await session.requireOwnProcess(for: "running the schedules")
        try await invocation.requireSchema(session)
        await session.close()
        // An empty database is an error now, and not a complaint every half minute.
        _ = try await invocation.schedules().now()
        if let finding = zones.finding { log.warning("\(finding)") }
        let scheduler = Scheduler(
            database: url, clock: clock, pooling: pooling, zones: zones, patience: patience,
            log: log, vitals: vitals)
        let work = Task { await scheduler.run() }
        Termination.onRequest {
            guard !work.isCancelled else { return }
            log.info("stopping")
            vitals.end()
            work.cancel()
        }
        log.info("schedules run here, with time-zone data \(zones.version)")
        vitals.begin()
        await work.value
    }
}

/// What a pass would do, as records.
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
            output.note("there is more: pass a higher --limit")
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
            list.append(record(held.due.due, "hold", "waits for the run before it to end"))
        }
        if let next = decision.next {
            if list.isEmpty { list.append(record(next.due, "plan", why(preview.schedule.replan))) }
        } else {
            list.append(record(nil, "end", "nothing more is to come"))
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
            parts.append("with \(HumanFormat.count(run.merged.count)) earlier ones in one job")
        }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    private static func why(_ replan: StoredSchedule.Replan?) -> String {
        switch replan {
        case nil: "its next time"
        case .new: "it is new: this is its first time"
        case .edited: "it was changed: this is its next time"
        case .resumed: "it was resumed: this is its next time"
        case .tzdata: "time-zone data has changed: this is its next time"
        case .clock: "a clock was wrong: this is its next time"
        }
    }
}
