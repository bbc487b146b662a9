import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// `errand kind …`.
enum KindCommands {
    static let all = [list, show]

    private static let name = Argument.required(ValueFormat.text("KIND"), help: "The kind's name")
    private static let since = Option<Duration>.duration(
        "since", default: .seconds(3_600), range: .seconds(60) ... .seconds(86_400),
        help: "Cover attempts that ended within this time, at most a day")
    private static let exact = Option<Bool>.flag(
        "exact", help: "Count all waiting jobs instead of estimating: may take long")

    private static let numbers = """
        Counts up to 1,000 waiting jobs of a kind in each queue; larger numbers are estimates, \
        marked with ~. FAILED counts the attempts within --since that failed; % is their share. \
        P95 WAIT is the time from due to start, P95 RUN the time from start to end. The workers \
        measure both, within 19 %.
        """

    private static let list = Command(
        "kind", "ls", effect: .read,
        summary: "List the kinds of jobs with counts, failure rates and durations",
        discussion: numbers,
        examples: [
            .init("errand kind ls", "the last hour"),
            .init("errand kind ls --since 24h", "the last day"),
        ],
        options: [since, exact]
    ) { invocation in
        let kinds = try await Inspector(session: try invocation.session())
            .kindNumbers(since: invocation[since], isExact: invocation[exact])
        let isListed = invocation.output.format == .table
        try invocation.output.list(
            kinds.map { record($0, isListed: isListed) }, columns: listed,
            empty: "no kind is declared: start a worker or run 'errand migrate'")
        return .done
    }

    /// With short titles, so that it fits 80 columns.
    private static let listed = [
        Column("kind", isFlexible: true), Column("waiting", title: "WAIT"),
        Column("running", title: "RUN"), Column("completed", title: "DONE"),
        Column("failed"), Column("share", title: "%", alignment: .right), Column("dead"),
        Column("wait", title: "P95 WAIT", alignment: .right),
        Column("run", title: "P95 RUN", alignment: .right), Column("workers", title: "WKRS"),
    ]

    private static let show = Command(
        "kind", "show", effect: .read, summary: "Show one kind: numbers, last errors, schedules",
        discussion: numbers,
        examples: [.init("errand kind show mail.receipt --since 10m", "the last ten minutes")],
        options: [since, exact], arguments: [name]
    ) { invocation in
        let inspector = Inspector(session: try invocation.session())
        let kind = invocation[name]
        let found = try await inspector.kindNumbers(
            named: kind, since: invocation[since], isExact: invocation[exact])
        var filter = JobFilter()
        filter.kind = kind
        let groups = try await inspector.deadGroups(filter, limit: 10)
        guard let numbers = found.first ?? groups.first.map({ _ in KindRecord(name: kind) }) else {
            throw unknown(kind, try await inspector.kindNames())
        }
        let schedules = try await inspector.schedules(of: kind)
        var record = record(numbers, isListed: false)
        record.append("errors", .records(groups.map(Self.record)))
        record.append("schedules", .records(schedules.map(Self.record)))
        try invocation.output.show(record)
        guard let worst = groups.first else { return .done }
        invocation.output.note("'errand dead ls --fingerprint \(worst.fingerprint)' lists them")
        return .done
    }

    private static func unknown(_ name: String, _ known: [String]) -> CommandFailure {
        let guess = nearest(to: name, among: known).map { "did you mean \($0)? " } ?? ""
        return CommandFailure(
            exit: .notFound, message: "there is no kind \(name)",
            hint: guess + "'errand kind ls' lists them all")
    }

    /// The names are stable: programs read them.
    private static func record(_ kind: KindRecord, isListed: Bool) -> Record {
        func times(_ histogram: DurationHistogram, _ share: Double) -> Cell {
            .optional(histogram.percentile(share)) { .duration($0) }
        }
        let waiting: Cell = kind.isEstimate ? .estimate(kind.waiting) : .int(kind.waiting)
        let running: Cell = kind.isEstimate ? .estimate(kind.running) : .int(kind.running)
        var record = Record([
            ("kind", .text(kind.name)), ("version", .optional(kind.version) { .int($0) }),
            ("queue", .optional(kind.queue) { .text($0) }),
            ("max_attempts", .optional(kind.maxAttempts) { .int($0) }),
            ("declared", .flag(kind.isDeclared)), ("for_apps", .flag(kind.isForApps)),
            ("workers", .int(kind.workers)),
            ("waiting", waiting), ("running", running), ("estimated", .flag(kind.isEstimate)),
            ("completed", .int(kind.completed)), ("failed", .int(kind.failed)),
            ("failure_rate", .optional(kind.failureRate) { .number($0, decimals: 4) }),
            ("dead", .int(kind.dead)), ("cancelled", .int(kind.cancelled)),
            ("p50_wait", times(kind.waits, 0.5)), ("p95_wait", times(kind.waits, 0.95)),
            ("p99_wait", times(kind.waits, 0.99)), ("p50_run", times(kind.runs, 0.5)),
            ("p95_run", times(kind.runs, 0.95)), ("p99_run", times(kind.runs, 0.99)),
        ])
        guard isListed else { return record }
        record.append("share", .optional(kind.failureRate) { .text(percent($0)) })
        record.append("wait", short(kind.waits))
        record.append("run", short(kind.runs))
        return record
    }

    private static func short(_ histogram: DurationHistogram) -> Cell {
        .optional(histogram.percentile(0.95)) { .text(HumanFormat.duration($0)) }
    }

    private static func percent(_ share: Double) -> String {
        HumanFormat.number(share * 100, decimals: share > 0 && share < 0.0995 ? 1 : 0)
    }

    private static func record(_ group: DeadGroup) -> Record {
        Record([
            ("count", .int(group.count)), ("fingerprint", .text(group.fingerprint)),
            ("last_seen", group.lastSeen.cell), ("sample", .id(Int(group.sample))),
            ("pattern", .text(group.pattern)),
        ])
    }

    private static func record(_ schedule: KindSchedule) -> Record {
        Record([
            ("schedule", .text(schedule.name)), ("recurrence", .text(schedule.recurrence)),
            ("zone", .text(schedule.zone)), ("paused", .flag(schedule.isPaused)),
            ("next_at", .optional(schedule.nextAt) { $0.cell }),
        ])
    }
}
