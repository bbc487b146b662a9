import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// `errand queue drain` and `purge`.
enum QueueEndCommands {
    static let all = [drain, purge]

    private static let name = Argument.required(ValueFormat.text("NAME"), help: "The queue's name")

    /// Reads the queue; throws if it does not exist.
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
        help: "Wait at most this long (default: no limit)")

    private static let firstPause = Duration.milliseconds(50)
    private static let longestPause = Duration.seconds(1)

    private static let drain = Command(
        "queue", "drain", effect: .follow,
        summary: "Wait until a queue has no due and no running jobs",
        discussion: """
            Waits for due and running jobs, including those enqueued meanwhile, but not for \
            scheduled jobs. Exits 8 on a timeout. It makes no changes: 'errand queue purge' \
            discards jobs.
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

    /// Throws if the queue is paused or has no worker: waiting would never end.
    private static func check(_ queue: QueueRecord) throws {
        if queue.pausedAt != nil, queue.pausedUntil == nil {
            throw CommandFailure(
                exit: .conflict,
                message: "queue \(queue.name) is paused: it would never drain",
                hint: "'errand queue resume \(queue.name)' resumes it")
        }
        guard queue.workers == 0 else { return }
        throw CommandFailure(
            exit: .conflict, message: "no live worker works queue \(queue.name)",
            hint: "start one with 'errand work --queues \(queue.name)'; with --drain it exits "
                + "once the queue is empty")
    }

    private static func late(_ left: Int, _ queue: String) -> CommandFailure {
        CommandFailure(
            exit: .timedOut,
            message: "timed out: \(HumanFormat.count(left)) due or running jobs are left in queue "
                + queue, hint: "'errand queue show \(queue)' shows its numbers")
    }

    // MARK: purge

    private static let purge = Command(
        "queue", "purge", effect: .write,
        summary: "Cancel every waiting job of a queue",
        discussion: """
            Includes scheduled and retrying jobs. Running jobs, dead letters and jobs that are \
            enqueued meanwhile are not affected. Cancelled jobs are kept for the retention time of \
            their kinds; until then 'errand job retry' runs them again.

            The purge is an operation: 'errand op ls' shows its progress, 'errand op cancel' stops \
            it from another terminal, 'errand op resume' continues it after an interruption.
            """,
        examples: [.init("errand queue purge mail", "shows the number of jobs, and asks")],
        options: [
            BulkOptions.maxJobs, BulkOptions.dryRun, BulkOptions.exact, BulkOptions.rate,
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
