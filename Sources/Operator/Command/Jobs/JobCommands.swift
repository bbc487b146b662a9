import ErrandAdministration
import FoundationEssentials
import Errand
import ErrandPostgres
import ErrandTerminal

/// `errand job …`.
enum JobCommands {
    static let all =
        [list, show] + WhyCommand.all + [retry, cancel] + JobChangeCommands.all
        + JobWaitCommand.all + JobTailCommand.all

    private static let id = Argument.required(
        ValueFormat.integer("ID", in: 1...Int.max), help: "The job's id")
    static let list = Command(
        "job", "ls", effect: .read, summary: "List jobs, the newest first",
        discussion: JobFilterOptions.reach,
        examples: [
            .init("errand job ls --state dead", "dead letters"),
            .init(
                "errand job ls --queue mail --kind notification.email --limit 10",
                "the newest 10 emails"),
            .init(
                "errand job ls --error '~ timed? ?out' --arg person_id=42 --newer 2h",
                "recent timeouts of one person's jobs"),
            .init("errand job ls --order oldest --cursor 4711", "jobs after job 4711"),
            .init("errand job ls --arg order=17 --all-history", "search the whole history"),
        ],
        options: JobFilterOptions.all + [JobFilterOptions.states] + JobFilterOptions.page
            + RevealOptions.all
    ) { invocation in
        var inspector = Inspector(session: try invocation.session())
        var filter = try await JobFilterOptions.filter(invocation, inspector)
        let states = invocation[JobFilterOptions.states]
        filter.states = states.isEmpty ? nil : states
        inspector = try await RevealOptions.revealing(
            invocation, inspector, subject: "jobs", filter)
        try await JobFilterOptions.list(
            filter, inspector, columns: listed, noun: "job", invocation)
        return .done
    }

    private static let listed = [
        Column("id"), Column("kind"), Column("queue"), Column("state"), Column("attempt"),
        Column("run_at"), Column("args", isFlexible: true),
    ]

    private static func record(of entry: JobHistoryEntry) -> Record {
        Record([
            ("at", .optional(entry.at) { $0.cell }), ("event", .text(entry.event.rawValue)),
            ("attempt", .optional(entry.attempt) { .int($0) }),
            ("worker", .optional(entry.worker) { .id(Int($0)) }),
            ("run_time", .optional(entry.duration) { .duration($0) }),
            ("text", .optional(entry.text) { .text($0) }),
        ])
    }

    private static let show = Command(
        "job", "show", effect: .read,
        summary: "Show one job: its arguments, attempts and history",
        discussion: """
            The history shows who created the job, each attempt with its worker, duration and \
            error, and what the job created: jobs, effects, and the outcome of its schedule's \
            occurrence.
            """,
        examples: [
            .init("errand job show 4711", "everything about job 4711"),
            .init("errand job show 4711 --reveal --reason 'ticket 88'", "including personal data"),
        ],
        options: RevealOptions.all, arguments: [id]
    ) { invocation in
        let inspector = try await RevealOptions.inspector(
            invocation, subject: "job \(invocation[id])")
        guard let job = try await inspector.job(Int64(invocation[id])) else {
            throw unknown(Int64(invocation[id]))
        }
        let history = try await inspector.history(of: job)
        try invocation.output.show(
            card(job, history, keepingAll: !invocation.output.isForPeople))
        return .done
    }

    /// A job and its history; a card shows errors and origin in the history only.
    static func card(
        _ job: JobRecord, _ history: [JobHistoryEntry], keepingAll: Bool = false
    ) -> Record {
        var shown = record(job)
        if !keepingAll { shown.fields.removeAll { ["errors", "origin"].contains($0.name) } }
        shown.append("history", .records(history.map(record(of:))))
        return shown
    }

    static func unknown(_ id: Int64) -> CommandFailure {
        CommandFailure(
            exit: .notFound, message: "there is no job \(id)",
            hint: "finished jobs are deleted after their retention; 'errand job ls' lists the "
                + "jobs that exist")
    }

    private static let retry = Command(
        "job", "retry", effect: .write,
        summary: "Retry dead or finished jobs, or run waiting jobs now",
        discussion: """
            A finished job gets all its attempts again; a waiting job becomes due now. Filters \
            without --state select dead and retrying jobs; use --state for completed or \
            cancelled jobs.

            """ + BulkOptions.discussion,
        examples: [
            .init("errand job retry 4711", "one job, now"),
            .init(
                "errand job retry --queue mail --error timeout --rate 50/s",
                "many jobs, at most 50 a second"),
        ],
        options: BulkOptions.jobs, arguments: [BulkOptions.ids]
    ) { invocation in
        try await BulkFlow(.retry, invocation).jobs(good: [.retried]) { inspector, ids in
            try await inspector.retry(
                ids, by: invocation.operatorName, reason: invocation[AuditOptions.reason])
        }
    }

