import ErrandAdministration
import Errand
import ErrandTerminal

/// `errand queue rm`.
enum QueueRemoveCommand {
    static let all = [remove]

    private static let name = Argument.required(ValueFormat.text("NAME"), help: "The queue's name")

    private static let remove = Command(
        "queue", "rm", effect: .write, summary: "Remove a queue that nothing uses",
        discussion: """
            Exits 4 if something uses the queue: a job, a live worker that names it, a schedule, \
            the default of a kind, a limit or a pause. A pattern of a worker does not count. If a \
            job is enqueued there later, the queue is created again. Dead letters, finished jobs \
            and the audit log keep its name. Retention removes unused queues after 90 days.
            """,
        examples: [
            .init("errand queue rm tenant-7", "asks"),
            .init("errand queue rm tenant-7 --yes --reason 'contract ended'", "does not ask"),
        ],
        options: [AuditOptions.reason], arguments: [name]
    ) { invocation in
        let inspector = Inspector(session: try invocation.session())
        let name = invocation[name]
        try await QueueCommands.check(name, inspector)
        if let use = try await inspector.uses(of: name).first { throw used(name, use) }
        try invocation.output.confirm(
            "remove the queue \(name)? It is created again if a job is enqueued there",
            yes: invocation[GlobalOptions.yes])
        let removal = try await inspector.removeQueue(
            name, by: invocation.operatorName, reason: invocation[AuditOptions.reason])
        switch removal {
        case .removed: break
        case .unknown: throw QueueCommands.unknown(name, try await inspector.queueNames())
        case .used(let use): throw used(name, use)
        }
        try invocation.output.show(
            Record([("queue", .text(name)), ("result", .text("removed"))]))
        return .done
    }

    private static func used(_ queue: String, _ use: QueueUse) -> CommandFailure {
        let word = shellWord(queue)
        let (message, hint) =
            switch use {
            case .isDefault:
                ("is the queue of jobs without another", "'errand queue purge \(word)' empties it")
            case .jobs:
                (
                    "has jobs",
                    "'errand queue purge \(word)' cancels them, 'errand queue drain "
                        + "\(word)' waits for them"
                )
            case .worker(let id):
                ("is served by worker \(id)", "start the worker without it, or with a pattern")
            case .schedule(let schedule):
                (
                    "is the queue of schedule \(schedule)",
                    "'errand schedule edit \(shellWord(schedule)) --queue NAME' changes it"
                )
            case .kind(let kind):
                (
                    "is the default queue of the kind \(kind)",
                    "a program declares it; retention forgets the kind 90 days after its last use"
                )
            case .limit:
                ("has a limit", "'errand queue limit \(word) --none' removes it")
            case .pause:
                ("is paused", "'errand queue resume \(word)' resumes it")
            }
        return CommandFailure(
            exit: .conflict, message: "queue \(queue) is in use: it \(message)", hint: hint)
    }
}
