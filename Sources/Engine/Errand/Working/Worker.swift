/// One process that works queues.
///
/// It is one tree of tasks: the dispatcher claims, runners run, the completer writes the ends,
/// the heart shows that it lives, and, in one worker at a time, the duties of the leader run.
/// The stop is taken in steps: no new jobs; grace for those that run; cancellation; and whatever
/// has not ended is handed back, so that nothing is left claimed.
public struct Worker: Sendable {
    private let servers: Servers
    private let kinds: JobKinds
    private let options: WorkerOptions
    private let log: Log
    private let modules: [MigrationLine]
    private let vitals: Vitals

    /// A worker of `options.queues` that can run `kinds`.
    ///
    /// - Parameter modules: whose tables and functions the handlers use: it refuses to start where
    ///   one of them is not installed, or is older in the database than in this program.
    public init(
        servers: Servers, kinds: JobKinds, options: WorkerOptions, log: Log,
        modules: [MigrationLine] = []
    ) {
        self.init(
            servers: servers, kinds: kinds, options: options, log: log, modules: modules,
            vitals: Vitals(patience: options.leaseTime))
    }

    /// - Parameter vitals: is kept up to date, for those who want to know how it is.
    package init(
        servers: Servers, kinds: JobKinds, options: WorkerOptions, log: Log,
        modules: [MigrationLine] = [], vitals: Vitals
    ) {
        self.servers = servers
        self.kinds = kinds
        self.options = options
        self.log = log
        self.modules = modules
        self.vitals = vitals
    }

    /// Works until stopped, or, when draining, until nothing is due.
    ///
    /// An operator's `errand worker stop` stops it through `stop` too. The cancellation of the
    /// task is a stop without grace: running handlers are cancelled, their jobs go back with the
    /// attempt not counted, the worker signs off, and `run` returns. It tells `stop` so, which
    /// should therefore be this worker's alone.
    ///
    /// - Throws: `PostgresError` or `RedisError` when the servers cannot be reached at the start;
    ///   later it waits for them to come back. ``MigrationError`` when the schema of the engine or
    ///   of a module is missing, or older than this program.
    public func run(until stop: Stop = Stop()) async throws -> WorkerSummary {
        guard options.handlerConnections > 0 else {
            throw JobError.invalid(
                "handlerConnections \(options.handlerConnections): expected 1 or more")
        }
        // A task of its own, which is not cancelled with this one: handing back what is claimed
        // takes statements, and these must not be refused because the task has been cancelled.
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
            servers: servers, kinds: kinds, options: options, vitals: vitals, log: log)
        let onStop = stop.onStop { [vitals] in vitals.end() }
        defer {
            vitals.end()
            stop.forget(onStop)
        }
        try await runtime.work(until: stop)
        var summary = runtime.completer.summary
        summary.duration = .now - started
        return summary
    }
}
