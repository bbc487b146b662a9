import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// `errand queue drain` and `purge`.
enum QueueEndCommands {
    static let all = [drain, purge]

    private static let name = Argument.required(ValueFormat.text("NAME"), help: "The queue's name")

    /// The queue as it is now.
    private static func found(
        _ invocation: Invocation, _ inspector: Inspector
    ) async throws -> QueueRecord {
        let name = invocation[name]
        guard let queue = try await inspector.queues(named: name).first else {
            throw QueueCommands.unknown(name, try await inspector.queueNames())
        }
        return queue
    }

    // MARK: drain

    private static let timeout = Option<Duration?>.duration(
        "timeout", range: .zero ... .seconds(36_500 * 86_400),
        help: "Wait no longer than this (default: as long as it takes)")

    private static let firstPause = Duration.milliseconds(50)
    private static let longestPause = Duration.seconds(1)

    private static let drain = Command(
        "queue", "drain", effect: .waits,
        summary: "Wait until nothing that is due is left in a queue",
        discussion: """
            Waits for the jobs that are due or run, also those that come meanwhile, and not for \
            those of a later time. Exits 8 when the time was over before. It changes nothing: \
            'errand queue purge' throws jobs away.
            """,
        examples: [.init("errand queue drain mail --timeout 10m", "before a release")],
        options: [timeout], arguments: [name]
    ) { invocation in
        let inspector = Inspector(session: try invocation.session())
        let queue = try await found(invocation, inspector)
        let deadline = invocation[timeout].map { ContinuousClock.now + $0 }
        var left = try await inspector.dueCount(in: queue.name)
        if left > 0 { try check(queue) }
        var pause = firstPause
        while left > 0 {
            let rest = deadline.map { $0 - .now } ?? pause
            guard rest > .zero else { throw late(left, queue.name) }
            try await Task.sleep(for: min(pause, rest))
            pause = min(pause * 2, longestPause)
            left = try await inspector.dueCount(in: queue.name)
        }
        try invocation.output.show(
            Record([("queue", .text(queue.name)), ("result", .text("drained"))]))
        return .done
    }

    /// Refuses to wait for what will not end by itself.
    private static func check(_ queue: QueueRecord) throws {
        if queue.pausedAt != nil, queue.pausedUntil == nil {
            throw CommandFailure(
                exit: .conflict,
                message: "queue \(queue.name) is paused: what waits in it would wait for ever",
                hint: "'errand queue resume \(queue.name)' lets it go on")
        }
        guard queue.workers == 0 else { return }
        throw CommandFailure(
            exit: .conflict, message: "no worker works queue \(queue.name)",
            hint: "start one with 'errand work --queues \(queue.name)', "
                + "or one that ends by itself with 'errand work --queues \(queue.name) --drain'")
    }

    private static func late(_ left: Int, _ queue: String) -> CommandFailure {
        CommandFailure(
            exit: .timedOut,
            message: "\(HumanFormat.count(left)) jobs that are due or run were still in queue "
                + "\(queue) by then", hint: "'errand queue show \(queue)' shows it")
    }

    // MARK: purge

    private static let purge = Command(
        "queue", "purge", effect: .changes,
        summary: "End all that waits in a queue, unrun",
        discussion: """
            Also what is to run later or again. Running jobs go on, dead letters and what is \
            enqueued meanwhile stay. The jobs are kept as cancelled ones for as long as their \
            kinds say, so that 'errand job retry' can still bring them back.

            It is an operation of its own: 'errand op ls' shows how far it is, 'errand op cancel' \
            ends it from another terminal, 'errand op resume' goes on with it after anything.
            """,
        examples: [.init("errand queue purge mail", "shows how many there are, and asks")],
        options: [
            BulkOptions.most, BulkOptions.dryRun, BulkOptions.exact, BulkOptions.rate,
            AuditOptions.reason,
        ], arguments: [name]
    ) { invocation in
        let session = try invocation.session()
        let name = invocation[name]
        try await QueueCommands.check(name, Inspector(session: session))
        var filter = JobFilter()
        filter.queue = name
        filter.states = BulkOperation.Action.purge.usualStates
        return try await BulkFlow(.purge, invocation).run(filter, session)
    }
}
