import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// `errand worker quiet` and `stop`.
enum WorkerOrderCommands {
    static let all = [quiet, stop]

    private static let ids = Argument.several(
        ValueFormat.integer("ID", in: 1...Int.max), minimum: 0, help: "The workers' ids")
    private static let everyone = Option<Bool>.flag("all", help: "All workers that are alive")
    private static let host = Option<String?>.text(
        "host", placeholder: "NAME", help: "The workers of this host that are alive")
    private static let undo = Option<Bool>.flag("undo", help: "Let it take jobs again")
    private static let wait = Option<Bool>.flag("wait", help: "Wait until it is done")
    private static let timeout = Option<Duration>.duration(
        "timeout", default: .seconds(60), range: .zero ... .seconds(36_500 * 86_400),
        help: "With --wait: wait no longer than this")

    private static let quiet = Command(
        "worker", "quiet", effect: .changes,
        summary: "Let workers take no new jobs and end what they run",
        discussion: """
            They stay alive, go on with what runs, and hand back what has not started; they do \
            so until --undo or their end. With --wait the command waits until nothing runs on \
            them any more, and exits 8 when the time was over before.
            """,
        examples: [
            .init("errand worker quiet 12 --reason 'looks at its memory' --wait", "and wait"),
            .init("errand worker quiet 12 --undo", "let it work again"),
        ],
        options: [everyone, host, AuditOptions.reason, undo, wait, timeout], arguments: [ids]
    ) { invocation in
        try await run(invocation, invocation[undo] ? nil : .quiet)
    }

    private static let stop = Command(
        "worker", "stop", effect: .changes,
        summary: "Let workers end, as on SIGTERM",
        discussion: """
            Running jobs have the worker's --grace to end, the rest is handed back, and the \
            process exits 0 with nothing left claimed. With --wait the command waits until they \
            are gone, and exits 8 when the time was over before.
            """,
        examples: [
            .init("errand worker stop 12 --wait", "and wait until it is gone"),
            .init("errand worker stop --host web3 --reason 'new disk'", "all of one; asks first"),
        ],
        options: [everyone, host, AuditOptions.reason, wait, timeout], arguments: [ids]
    ) { invocation in
        try await run(invocation, .stop)
    }

    private static func run(
        _ invocation: Invocation, _ task: WorkerOrder.Task?
    ) async throws -> ExitCode {
        let inspector = Inspector(session: try invocation.session())
        var targets = try chosen(try await inspector.workers(), invocation)
        guard !targets.isEmpty else {
            throw CommandFailure(
                exit: .notFound, message: "no worker of that kind is alive",
                hint: "'errand worker ls' lists what there is")
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
        let asked = try await inspector.order(
            ids, task, by: invocation.operatorName, reason: invocation[AuditOptions.reason])
        if invocation[wait] {
            try await waitUntilDone(asked, task, inspector, for: invocation[timeout])
        }
        let now = try await inspector.workers()
        let records = targets.map { target in
            guard asked.contains(target.id) else { return (target, "gone meanwhile") }
            guard let worker = now.first(where: { $0.id == target.id }) else {
                return (target, "gone")
            }
            let order = task.map { "asked to \($0 == .stop ? "stop" : "be quiet")" }
            return (worker, order ?? "takes jobs again")
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
                message: "\(ids.count - asked.count) of \(ids.count) workers were gone by then",
                hint: "'errand worker ls' lists those that are there")
        }
        return .done
    }

    /// Whom the command line means.
    private static func chosen(
        _ workers: [WorkerRecord], _ invocation: Invocation
    ) throws -> [WorkerRecord] {
        let (ids, host) = (invocation[ids], invocation[host])
        let ways = [!ids.isEmpty, host != nil, invocation[everyone]].count { $0 }
        guard ways == 1 else {
            throw CommandFailure(
                exit: .usage, message: "name workers by their ids, by --host, or --all",
                hint: "'errand worker ls' lists them")
        }
        guard !ids.isEmpty else {
            let found = workers.filter { host == nil || $0.host == host }
            let silent = found.filter { !$0.isAlive }
            if let first = silent.first {
                invocation.output.note(
                    "silent, so not asked: \(silent.count) (worker \(first.id)"
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

    /// Leaves out who is stopping anyway, and asks before many are stopped.
    private static func settle(
        _ targets: inout [WorkerRecord], _ task: WorkerOrder.Task?, _ invocation: Invocation
    ) throws {
        let stopping = targets.filter { $0.state == .stopping }
        // With --wait their end is waited for too.
        if let first = stopping.first, task != .stop || !invocation[wait] {
            targets.removeAll { $0.state == .stopping }
            invocation.output.note(
                "stopping already, so not asked: \(stopping.count) (worker \(first.id)"
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
            message: "worker \(worker.id) (\(worker.host), pid \(worker.pid)) seems dead: it has "
                + "been silent for \(HumanFormat.duration(silence)), and cannot be asked",
            hint: "its jobs come back by themselves, now that its lease of "
                + "\(HumanFormat.duration(worker.lease)) is over, if another worker runs")
    }

    private static func refuseStopping(_ workers: [WorkerRecord]) throws {
        guard let worker = workers.first(where: { $0.state == .stopping }) else { return }
        throw CommandFailure(
            exit: .conflict,
            message: "worker \(worker.id) is stopping, which cannot be taken back",
            hint: "'errand work' starts another one")
    }

    private static func waitUntilDone(
        _ ids: Set<Int64>, _ task: WorkerOrder.Task?, _ inspector: Inspector, for limit: Duration
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
                    message: "worker \(first.id) was asked and is not done by then"
                        + (open.count > 1 ? ", nor are \(open.count - 1) more" : ""),
                    hint: "'errand worker show \(first.id)' shows what it runs")
            }
            try await Task.sleep(for: min(pause, rest))
            pause = min(pause * 2, .milliseconds(500))
        }
    }

    private static func isDone(_ worker: WorkerRecord, _ task: WorkerOrder.Task?) -> Bool {
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
