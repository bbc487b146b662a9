import JobQueue
import Postgres
import Terminal

/// `errand job run-now`, `reschedule`, `move`, `edit` and `discard`.
enum JobChangeCommands {
    static let all = [runNow, reschedule, move, edit, discard]

    private static let id = Argument.required(
        ValueFormat.integer("ID", in: 1...Int.max), help: "The job's id")
    private static let ids = Argument.several(
        ValueFormat.integer("ID", in: 1...Int.max), help: "The jobs' ids")

    private static let runNow = Command(
        "job", "run-now", effect: .changes,
        summary: "Let waiting jobs wait no longer: scheduled or retrying ones",
        examples: [.init("errand job run-now 4711", "although it is due tonight")],
        arguments: [ids]
    ) { invocation in
        let inspector = Inspector(session: try invocation.session())
        let effects = try await inspector.runNow(invocation[ids].map(Int64.init))
        return try JobCommands.report(effects, good: [.changed], invocation)
    }

    // MARK: reschedule

    private static let at = Option<Instant?>.value(
        "at", JobWords.time, help: "When to start, such as 2026-11-20T08:00:00Z")
    private static let delay = Option<Duration?>.duration(
        "in", range: .zero ... .seconds(36_500 * 86_400), help: "Start after this time")

    private static let reschedule = Command(
        "job", "reschedule", effect: .changes, summary: "Give waiting jobs another time to start",
        discussion: "A time that has passed means now. Attempts that failed still count.",
        examples: [
            .init("errand job reschedule 4711 --in 2h", "not before two hours have passed")
        ],
        options: [at, delay], arguments: [ids]
    ) { invocation in
        guard (invocation[at] == nil) != (invocation[delay] == nil) else {
            throw CommandFailure(
                exit: .usage, message: "give either --at TIME or --in TIME",
                hint: "for example --at 2026-11-20T08:00:00Z, or --in 2h")
        }
        let inspector = Inspector(session: try invocation.session())
        let time = invocation[at] ?? Instant.now().adding(invocation[delay] ?? .zero)
        let effects = try await inspector.reschedule(invocation[ids].map(Int64.init), at: time)
        return try JobCommands.report(effects, good: [.changed], invocation)
    }

    // MARK: move

    private static let queue =
        Option<String?>.text(
            "queue", placeholder: "NAME", help: "The queue that they are to wait in"
        ).required() as Option<String>
    private static let priority = Option<Priority?>.value(
        "priority", JobWords.level, help: "Also another priority: critical, high, normal or low")
    private static let newQueue = Option.flag(
        "new-queue", help: "Although there is no queue of that name yet")

    private static let move = Command(
        "job", "move", effect: .changes,
        summary: "Move waiting jobs to another queue, or give them a priority",
        discussion: "They stand behind the jobs of the same priority that are due there.",
        examples: [
            .init("errand job move 4711 --queue mail --priority high", "to the front of mail")
        ],
        options: [queue, priority, newQueue], arguments: [ids]
    ) { invocation in
        let inspector = Inspector(session: try invocation.session())
        let name = invocation[queue]
        if try await inspector.queues(named: name).isEmpty {
            let known = try await inspector.queues().map(\.name)
            guard invocation[newQueue] else {
                var failure = QueueCommands.unknown(name, known)
                failure.hint = (failure.hint ?? "") + "; --new-queue makes it"
                throw failure
            }
            guard JobKinds.isName(name, limit: 63) else {
                throw CommandFailure(
                    exit: .usage, message: "'\(name)' cannot name a queue",
                    hint: "up to 63 of a-z, 0-9, dot, dash, underscore")
            }
        }
        let effects = try await inspector.move(
            invocation[ids].map(Int64.init), to: name, priority: invocation[priority],
            redis: try? invocation.redisAddress())
        return try JobCommands.report(effects, good: [.changed], invocation)
    }

    // MARK: edit

    private static let args = Option<String?>.text(
        "args", placeholder: "JSON", help: "New arguments: a JSON object, or @FILE, or @-")
    private static let tags = Option<[String]>.texts(
        "tag", help: "New words to find the job by, in place of all that it has")

    private static let edit = Command(
        "job", "edit", effect: .changes, summary: "Replace the arguments or tags of a waiting job",
        discussion: """
            The arguments have to be of the version that the job has. A job that a worker has \
            claimed is not changed any more.
            """,
        examples: [
            .init("errand job edit 4711 --args '{\"ms\": 500}'", "before it is retried")
        ],
        options: [args, tags], arguments: [id]
    ) { invocation in
        guard invocation[args] != nil || !invocation[tags].isEmpty else {
            throw CommandFailure(
                exit: .usage, message: "nothing to change is given",
                hint: "pass --args JSON, --tag WORD, or both")
        }
        let bytes = try invocation[args].map { text in
            try JobWords.arguments(text, kind: "changed")
        }
        let inspector = Inspector(session: try invocation.session())
        let id = Int64(invocation[id])
        let effect = try await inspector.edit(
            id, args: bytes, tags: invocation[tags].isEmpty ? nil : invocation[tags])
        return try JobCommands.report([id: effect], good: [.changed], invocation)
    }

    // MARK: discard

    private static let discard = Command(
        "job", "discard", effect: .changes, summary: "End waiting or dead jobs for good, unrun",
        discussion: """
            They are kept as cancelled ones for as long as their kind says, so that 'errand job \
            retry' can still bring them back. Running jobs stay: 'errand job cancel' ends those.
            """,
        examples: [.init("errand job discard 4711 --yes", "without asking")],
        arguments: [ids]
    ) { invocation in
        let count = Set(invocation[ids]).count
        try invocation.output.confirm(
            count == 1
                ? "discard job \(invocation[ids][0])?"
                : "discard \(HumanFormat.count(count)) jobs?", yes: invocation[GlobalOptions.yes])
        let inspector = Inspector(session: try invocation.session())
        let effects = try await inspector.discard(
            invocation[ids].map(Int64.init), by: invocation.operatorName)
        return try JobCommands.report(effects, good: [.discarded], invocation)
    }
}