    private static let cancel = Command(
        "job", "cancel", effect: .write,
        summary: "Cancel waiting or running jobs",
        discussion: """
            A waiting job is cancelled immediately. The worker of a running job cancels its task; \
            if the handler succeeds nevertheless, the job is completed.

            """ + BulkOptions.discussion,
        examples: [
            .init("errand job cancel 4711", "one job, now"),
            .init(
                "errand job cancel --queue mail --older 2d --dry-run",
                "show what would be cancelled"),
        ],
        options: BulkOptions.jobs, arguments: [BulkOptions.ids]
    ) { invocation in
        try await BulkFlow(.cancel, invocation).jobs(good: [.cancelled, .cancelRequested]) {
            inspector, ids in
            try await inspector.cancel(
                ids, by: invocation.operatorName, reason: invocation[AuditOptions.reason])
        }
    }

    static func report(
        _ effects: [Int64: Inspector.Effect], good: Set<Inspector.Effect>,
        _ invocation: Invocation
    ) throws -> ExitCode {
        let sorted = effects.sorted { $0.key < $1.key }
        try invocation.output.list(
            sorted.map { id, effect in
                Record([("id", .id(Int(id))), ("result", .text(effect.rawValue))])
            })
        let failed = sorted.filter { !good.contains($0.value) }
        guard let first = failed.first else { return .done }
        let isUnknown = failed.allSatisfy { $0.value == .unknown }
        let exit: ExitCode =
            failed.count < sorted.count ? .partlyDone : isUnknown ? .notFound : .conflict
        throw CommandFailure(
            exit: exit,
            message: failed.count == 1
                ? "job \(first.key): \(phrase(first.value))"
                : "\(failed.count) of \(sorted.count) jobs were not changed",
            hint: isUnknown
                ? "'errand job ls' lists the jobs that exist"
                : "'errand job show ID' shows a job's state")
    }

    private static func phrase(_ effect: Inspector.Effect) -> String {
        switch effect {
        case .unknown: "there is no such job"
        case .finished: "it has already finished"
        case .running: "it is running"
        case .cancelled, .cancelRequested, .retried, .changed, .discarded: effect.rawValue
        }
    }

    /// A job with the names that scripts rely on.
    static func record(_ job: JobRecord) -> Record {
        Record([
            ("id", .id(Int(job.id))), ("kind", .text(job.kind)), ("queue", .text(job.queue)),
            ("state", .marked(job.state.rawValue, style(job.state))),
            ("priority", .int(job.priority)), ("attempt", .int(job.attempt)),
            ("max_attempts", .int(job.maxAttempts)), ("run_at", job.runAt.cell),
            ("created_at", job.createdAt.cell),
            ("started_at", .optional(job.startedAt) { $0.cell }),
            ("finished_at", .optional(job.finishedAt) { $0.cell }),
            ("run_time", .optional(job.duration) { .duration($0) }),
            ("worker", .optional(job.worker) { .id(Int($0)) }),
            ("not_after", .optional(job.notAfter) { $0.cell }),
            ("unique_key", .optional(job.uniqueKey) { .text($0) }),
            ("args_version", .int(job.argsVersion)),
            ("reason", .optional(job.reason) { .text($0) }), ("args", .json(job.args)),
            ("errors", .json(job.errors)),
            ("last_error", .optional(job.lastError) { .text($0) }),
            ("fingerprint", .optional(job.fingerprint) { .text($0) }), ("tags", .list(job.tags)),
            ("schedule", .optional(job.occurrence) { .text($0.schedule) }),
            ("due_at", .optional(job.occurrence) { .time($0.due) }),
            ("origin", .optional(job.origin.flatMap { try? $0.json }) { .json($0) }),
            (
                "merged_due",
                .optional(job.occurrence) { occurrence in
                    .list(occurrence.missed.map { Instant(date: $0).description })
                }
            ),
        ])
    }

    static func style(_ state: JobState) -> Style {
        switch state {
        case .running, .completed: .green
        case .retrying: .yellow
        case .dead: .red
        case .scheduled, .available, .cancelled: .dim
        }
    }
}
