import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// `errand worker ls` and `show`.
enum WorkerCommands {
    static let all = [list, show] + WorkerControlCommands.all

    private static let id = Argument.required(
        ValueFormat.integer("ID", in: 1...Int.max), help: "The worker's id")

    private static let list = Command(
        "worker", "ls", effect: .read,
        summary: "List the worker processes",
        examples: [.init("errand worker ls", "workers that are alive, quiet or unresponsive")]
    ) { invocation in
        let workers = try await Inspector(session: try invocation.session()).workers()
        try invocation.output.list(
            workers.map(record), columns: listed,
            empty: "no worker is running: start one with 'errand work'")
        return .done
    }

    static let listed = [
        Column("id"), Column("host"), Column("pid"), Column("state"), Column("started_at"),
        Column("last_seen_at"), Column("queues", isFlexible: true),
    ]

    static func record(_ worker: WorkerRecord) -> Record {
        let now = Instant.now().date
        let style: Style =
            switch worker.state {
            case .alive: .green
            case .quiet, .stopping: .yellow
            case .unresponsive: .red
            }
        return Record([
            ("id", .id(Int(worker.id))), ("host", .text(worker.host)), ("pid", .id(worker.pid)),
            ("state", .marked(worker.state.rawValue, style)),
            ("started_at", worker.startedAt.cell),
            ("last_seen_at", .age(worker.lastSeenAt.date, now: now)),
            ("version", .text(worker.version)), ("queues", queues(of: worker)),
            ("kinds", .list(worker.kinds)),
            ("command", .optional(worker.order) { .text($0.task.rawValue) }),
            ("command_by", .optional(worker.order?.by) { .text($0) }),
            ("command_at", .optional(worker.order?.at) { $0.cell }),
            ("command_reason", .optional(worker.order?.reason) { .text($0) }),
        ])
    }

    private static func queues(of worker: WorkerRecord) -> Cell {
        guard let reports = try? worker.queueReports() else { return .missing }
        return .brief(
            .list(
                reports.map {
                    // The concurrency of a pattern is that of each queue.
                    QueuePattern($0.name).isPattern
                        ? $0.name : "\($0.name) \($0.busy)/\($0.concurrency)"
                }),
            of: .records(reports.map(record)))
    }

    static func unknown(_ id: Int) -> CommandFailure {
        CommandFailure(
            exit: .notFound, message: "there is no worker \(id)",
            hint: "'errand worker ls' lists the workers")
    }

    // MARK: show

    private static let show = Command(
        "worker", "show", effect: .read,
        summary: "Show one worker: its queues, running jobs and roles",
        discussion: """
            Requests a fresh report from the worker; for an unresponsive worker it shows the last \
            one. It lists up to a hundred running jobs, the longest-running first.
            """,
        examples: [.init("errand worker show 12", "its queues and running jobs")], arguments: [id]
    ) { invocation in
        let inspector = Inspector(session: try invocation.session())
        let id = invocation[id]
        guard var worker = try await inspector.workers().first(where: { $0.id == id }) else {
            throw unknown(id)
        }
        if worker.isAlive { worker = try await inspector.refresh(worker) ?? worker }
        let jobs = try await inspector.running(on: worker)
        let leads = try await inspector.leaders().filter { $0.worker == worker.id }
        var record = Record([])
        for field in Self.record(worker).fields {
            record.append(field.name, field.cell)
            guard field.name == "last_seen_at" else { continue }
            record.append("lease", .duration(worker.lease))
            record.append(
                "clock_ahead",
                .optional(worker.clockAhead) { .number($0 / .seconds(1), decimals: 3) })
        }
        record.append("roles", .list(leads.map(\.role.rawValue)))
        let now = Instant.now().date
        record.append(
            "running",
            .records(
                jobs.map { job in
                    Record([
                        ("id", .id(Int(job.id))), ("kind", .text(job.kind)),
                        ("queue", .text(job.queue)), ("attempt", .int(job.attempt)),
                        ("since", .age(job.since.date, now: now)),
                    ])
                }))
        try invocation.output.show(record)
        return .done
    }

    private static func record(_ queue: WorkerRecord.QueueReport) -> Record {
        Record([
            ("queue", .text(queue.name)), ("concurrency", .int(queue.concurrency)),
            ("weight", .int(queue.weight)), ("busy", .int(queue.busy)),
            ("waiting", .int(queue.waiting)),
            ("finished", .optional(queue.finished) { .int($0) }),
            ("failed", .optional(queue.failed) { .int($0) }),
            ("rate_out", .number((queue.rate * 10).rounded() / 10, decimals: 1)),
        ])
    }
}
