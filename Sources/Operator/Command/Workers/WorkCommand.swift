import ErrandMemory
import Dispatch
import FoundationEssentials
import Glibc
import Errand
import ErrandPostgres
import ErrandTerminal
import ErrandThreads

/// `errand work`.
enum WorkCommand {
    static let all = [command]

    private static let queues = Option<[WorkerOptions.Queue]>.list(
        "queues",
        ValueFormat("NAME[:N[:W]]", expected: "name, name:concurrency or name:concurrency:weight") {
            queue($0)
        },
        environment: "ERRAND_QUEUES",
        help: "Queues to work, by name or pattern, each with its concurrency and weight (default: "
            + "default)"
    )
    private static let concurrency = Option.integer(
        "concurrency", default: 32, range: 1...4096, environment: "ERRAND_CONCURRENCY",
        help: "Default concurrency of a queue")
    private static let handlerConnections = Option.integer(
        "handler-connections", default: WorkerOptions().handlerConnections, range: 1...1000,
        environment: "ERRAND_HANDLER_CONNECTIONS",
        help: "PostgreSQL connections that jobs share, besides up to 6 of the worker")
    private static let drain = Option.flag(
        "drain",
        help: "Exit when no job is due, and print a summary; runs no schedules")
    private static let noSchedules = Option.flag(
        "no-schedules", help: "Do not run schedules: other processes or 'schedule tick' do")
    private static let grace = Option.duration(
        "grace", default: .seconds(20), range: .zero ... .seconds(3600),
        environment: "ERRAND_GRACE",
        help: "How long running jobs may take to finish after SIGTERM")
    private static let lease = Option.duration(
        "lease", default: .seconds(20), range: .milliseconds(500) ... .seconds(3600),
        environment: "ERRAND_LEASE",
        help: "A worker without a heartbeat for this long loses its jobs")
    private static let window = Option.integer(
        "window", default: 10_000, range: 10...1_000_000, environment: "ERRAND_WINDOW",
        help: "Stage at most N jobs of each lane in Redis")

    private static let command = Command(
        "work", effect: .run, summary: "Run a worker until it is stopped",
        discussion: """
            Works its queues until SIGTERM or SIGINT. Then it claims no more jobs, lets running \
            jobs finish within --grace, requeues jobs that have not started, and exits 0. It also \
            runs the schedules, unless another process does. With --drain it runs none: run \
            'errand schedule tick' first.

            In a pattern, * stands for any characters: 'tenant-*:4' works all queues whose names \
            begin with tenant-, up to 4 jobs of each at once. A queue's own name precedes \
            patterns, and a longer pattern precedes a shorter one.

            With --listen 9464 (or ERRAND_LISTEN) it serves HTTP without authentication, to this \
            machine alone; 0.0.0.0:9464 is for all IPv4 addresses, [::]:9464 for those of both \
            families. /metrics is for Prometheus. /livez returns 200 while its loops run, even if \
            a server is down; /readyz while PostgreSQL accepts its heartbeat and Redis responds; \
            /startupz once it has started.
            """,
        examples: [
            .init("errand work", "work the queue 'default'"),
            .init(
                "errand work --queues default:64,mail:8:2", "mail with twice the weight"),
            .init(
                "errand work --queues 'tenant-*:4,default'", "a queue for each tenant"),
            .init("errand work --drain --output json", "for cron: exit when no job is due"),
            .init("errand work --listen '[::]:9464'", "in a container, with metrics and probes"),
        ],
        options: [
            queues, concurrency, handlerConnections, drain, noSchedules, grace, lease, window,
            ListenOption.option,
        ]
    ) { invocation in
        let options = try options(invocation)
        let log = try invocation.log
        // The probes respond from the start, even while a server is slow to connect to.
        let stats = WorkerStats(timeout: options.leaseTime)
        async let _ = StartMemory().release(after: .seconds(10))
        let summary = try await ListenOption.shown(invocation, stats, log: log) {
            try await work(invocation, options, stats, log)
        }
        if options.drain { try show(summary, invocation.output) }
        return .done
    }

