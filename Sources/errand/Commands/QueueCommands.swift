import JobQueue
import Postgres
import Terminal

/// `errand queue …`.
enum QueueCommands {
    static let all = [list, show, pause, resume] + QueueEndCommands.all

    private static let name = Argument.required(ValueFormat.text("NAME"), help: "The queue's name")
    private static let reason = Option<String?>.text(
        "reason", help: "Why, for those who find it paused")
    private static let length = Option<Duration?>.duration(
        "for", range: .seconds(1) ... .seconds(3_650 * 86_400),
        help: "Let it go on by itself after this time")

    private static let list = Command(
        "queue", "ls", effect: .looks, summary: "List the queues with what waits in them",
        examples: [.init("errand queue ls --watch 2", "again every two seconds")]
    ) { invocation in
        let queues = try await Inspector(session: try invocation.session()).queues()
        try invocation.output.list(
            queues.map { record($0, invocation.output.times) }, columns: listed)
        return .done
    }

    /// With short titles, so that it fits 80 columns.
    static let listed = [
        Column("queue"), Column("available", title: "AVAIL"), Column("running"),
        Column("retrying", title: "RETRY"), Column("scheduled", title: "SCHED"), Column("dead"),
        Column("workers"), Column("oldest"), Column("paused", isFlexible: true),
    ]

    private static let show = Command(
        "queue", "show", effect: .looks, summary: "Show one queue",
        examples: [.init("errand queue show mail", "who paused it, and until when")],
        arguments: [name]
    ) { invocation in
        let inspector = Inspector(session: try invocation.session())
        guard let queue = try await inspector.queues(named: invocation[name]).first else {
            throw unknown(invocation[name], try await inspector.queues().map(\.name))
        }
        try invocation.output.show(record(queue, invocation.output.times))
        return .done
    }

    private static let pause = Command(
        "queue", "pause", effect: .changes,
        summary: "Stop a queue: its jobs wait until it is resumed",
        discussion: "Jobs that run go on; workers take no more of it within a second.",
        examples: [
            .init("errand queue pause mail --for 30m --reason 'mail server moves'", "for a while")
        ],
        options: [reason, length], arguments: [name]
    ) { invocation in
        let inspector = Inspector(session: try invocation.session())
        let found = try await inspector.pause(
            invocation[name], by: invocation.operatorName, reason: invocation[reason],
            for: invocation[length])
        guard found else {
            throw unknown(invocation[name], try await inspector.queues().map(\.name))
        }
        return try await report(invocation, inspector)
    }

    private static let resume = Command(
        "queue", "resume", effect: .changes, summary: "Let a paused queue go on",
        examples: [.init("errand queue resume mail", "after a pause")], arguments: [name]
    ) { invocation in
        let inspector = Inspector(session: try invocation.session())
        guard try await inspector.resume(invocation[name], by: invocation.operatorName) else {
            throw unknown(invocation[name], try await inspector.queues().map(\.name))
        }
        return try await report(invocation, inspector)
    }

    private static func report(
        _ invocation: Invocation, _ inspector: Inspector
    ) async throws -> ExitCode {
        let queues = try await inspector.queues(named: invocation[name])
        try invocation.output.list(
            queues.map { record($0, invocation.output.times) }, columns: listed)
        return .done
    }

    static func unknown(_ name: String, _ known: [String]) -> CommandFailure {
        let guess = nearest(to: name, among: known).map { "did you mean \($0)? " } ?? ""
        return CommandFailure(
            exit: .notFound, message: "there is no queue \(name)",
            hint: guess + "there are: \(known.joined(separator: ", "))")
    }

    static func record(_ queue: QueueRecord, _ times: TimeFormat) -> Record {
        let paused = queue.pausedAt.map { at in
            "by \(queue.pausedBy ?? "unknown") at \(times.text(at.date))"
                + (queue.pausedUntil.map { " until \(times.text($0.date))" } ?? "")
                + (queue.pauseReason.map { ": \($0)" } ?? "")
        }
        return Record([
            ("queue", .text(queue.name)), ("available", .int(queue.available)),
            ("running", .int(queue.running)), ("retrying", .int(queue.retrying)),
            ("scheduled", .int(queue.scheduled)), ("dead", .int(queue.dead)),
            ("workers", .int(queue.workers)),
            ("oldest", .optional(queue.oldest) { .age($0.date, now: Instant.now().date) }),
            ("estimated", .flag(queue.isEstimate)),
            ("paused", .optional(paused) { .marked($0, .yellow) }),
            ("paused_at", .optional(queue.pausedAt) { $0.cell }),
            ("paused_by", .optional(queue.pausedBy) { .text($0) }),
            ("pause_reason", .optional(queue.pauseReason) { .text($0) }),
            ("paused_until", .optional(queue.pausedUntil) { $0.cell }),
        ])
    }
}

/// `errand worker ls`.
enum WorkerCommands {
    static let all = [list]

    private static let list = Command(
        "worker", "ls", effect: .looks, summary: "List the worker processes",
        examples: [.init("errand worker ls", "which are alive")]
    ) { invocation in
        let workers = try await Inspector(session: try invocation.session()).workers()
        let now = Instant.now().date
        try invocation.output.list(
            workers.map { worker in
                let state = worker.isAlive ? (worker.isStopping ? "stopping" : "alive") : "silent"
                return Record([
                    ("id", .id(Int(worker.id))), ("host", .text(worker.host)),
                    ("pid", .id(worker.pid)),
                    ("state", .marked(state, worker.isAlive ? .green : .red)),
                    ("started_at", worker.startedAt.cell),
                    ("last_seen_at", .age(worker.lastSeenAt.date, now: now)),
                    ("version", .text(worker.version)), ("queues", .json(worker.queues)),
                    ("kinds", .list(worker.kinds)),
                ])
            },
            columns: [
                Column("id"), Column("host"), Column("pid"), Column("state"),
                Column("started_at"), Column("last_seen_at"), Column("queues", isFlexible: true),
            ], empty: "no worker is running: start one with 'errand work'")
        return .done
    }
}
