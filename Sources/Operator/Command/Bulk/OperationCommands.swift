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
        "op", "ls", effect: .looks,
        summary: "List bulk operations, the newest first",
        examples: [.init("errand op ls --limit 5", "who did what of late")],
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
            ], empty: "no bulk operation was run yet")
        PageOptions.tellMore(invocation, count: operations.count, last: operations.last?.id)
        return .done
    }

    private static let show = Command(
        "op", "show", effect: .looks,
        summary: "Show one bulk operation: what it does and how far it is",
        examples: [.init("errand op show 7 --output json", "for a script that waits for its end")],
        arguments: [id]
    ) { invocation in
        let operations = Operations(session: try invocation.session())
        try invocation.output.show(BulkRun.record(try await one(invocation, operations)))
        return .done
    }

    private static let cancel = Command(
        "op", "cancel", effect: .changes,
        summary: "End a bulk operation; what it has done stays",
        discussion: "It ends after the chunk under way; 'errand op resume' goes on with it.",
        examples: [.init("errand op cancel 7 --reason 'the wrong queue'", "and stop at once")],
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
                hint: "'errand op show \(now.id)' tells how")
        }
        try invocation.output.show(BulkRun.record(now))
        return .done
    }

    private static let resume = Command(
        "op", "resume", effect: .changes,
        summary: "Go on with a bulk operation that was ended or interrupted",
        discussion: """
            It goes on where it was, with the jobs or dead letters that were meant when it began; \
            of a redrive some run first again.
            """,
        examples: [.init("errand op resume 7", "after Ctrl-C, or when its terminal was lost")],
        options: [AuditOptions.reason, BulkOptions.trial, BulkOptions.patience], arguments: [id]
    ) { invocation in
        let operations = Operations(
            session: try invocation.session(), redis: try? invocation.redisAddress())
        let operation = try await one(invocation, operations)
        guard operation.state != .done else {
            throw CommandFailure(
                exit: .conflict, message: "operation \(operation.id) is done",
                hint: "'errand op show \(operation.id)' tells what it did")
        }
        let isResumed = try await operations.resume(
            operation.id, by: invocation.operatorName, reason: invocation[AuditOptions.reason])
        guard isResumed else {
            throw CommandFailure(
                exit: .conflict, message: "operation \(operation.id) is under way",
                hint: "'errand op show \(operation.id)' tells how far it is")
        }
        let trial = operation.action == .redrive ? invocation[BulkOptions.trial] : 0
        return try await BulkRun(operations: operations, output: invocation.output)
            .run(operation.id, trial: trial, patience: invocation[BulkOptions.patience])
    }

    private static func one(
        _ invocation: Invocation, _ operations: Operations
    ) async throws -> BulkOperation {
        guard let operation = try await operations.one(Int64(invocation[id])) else {
            throw CommandFailure(
                exit: .notFound, message: "there is no operation \(invocation[id])",
                hint: "'errand op ls' lists what there is")
        }
        return operation
    }
}

/// `errand audit ls`.
enum AuditCommands {
    static let all = [list]

    private static let person = Option<String?>.text(
        "operator", placeholder: "NAME", help: "Only what this operator changed")
    private static let action = Option<String?>.text(
        "action", help: "Only such changes: 'queue pause', or queue for all about queues")
    private static let since = Option<Duration?>.duration(
        "since", range: .zero...Duration.seconds(100 * 365 * 86_400),
        help: "Only changes of the last 2h, 7d or so")

    private static let list = Command(
        "audit", "ls", effect: .looks,
        summary: "List what operators changed, the newest first",
        examples: [.init("errand audit ls --action queue --since 1d", "who paused what, and why")],
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
            ], empty: "nobody changed anything that passes these filters")
        PageOptions.tellMore(invocation, count: entries.count, last: entries.last?.id)
        return .done
    }
}
