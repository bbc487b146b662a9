import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// `errand job run-now`, `reschedule`, `move`, `edit` and `discard`.
enum JobChangeCommands {
    static let all = [runNow, reschedule, move, edit, discard]

    private static let runNow = Command(
        "job", "run-now", effect: .write,
        summary: "Run scheduled or retrying jobs now",
        discussion: BulkOptions.discussion,
        examples: [
            .init("errand job run-now 4711", "one job, now"),
            .init("errand job run-now --queue mail --state retrying", "skip the retry delay"),
        ],
        options: BulkOptions.jobs, arguments: [BulkOptions.ids]
    ) { invocation in
        try await BulkFlow(.runNow, invocation).jobs(good: [.changed]) { inspector, ids in
            try await inspector.runNow(
                ids, by: invocation.operatorName, reason: invocation[AuditOptions.reason])
        }
    }

    // MARK: reschedule

    private static let at = Option<Instant?>.value(
        "at", JobInputOptions.time, help: "When to start, such as 2026-11-20T08:00:00Z")
    private static let delay = Option<Duration?>.duration(
        "in", range: .zero ... .seconds(36_500 * 86_400), help: "Start after this duration")

    private static let reschedule = Command(
        "job", "reschedule", effect: .write,
        summary: "Change the start time of waiting jobs",
        discussion: """
            A time in the past means now. Failed attempts still count.

            """ + BulkOptions.discussion,
        examples: [
            .init("errand job reschedule 4711 --in 2h", "start in two hours"),
            .init(
                "errand job reschedule --kind notification.email --in 1d",
                "postpone all emails by a day"),
        ],
        options: [at, delay] + BulkOptions.jobs, arguments: [BulkOptions.ids]
    ) { invocation in
        guard (invocation[at] == nil) != (invocation[delay] == nil) else {
            throw CommandFailure(
                exit: .usage, message: "give either --at TIME or --in TIME",
                hint: "for example --at 2026-11-20T08:00:00Z, or --in 2h")
        }
        let time = invocation[at] ?? Instant.now().adding(invocation[delay] ?? .zero)
        var flow = BulkFlow(.reschedule, invocation)
        flow.change.runAt = time
        return try await flow.jobs(good: [.changed]) { inspector, ids in
            try await inspector.reschedule(
                ids, at: time, by: invocation.operatorName,
                reason: invocation[AuditOptions.reason])
        }
    }

    // MARK: move

    private static let queue =
        Option<String?>.text(
            "to", placeholder: "QUEUE", help: "The queue to move the jobs to"
        ).required() as Option<String>
    private static let priority = Option<Priority?>.value(
        "priority", JobInputOptions.level,
        help: "Also set the priority: critical, high, normal or low")
    private static let newQueue = Option.flag(
        "new-queue", help: "Create the queue if it does not exist")

    private static let move = Command(
        "job", "move", effect: .write,
        summary: "Move waiting jobs to another queue, or change their priority",
        discussion: """
            Moved jobs run after the due jobs of the same priority in that queue.

            """ + BulkOptions.discussion,
        examples: [
            .init("errand job move 4711 --to mail --priority high", "to the front of mail"),
            .init(
                "errand job move --queue mail --kind demo.sleep --to slow",
                "move slow jobs out of mail"),
        ],
        options: [queue, priority, newQueue] + BulkOptions.jobs, arguments: [BulkOptions.ids]
    ) { invocation in
        let name = invocation[queue]
        try await check(name, invocation)
        var flow = BulkFlow(.move, invocation)
        flow.change.queue = name
        flow.change.priority = invocation[priority]?.rawValue
        return try await flow.jobs(good: [.changed]) { inspector, ids in
            try await inspector.move(
                ids, to: name, priority: invocation[priority],
                redis: try? invocation.redisAddress(), by: invocation.operatorName,
                reason: invocation[AuditOptions.reason])
        }
    }

    /// Refuses an unknown queue, which is probably a typing error.
    private static func check(_ name: String, _ invocation: Invocation) async throws {
        let known = try await Inspector(session: try invocation.session()).queueNames()
        guard !known.contains(name) else { return }
        guard invocation[newQueue] else {
            var failure = QueueCommands.unknown(name, known)
            failure.hint = (failure.hint ?? "") + "; --new-queue creates it"
            throw failure
        }
        guard JobKinds.isName(name, limit: 63) else {
            throw CommandFailure(
                exit: .usage, message: "'\(name)' is not a valid queue name",
                hint: "up to 63 of a-z, 0-9, dot, dash, underscore")
        }
    }

    // MARK: edit

    private static let args = Option<String?>.text(
        "args", placeholder: "JSON", help: "New arguments: a JSON object, or @FILE, or @-")
    private static let tags = Option<[String]>.texts(
        "set-tag", placeholder: "WORD",
        help: "Replace the jobs' tags with these")

    private static let edit = Command(
        "job", "edit", effect: .write,
        summary: "Replace the arguments or tags of waiting jobs",
        discussion: """
            The arguments must match the job's arguments version. Claimed jobs are not changed.

            """ + BulkOptions.discussion,
        examples: [
            .init("errand job edit 4711 --args '{\"ms\": 500}'", "fix the arguments of one job"),
            .init("errand job edit --queue mail --tag old --set-tag new", "replace a tag"),
        ],
        options: [args, tags] + BulkOptions.jobs, arguments: [BulkOptions.ids]
    ) { invocation in
        guard invocation[args] != nil || !invocation[tags].isEmpty else {
            throw CommandFailure(
                exit: .usage, message: "nothing to change",
                hint: "pass --args JSON, --set-tag WORD, or both")
        }
        let bytes = try invocation[args].map { text in
            try JobInputOptions.arguments(text, kind: "changed")
        }
        let words = invocation[tags].isEmpty ? nil : invocation[tags]
        var flow = BulkFlow(.edit, invocation)
        flow.change.args = bytes.map { String(decoding: $0, as: UTF8.self) }
        flow.change.tags = words
        return try await flow.jobs(good: [.changed]) { inspector, ids in
            try await inspector.edit(
                ids, args: bytes, tags: words, by: invocation.operatorName,
                reason: invocation[AuditOptions.reason])
        }
    }

    // MARK: discard

    private static let discard = Command(
        "job", "discard", effect: .write,
        summary: "Discard waiting or dead jobs without running them",
        discussion: """
            Discarded jobs are kept as cancelled for the retention of their kind, so 'errand job \
            retry' can still run them. Running jobs are not affected: use 'errand job cancel'.

            """ + BulkOptions.discussion,
        examples: [
            .init("errand job discard 4711 --yes", "without confirmation"),
            .init(
                "errand job discard --kind demo.sleep --state scheduled",
                "all scheduled jobs of a kind"),
        ],
        options: BulkOptions.jobs, arguments: [BulkOptions.ids]
    ) { invocation in
        try await BulkFlow(.discard, invocation).jobs(good: [.discarded]) { inspector, ids in
            let count = Set(ids).count
            try invocation.output.confirm(
                count == 1
                    ? "discard job \(ids[0])?" : "discard \(HumanFormat.count(count)) jobs?",
                yes: invocation[GlobalOptions.yes])
            return try await inspector.discard(
                ids, by: invocation.operatorName, reason: invocation[AuditOptions.reason])
        }
    }
}
