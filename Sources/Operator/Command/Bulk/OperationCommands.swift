import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// `errand op …`: the bulk operations.
enum OperationCommands {
    static let all = [list, show, cancel, resume]

    private static let id = Argument.required(
        ValueFormat.integer("ID", in: 1...Int.max), help: "The operation's id")

    private static let list = Command(
        "op", "ls", effect: .read,
        summary: "List bulk operations, the newest first",
        examples: [.init("errand op ls --limit 5", "the last 5 operations")],
        options: [PageOptions.limit, PageOptions.cursor]
    ) { invocation in
        let operations = try await Operations(session: try invocation.session()).list(
            before: invocation[PageOptions.cursor].map(Int64.init),
            limit: invocation[PageOptions.limit])
        try invocation.output.list(
            operations.map(BulkRun.record),
            columns: [
                Column("id"), Column("action"), Column("state"), Column("done"), Column("total"),
                Column("operator"), Column("started_at"), Column("reason", isFlexible: true),
            ], empty: "no bulk operations yet")
        PageOptions.printMore(invocation, count: operations.count, last: operations.last?.id)
        return .done
    }

    private static let show = Command(
        "op", "show", effect: .read,
        summary: "Show one bulk operation and its progress",
        examples: [.init("errand op show 7 --output json", "for a script")],
        arguments: [id]
    ) { invocation in
        let operations = Operations(session: try invocation.session())
        try invocation.output.show(BulkRun.record(try await one(invocation, operations)))
        return .done
    }

    private static let cancel = Command(
        "op", "cancel", effect: .write,
        summary: "Cancel a bulk operation; jobs already processed stay changed",
        discussion: "It stops after the current chunk; 'errand op resume' continues it.",
        examples: [.init("errand op cancel 7 --reason 'the wrong queue'", "stop operation 7")],
        options: [AuditOptions.reason], arguments: [id]
    ) { invocation in
        let operations = Operations(session: try invocation.session())
        let operation = try await one(invocation, operations)
        let isCancelled = try await operations.cancel(
            operation.id, by: invocation.operatorName, reason: invocation[AuditOptions.reason])
        let now = try await one(invocation, operations)
        guard isCancelled else {
            throw CommandFailure(
                exit: .conflict,
                message: "operation \(now.id) has already ended: \(now.state.rawValue)",
                hint: "'errand op show \(now.id)' shows its result")
        }
        try invocation.output.show(BulkRun.record(now))
        return .done
    }

    private static let resume = Command(
        "op", "resume", effect: .write,
        summary: "Continue a cancelled or interrupted bulk operation",
        discussion: """
            It continues where it stopped, with the jobs or dead letters selected at its start. A \
            redrive begins with another trial.
            """,
        examples: [.init("errand op resume 7", "after Ctrl-C or a lost terminal")],
        options: [AuditOptions.reason, BulkOptions.trial, BulkOptions.timeout], arguments: [id]
    ) { invocation in
        let operations = Operations(
            session: try invocation.session(), redis: try? invocation.redisAddress())
        let operation = try await one(invocation, operations)
        guard operation.state != .done else {
            throw CommandFailure(
                exit: .conflict, message: "operation \(operation.id) is done",
                hint: "'errand op show \(operation.id)' shows its result")
        }
        let isResumed = try await operations.resume(
            operation.id, by: invocation.operatorName, reason: invocation[AuditOptions.reason])
        guard isResumed else {
            throw CommandFailure(
                exit: .conflict, message: "operation \(operation.id) is running",
                hint: "'errand op show \(operation.id)' shows its progress")
        }
        let trial = operation.action == .redrive ? invocation[BulkOptions.trial] : 0
        return try await BulkRun(operations: operations, output: invocation.output)
            .run(operation.id, trial: trial, timeout: invocation[BulkOptions.timeout])
    }

    private static func one(
        _ invocation: Invocation, _ operations: Operations
    ) async throws -> BulkOperation {
        guard let operation = try await operations.one(Int64(invocation[id])) else {
            throw CommandFailure(
                exit: .notFound, message: "there is no operation \(invocation[id])",
                hint: "'errand op ls' lists the operations")
        }
        return operation
    }
}

/// `errand audit ls`.
enum AuditCommands {
    static let all = [list]

    private static let person = Option<String?>.text(
        "operator", placeholder: "NAME", help: "Only changes by this operator")
    private static let action = Option<String?>.text(
        "action", help: "Only this action, such as 'queue pause', or a noun, such as queue")
    private static let since = Option<Duration?>.duration(
        "since", range: .zero...Duration.seconds(100 * 365 * 86_400),
        help: "Only changes within the last TIME, such as 2h or 7d")

    private static let list = Command(
        "audit", "ls", effect: .read,
        summary: "List operators' changes, the newest first",
        examples: [
            .init("errand audit ls --action queue --since 1d", "changes to queues in 24 hours")
        ],
        options: [person, action, since, PageOptions.limit, PageOptions.cursor]
    ) { invocation in
        let entries = try await Inspector(session: try invocation.session()).audit(
            operatorName: invocation[person], action: invocation[action],
            since: invocation[since], before: invocation[PageOptions.cursor].map(Int64.init),
            limit: invocation[PageOptions.limit])
        try invocation.output.list(
            entries.map { entry in
                Record([
                    ("id", .id(Int(entry.id))), ("at", entry.at.cell),
                    ("operator", .text(entry.operatorName)), ("action", .text(entry.action)),
                    ("subject", .text(entry.subject)),
                    ("reason", .optional(entry.reason) { .text($0) }),
                    ("change", .optional(entry.change) { .json($0) }),
                ])
            },
            columns: [
                Column("id"), Column("at"), Column("operator"), Column("action"),
                Column("subject"), Column("reason", isFlexible: true),
            ], empty: "no changes match")
        PageOptions.printMore(invocation, count: entries.count, last: entries.last?.id)
        return .done
    }
}
