import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// `errand queue …`.
enum QueueCommands {
    static let all =
        [list, show, pause, resume] + QueueEndCommands.all + QueueLimitCommand.all
        + QueueRemoveCommand.all

    private static let name = Argument.required(ValueFormat.text("NAME"), help: "The queue's name")
    private static let reason = Option<String?>.text(
        "reason", help: "The reason, shown while the queue is paused")
    private static let length = Option<Duration?>.duration(
        "for", range: .seconds(1) ... .seconds(3_650 * 86_400),
        help: "Resume automatically after this time")

    private static let exact = Option<Bool>.flag(
        "exact", help: "Count all jobs instead of estimating: may take long")

    private static let numbers = """
        Counts up to 10,000 jobs of a queue; larger numbers are estimates, marked with ~. OLDEST \
        is always exact. IN/S is the rate of new jobs in the last minute, OUT/S the rate of \
        finished attempts in this minute and the one before. P95 is the wait of jobs in the last \
        ten minutes, BUSY the used slots of live workers, and DRAIN the time until the queue is \
        empty at these rates.
        """

    private static let list = Command(
        "queue", "ls", effect: .read, summary: "List the queues with their jobs and rates",
        discussion: numbers,
        examples: [
            .init("errand queue ls", "backlogs and rates of all queues"),
            .init("errand queue ls --exact -ojson", "exact counts, for a program"),
        ],
        options: [exact]
    ) { invocation in
        let inspector = Inspector(session: try invocation.session())
        let queues = try await inspector.queues(isExact: invocation[exact])
        try await list(queues, inspector, invocation)
        return .done
    }

    private static func list(
        _ queues: [QueueRecord], _ inspector: Inspector, _ invocation: Invocation
    ) async throws {
        let limits = try await inspector.limits()
        try invocation.output.list(
            queues.map { queue in
                QueueLimitCommand.add(
                    limits[queue.name], to: record(queue, invocation.output.times))
            }, columns: QueueFormatting.listed + (limits.isEmpty ? [] : [Column("limit")]))
    }

    private static let show = Command(
        "queue", "show", effect: .read, summary: "Show one queue", discussion: numbers,
        examples: [.init("errand queue show mail", "all numbers of the queue")],
        options: [exact], arguments: [name]
    ) { invocation in
        let inspector = Inspector(session: try invocation.session())
        let found = try await inspector.queues(
            named: invocation[name], isExact: invocation[exact])
        guard let queue = found.first else {
            throw unknown(invocation[name], try await inspector.queueNames())
        }
        let limit = try await inspector.limits(of: queue.name)[queue.name]
        try invocation.output.show(
            QueueLimitCommand.add(limit, to: record(queue, invocation.output.times)))
        return .done
    }

    private static let pause = Command(
        "queue", "pause", effect: .write,
        summary: "Pause a queue: its jobs wait until it is resumed",
        discussion: "Running jobs continue. Workers stop claiming its jobs within a second.",
        examples: [
            .init("errand queue pause mail --for 30m --reason 'mail server moves'", "for 30 min")
        ],
        options: [reason, length], arguments: [name]
    ) { invocation in
        let inspector = Inspector(session: try invocation.session())
        let found = try await inspector.pause(
            invocation[name], by: invocation.operatorName, reason: invocation[reason],
            for: invocation[length])
        guard found else {
            throw unknown(invocation[name], try await inspector.queueNames())
        }
        return try await report(invocation, inspector)
    }

    private static let resume = Command(
        "queue", "resume", effect: .write, summary: "Resume a paused queue",
        examples: [.init("errand queue resume mail", "run its jobs again")],
        options: [AuditOptions.reason], arguments: [name]
    ) { invocation in
        let inspector = Inspector(session: try invocation.session())
        let found = try await inspector.resume(
            invocation[name], by: invocation.operatorName, reason: invocation[AuditOptions.reason])
        guard found else {
            throw unknown(invocation[name], try await inspector.queueNames())
        }
        return try await report(invocation, inspector)
    }

    private static func report(
        _ invocation: Invocation, _ inspector: Inspector
    ) async throws -> ExitCode {
        let queues = try await inspector.queues(named: invocation[name])
        try await list(queues, inspector, invocation)
        return .done
    }

    /// Throws unless a queue of this name exists.
    static func check(_ name: String, _ inspector: Inspector) async throws {
        let names = try await inspector.queueNames()
        guard names.contains(name) else { throw unknown(name, names) }
    }

    static func unknown(_ name: String, _ known: [String]) -> CommandFailure {
        let guess = nearest(to: name, among: known).map { "did you mean \($0)? " } ?? ""
        return CommandFailure(
            exit: .notFound, message: "there is no queue \(name)",
            hint: guess + "queues: \(known.joined(separator: ", "))")
    }

    static func record(_ queue: QueueRecord, _ times: TimeFormat) -> Record {
        QueueFormatting(queue, times).record
    }
}
