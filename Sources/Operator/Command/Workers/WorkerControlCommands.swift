import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// `errand worker quiet` and `stop`.
enum WorkerControlCommands {
    static let all = [quiet, stop]

    private static let ids = Argument.several(
        ValueFormat.integer("ID", in: 1...Int.max), minimum: 0, help: "The workers' ids")
    private static let everyone = Option<Bool>.flag("all", help: "All live workers")
    private static let host = Option<String?>.text(
        "host", placeholder: "NAME", help: "All live workers of this host")
    private static let undo = Option<Bool>.flag("undo", help: "Make the workers claim jobs again")
    private static let wait = Option<Bool>.flag("wait", help: "Wait until it is done")
    private static let timeout = Option<Duration>.duration(
        "timeout", default: .seconds(60), range: .zero ... .seconds(36_500 * 86_400),
        help: "With --wait: wait at most this long")

    private static let quiet = Command(
        "worker", "quiet", effect: .write,
        summary: "Make workers finish their running jobs and claim no new ones",
        discussion: """
            The workers stay alive, finish their running jobs, and requeue jobs that have not \
            started. They stay quiet until --undo or until they stop. With --wait the command \
            waits until they run no jobs, and exits 8 on a timeout.
            """,
        examples: [
            .init("errand worker quiet 12 --reason 'memory analysis' --wait", "until it is idle"),
            .init("errand worker quiet 12 --undo", "make it claim jobs again"),
        ],
        options: [everyone, host, AuditOptions.reason, undo, wait, timeout], arguments: [ids]
    ) { invocation in
        try await run(invocation, invocation[undo] ? nil : .quiet)
    }

    private static let stop = Command(
        "worker", "stop", effect: .write,
        summary: "Stop workers gracefully (as SIGTERM does)",
        discussion: """
            Running jobs may finish within the worker's --grace. The worker requeues its other \
            jobs and exits 0 without any claims. With --wait the command waits until the workers \
            are gone, and exits 8 on a timeout.
            """,
        examples: [
            .init("errand worker stop 12 --wait", "and wait until it is gone"),
            .init("errand worker stop --host web3 --reason 'new disk'", "all of a host; asks"),
        ],
        options: [everyone, host, AuditOptions.reason, wait, timeout], arguments: [ids]
    ) { invocation in
        try await run(invocation, .stop)
    }

    private static func run(
        _ invocation: Invocation, _ task: WorkerCommand.Task?
    ) async throws -> ExitCode {
        let inspector = Inspector(session: try invocation.session())
        var targets = try chosen(try await inspector.workers(), invocation)
        guard !targets.isEmpty else {
            throw CommandFailure(
                exit: .notFound, message: "no matching worker is alive",
                hint: "'errand worker ls' lists the workers")
        }
        if invocation[ids].isEmpty {
            try settle(&targets, task, invocation)
            guard !targets.isEmpty else {
                try invocation.output.list([])
                return .done
            }
        } else if task != .stop {
            try refuseStopping(targets)
        }
        let ids = targets.map(\.id)
        let asked = try await inspector.send(
            ids, task, by: invocation.operatorName, reason: invocation[AuditOptions.reason])
        if invocation[wait] {
            try await waitUntilDone(asked, task, inspector, for: invocation[timeout])
        }
        let now = try await inspector.workers()
        let records = targets.map { target in
            guard asked.contains(target.id) else { return (target, "already gone") }
            guard let worker = now.first(where: { $0.id == target.id }) else {
                return (target, "gone")
            }
            let order = task.map { "asked to \($0 == .stop ? "stop" : "be quiet")" }
            return (worker, order ?? "claims jobs again")
        }
        try invocation.output.list(
            records.map { worker, result in
                Record([
                    ("id", .id(Int(worker.id))), ("host", .text(worker.host)),
                    ("pid", .id(worker.pid)), ("state", .text(worker.state.rawValue)),
                    ("busy", .int((try? worker.queueReports().reduce(0) { $0 + $1.busy }) ?? 0)),
                    ("result", .text(result)),
                ])
            })
        guard task == .stop || asked.count == ids.count else {
            throw CommandFailure(
                exit: asked.isEmpty ? .conflict : .partlyDone,
                message: "\(ids.count - asked.count) of \(ids.count) workers were already gone",
                hint: "'errand worker ls' lists the workers")
        }
        return .done
    }