    private static func options(_ invocation: Invocation) throws -> WorkerOptions {
        var options = WorkerOptions(queues: try named(invocation))
        options.drain = invocation[drain]
        options.runsSchedules = !invocation[noSchedules] && !invocation[drain]
        options.grace = invocation[grace]
        options.leaseTime = invocation[lease]
        options.windowLimit = invocation[window]
        options.handlerConnections = invocation[handlerConnections]
        options.version = invocation.program.version
        return options
    }

    private static func work(
        _ invocation: Invocation, _ options: WorkerOptions, _ stats: WorkerStats, _ log: Log
    ) async throws -> WorkerSummary {
        let servers = try invocation.servers()
        let session = try invocation.session()
        let modules = try await invocation.usableModules(session)
        await session.close()
        let queues = ServedQueues(options.queues.map(\.name))
        warn(of: invocation.modules.lacking(modules, on: queues), log)
        let kinds = try invocation.workingKinds(modules, queues: queues, log: log)
        let worker = Worker(
            servers: servers, kinds: kinds, options: options, log: log,
            modules: modules.required, stats: stats)
        return try await worker.run(until: stopOnSignal(options, log))
    }

    /// Warns of modules that are not installed: their jobs need a worker started after that.
    private static func warn(of lacking: [String], _ log: Log) {
        guard !lacking.isEmpty else { return }
        log.warning(
            "this worker runs no jobs of \(lacking.joined(separator: ", ")): the module is not "
                + "installed; run 'errand migrate --modules \(lacking.joined(separator: ","))', "
                + "then restart the worker")
    }

    private static func named(_ invocation: Invocation) throws -> [WorkerOptions.Queue] {
        let concurrency = invocation[concurrency]
        var named = invocation[queues]
        if named.isEmpty {
            named = [WorkerOptions.Queue("default", concurrency: concurrency)]
        }
        for place in named.indices {
            if named[place].concurrency == 0 { named[place].concurrency = concurrency }
            guard !named[..<place].contains(where: { $0.name == named[place].name }) else {
                throw CommandFailure(
                    exit: .usage, message: "--queues names \(named[place].name) twice")
            }
        }
        return named
    }

    /// Parses `name`, `name:concurrency` or `name:concurrency:weight`; concurrency 0 means the
    /// value of `--concurrency`.
    private static func queue(_ text: String) -> WorkerOptions.Queue? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard (1...3).contains(parts.count), QueuePattern(String(parts[0])).isValid else {
            return nil
        }
        let numbers = parts.dropFirst().map { Int($0) ?? 0 }
        guard numbers.allSatisfy({ (1...4096).contains($0) }) else { return nil }
        var queue = WorkerOptions.Queue(
            String(parts[0]), weight: numbers.count > 1 ? numbers[1] : 1)
        queue.concurrency = numbers.first ?? 0
        return queue
    }

    private static func stopOnSignal(_ options: WorkerOptions, _ log: Log) -> Stop {
        let stop = Stop()
        let grace = Double(options.grace / .seconds(1))
        // On a signal or on 'errand worker stop'.
        stop.onStop {
            log.info("stopping: running jobs have \(options.grace) to finish")
            // A handler that ignores its cancellation must not keep the process alive. Its job
            // was requeued by then; the fence rejects its late writes.
            DispatchQueue.global().asyncAfter(deadline: .now() + grace + 8) {
                log.error("some handlers did not end; exiting without them")
                _exit(1)
            }
        }
        Termination.onRequest { stop.stop() }
        return stop
    }

    private static func show(_ summary: WorkerSummary, _ output: Output) throws {
        let seconds = summary.duration / .seconds(1)
        let ended = summary.completed + summary.failed + summary.cancelled + summary.snoozed
        try output.show(
            Record([
                ("completed", .int(summary.completed)), ("failed", .int(summary.failed)),
                ("retried", .int(summary.retried)), ("dead", .int(summary.dead)),
                ("cancelled", .int(summary.cancelled)), ("snoozed", .int(summary.snoozed)),
                ("requeued", .int(summary.requeued)),
                ("fenced_off", .int(summary.fencedOff)),
                ("seconds", .number((seconds * 1000).rounded() / 1000, decimals: 3)),
                (
                    "jobs_per_second",
                    .number((Double(ended) / max(seconds, 0.001)).rounded(), decimals: 0)
                ),
            ]))
    }
}
