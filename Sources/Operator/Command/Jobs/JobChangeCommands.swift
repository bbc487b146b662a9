import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// `errand job run-now`, `reschedule`, `move`, `edit` and `discard`.
enum JobChangeCommands {
    static let all = [runNow, reschedule, move, edit, discard]

    private static let runNow = Command(
        "job", "run-now", effect: .changes,
        summary: "Let waiting jobs wait no longer: scheduled or retrying ones",
        discussion: BulkOptions.discussion,
        examples: [
            .init("errand job run-now 4711", "although it is due tonight"),
            .init("errand job run-now --queue mail --state retrying", "without waiting longer"),
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
        "at", JobWords.time, help: "When to start, such as 2026-11-20T08:00:00Z")
    private static let delay = Option<Duration?>.duration(
        "in", range: .zero ... .seconds(36_500 * 86_400), help: "Start after this time")

    private static let reschedule = Command(
        "job", "reschedule", effect: .changes,
        summary: "Give waiting jobs another time to start",
        discussion: """
            A time that has passed means now. Attempts that failed still count.

            """ + BulkOptions.discussion,
        examples: [
            .init("errand job reschedule 4711 --in 2h", "not before two hours have passed"),
            .init("errand job reschedule --kind notification.email --in 1d", "all these mails"),
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
            "to", placeholder: "QUEUE", help: "The queue that they are to wait in"
        ).required() as Option<String>
    private static let priority = Option<Priority?>.value(
        "priority", JobWords.level, help: "Also another priority: critical, high, normal or low")
    private static let newQueue = Option.flag(
        "new-queue", help: "Although there is no queue of that name yet")

    private static let move = Command(
        "job", "move", effect: .changes,
        summary: "Move waiting jobs to another queue, or give them a priority",
        discussion: """
            They stand behind the jobs of the same priority that are due there.

            """ + BulkOptions.discussion,
        examples: [
            .init("errand job move 4711 --to mail --priority high", "to the front of mail"),
            .init("errand job move --queue mail --kind demo.sleep --to slow", "out of the way"),
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

    /// Refuses a queue that is a slip of the keyboard.
    private static func check(_ name: String, _ invocation: Invocation) async throws {
        let known = try await Inspector(session: try invocation.session()).queueNames()
        guard !known.contains(name) else { return }
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

    // MARK: edit

    private static let args = Option<String?>.text(
        "args", placeholder: "JSON", help: "New arguments: a JSON object, or @FILE, or @-")
    private static let tags = Option<[String]>.texts(
        "set-tag", placeholder: "WORD",
        help: "New words to find the jobs by, in place of all that they have")

    private static let edit = Command(
        "job", "edit", effect: .changes,
        summary: "Replace the arguments or tags of waiting jobs",
        discussion: """
            The arguments have to be of the version that the job has. A job that a worker has \
            claimed is not changed any more.

            """ + BulkOptions.discussion,
        examples: [
            .init("errand job edit 4711 --args '{\"ms\": 500}'", "before it is retried"),
            .init("errand job edit --queue mail --tag old --set-tag new", "another word for all"),
        ],
        options: [args, tags] + BulkOptions.jobs, arguments: [BulkOptions.ids]
    ) { invocation in
        guard invocation[args] != nil || !invocation[tags].isEmpty else {
            throw CommandFailure(
                exit: .usage, message: "nothing to change is given",
                hint: "pass --args JSON, --set-tag WORD, or both")
        }
        let bytes = try invocation[args].map { text in
            try JobWords.arguments(text, kind: "changed")
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
        "job", "discard", effect: .changes,
        summary: "End waiting or dead jobs for good, unrun",
        discussion: """
            They are kept as cancelled ones for as long as their kind says, so that 'errand job \
            retry' can still bring them back. Running jobs stay: 'errand job cancel' ends those.

            """ + BulkOptions.discussion,
        examples: [
            .init("errand job discard 4711 --yes", "without asking"),
            .init("errand job discard --kind demo.sleep --state scheduled", "what was to come"),
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