    /// The workers that the command line selects.
    private static func chosen(
        _ workers: [WorkerRecord], _ invocation: Invocation
    ) throws -> [WorkerRecord] {
        let (ids, host) = (invocation[ids], invocation[host])
        let ways = [!ids.isEmpty, host != nil, invocation[everyone]].count { $0 }
        guard ways == 1 else {
            throw CommandFailure(
                exit: .usage, message: "select workers by ids, --host or --all",
                hint: "'errand worker ls' lists them")
        }
        guard !ids.isEmpty else {
            let found = workers.filter { host == nil || $0.host == host }
            let silent = found.filter { !$0.isAlive }
            if let first = silent.first {
                invocation.output.note(
                    "unresponsive, so not asked: \(silent.count) (worker \(first.id)"
                        + (silent.count > 1 ? ", …)" : ")"))
            }
            return found.filter(\.isAlive)
        }
        return try Set(ids).sorted().map { id in
            guard let worker = workers.first(where: { $0.id == id }) else {
                throw WorkerCommands.unknown(id)
            }
            guard worker.isAlive else { throw dead(worker) }
            return worker
        }
    }

    /// Leaves out workers that are already stopping, and asks for confirmation before stopping.
    private static func settle(
        _ targets: inout [WorkerRecord], _ task: WorkerCommand.Task?, _ invocation: Invocation
    ) throws {
        let stopping = targets.filter { $0.state == .stopping }
        // With --wait the command waits for them too.
        if let first = stopping.first, task != .stop || !invocation[wait] {
            targets.removeAll { $0.state == .stopping }
            invocation.output.note(
                "already stopping, so not asked: \(stopping.count) (worker \(first.id)"
                    + (stopping.count > 1 ? ", …)" : ")"))
        }
        guard task == .stop, !targets.isEmpty else { return }
        let place = invocation[host].map { " of \($0)" } ?? ""
        try invocation.confirm(
            "stop \(HumanFormat.count(targets.count)) worker\(targets.count == 1 ? "" : "s")"
                + "\(place)?")
    }

    private static func dead(_ worker: WorkerRecord) -> CommandFailure {
        let silence = Instant.now().durationSince(worker.lastSeenAt)
        return CommandFailure(
            exit: .conflict,
            message: "worker \(worker.id) (\(worker.host), pid \(worker.pid)) is unresponsive: no "
                + "heartbeat for \(HumanFormat.duration(silence)), so it receives no commands",
            hint: "its lease of \(HumanFormat.duration(worker.lease)) has expired: the feeder "
                + "recovers its jobs, if another worker runs")
    }

    private static func refuseStopping(_ workers: [WorkerRecord]) throws {
        guard let worker = workers.first(where: { $0.state == .stopping }) else { return }
        throw CommandFailure(
            exit: .conflict,
            message: "worker \(worker.id) is stopping, which cannot be undone",
            hint: "'errand work' starts another worker")
    }

    private static func waitUntilDone(
        _ ids: Set<Int64>, _ task: WorkerCommand.Task?, _ inspector: Inspector, for limit: Duration
    ) async throws {
        let deadline = ContinuousClock.now + limit
        var pause = Duration.milliseconds(20)
        while true {
            let open = try await inspector.workers().filter { worker in
                ids.contains(worker.id) && !isDone(worker, task)
            }
            guard let first = open.first else { return }
            guard first.isAlive else { throw dead(first) }
            let rest = deadline - .now
            guard rest > .zero else {
                throw CommandFailure(
                    exit: .timedOut,
                    message: "timed out: worker \(first.id) is not done"
                        + (open.count > 1 ? ", nor are \(open.count - 1) more" : ""),
                    hint: "'errand worker show \(first.id)' shows its running jobs")
            }
            try await Task.sleep(for: min(pause, rest))
            pause = min(pause * 2, .milliseconds(500))
        }
    }

    private static func isDone(_ worker: WorkerRecord, _ task: WorkerCommand.Task?) -> Bool {
        switch task {
        case .stop: return false
        case .quiet:
            let reports = (try? worker.queueReports()) ?? []
            return worker.isAlive && worker.isQuiet
                && reports.allSatisfy { $0.busy == 0 && $0.waiting == 0 }
        case nil: return worker.isAlive && !worker.isQuiet
        }
    }
}
