/// A worker: claims the jobs of its queues and runs their handlers.
///
/// ```swift
/// let worker = Worker(
///     servers: Servers(database: database, redis: redis), kinds: kinds,
///     options: WorkerOptions(queues: [.init("mail", concurrency: 16)]), log: log)
/// _ = try await worker.run(until: .onTermination())
/// ```
///
/// A worker is one tree of tasks: the claimer claims jobs, runners run them, the completer writes
/// their results in batches, and the heartbeat renews the lease. One worker at a time is the
/// feeder, which stages jobs in Redis, recovers the jobs of dead workers and applies retention.
///
/// A stop has four steps: the worker claims no more jobs, running handlers get their grace period,
/// then they are cancelled, and unfinished jobs are requeued with the attempt not counted. Nothing
/// is left claimed. If the process dies instead, other workers recover its jobs after the lease.
public struct Worker: Sendable {
    private let servers: Servers
    private let kinds: JobKinds
    private let options: WorkerOptions
    private let log: Log
    private let modules: [MigrationLine]
    private let stats: WorkerStats

    /// Creates a worker of `options.queues` that can run `kinds`.
    ///
    /// - Parameters:
    ///   - servers: the addresses of PostgreSQL and Redis.
    ///   - kinds: the handlers. Jobs of other kinds wait for a worker that has them.
    ///   - options: the queues, limits and intervals.
    ///   - log: receives the worker's log lines.
    ///   - modules: modules whose tables and functions the handlers use. The worker refuses to
    ///     start if one of them is missing from the database, or older there than in this program.
    public init(
        servers: Servers, kinds: JobKinds, options: WorkerOptions, log: Log,
        modules: [MigrationLine] = []
    ) {
        self.init(
            servers: servers, kinds: kinds, options: options, log: log, modules: modules,
            stats: WorkerStats(timeout: options.leaseTime))
    }

    /// Creates a worker with observable counters.
    ///
    /// - Parameter stats: the counters that the worker updates while it runs.
    package init(
        servers: Servers, kinds: JobKinds, options: WorkerOptions, log: Log,
        modules: [MigrationLine] = [], stats: WorkerStats
    ) {
        self.servers = servers
        self.kinds = kinds
        self.options = options
        self.log = log
        self.modules = modules
        self.stats = stats
    }

    /// Runs jobs until stopped, or, with ``WorkerOptions/drain``, until no job is due.
    ///
    /// `errand worker stop` requests the stop through `stop` too. Cancelling the task stops the
    /// worker without a grace period: handlers are cancelled, their jobs are requeued with the
    /// attempt not counted, and `run` returns. This also triggers `stop`, so each worker needs its
    /// own.
    ///
    /// - Throws: `PostgresError` or `RedisError` if a server is unreachable at the start; later the
    ///   worker waits until it returns. ``MigrationError`` if the schema of the engine or of a
    ///   module is missing, or older than this program.
    public func run(until stop: Stop = Stop()) async throws -> WorkerSummary {
        guard options.handlerConnections > 0 else {
            throw JobError.invalid(
                "handlerConnections \(options.handlerConnections): expected 1 or more")
        }
        // An unstructured task is not cancelled with this one: requeueing the claimed jobs takes
        // statements, which a cancelled task could not run.
        let working = Task { try await work(until: stop) }
        return try await withTaskCancellationHandler {
            try await working.value
        } onCancel: {
            stop.stopNow()
        }
    }

    private func work(until stop: Stop) async throws -> WorkerSummary {
        let started = ContinuousClock.now
        try await servers.requireSchema(of: modules, log)
        let runtime = try await WorkerRuntime(
            servers: servers, kinds: kinds, options: options, stats: stats, log: log)
        let onStop = stop.onStop { [stats] in stats.end() }
        defer {
            stats.end()
            stop.forget(onStop)
        }
        try await runtime.work(until: stop)
        var summary = runtime.completer.summary
        summary.duration = .now - started
        return summary
    }
}
