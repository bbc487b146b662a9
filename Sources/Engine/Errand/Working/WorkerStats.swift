import Synchronization

/// The state and counters of a process: the liveness of its loops, the last answers of the servers,
/// and its totals.
///
/// The parts of a worker, or of a scheduler, update it in memory. Probes and metrics read it from
/// any thread, without a request to a server.
package final class WorkerStats: Sendable {
    /// The phase of a process.
    package enum Phase: Sendable { case starting, working, stopping }

    /// Why a process is not ready, in words.
    package typealias Trouble = String

    private struct State {
        var phase = Phase.starting
        var lastTurn = ContinuousClock.now
        /// The time of the last successful heartbeat, or of the scheduler's last round.
        var lastBeat: ContinuousClock.Instant?
        var beatFault: String?
        var redisFault: (text: String, at: ContinuousClock.Instant)?
        var leaseLosses = 0
        var source: (@Sendable () -> WorkerNumbers)?
        var windows: WindowSizes?
    }

    /// How long a fault of Redis counts; a claimer that wants jobs asks Redis more often.
    private static let faultLife = Duration.seconds(15)

    /// The age from which a heartbeat counts as missed.
    package let timeout: Duration
    private let state = Mutex(State())
    /// Saves the lock while Redis has no fault.
    private let hasRedisFault = Atomic(false)

    /// Creates the stats of a process that is about to start.
    ///
    /// - Parameter timeout: the worker's lease, or the longest silence of a live scheduler.
    package init(timeout: Duration) { self.timeout = timeout }

    // MARK: Updates

    /// Records a turn of a loop, successful or not.
    func turned() { state.withLock { $0.lastTurn = .now } }

    /// Records a successful heartbeat, or its equivalent in a scheduler.
    func beat() {
        state.withLock { state in
            state.lastBeat = .now
            state.beatFault = nil
        }
    }

    /// Records a failed heartbeat.
    func missedBeat(_ reason: String) { state.withLock { $0.beatFault = reason } }

    /// Records an answer of Redis to a claimer.
    func redisAnswered() {
        guard hasRedisFault.load(ordering: .relaxed) else { return }
        state.withLock { $0.redisFault = nil }
        hasRedisFault.store(false, ordering: .relaxed)
    }

    /// Records a failure of Redis.
    func redisFailed(_ reason: String) {
        state.withLock { $0.redisFault = (reason, .now) }
        hasRedisFault.store(true, ordering: .relaxed)
    }

    /// Records that this worker was declared dead although it was only unresponsive.
    func lostLease() { state.withLock { $0.leaseLosses += 1 } }

    /// Sets the source of the numbers.
    func attach(_ source: @escaping @Sendable () -> WorkerNumbers, windows: WindowSizes?) {
        state.withLock { state in
            state.source = source
            state.windows = windows
        }
    }

    /// Records that the process has registered itself and read the operators' commands.
    package func begin() {
        state.withLock { state in
            if state.phase == .starting { state.phase = .working }
        }
    }

    /// Records that the process takes no more jobs.
    package func end() { state.withLock { $0.phase = .stopping } }

    // MARK: Values for probes and metrics

    /// The phase.
    package var phase: Phase { state.withLock(\.phase) }

    /// The time since the last turn of a loop; nil before the start and during the stop, when the
    /// loops end one after the other.
    package var stillness: Duration? {
        state.withLock { $0.phase == .working ? .now - $0.lastTurn : nil }
    }

    /// The time since the last successful heartbeat; nil if there was none.
    package var sinceBeat: Duration? {
        state.withLock { state in state.lastBeat.map { .now - $0 } }
    }

    /// Why the process is not ready; nil if it is.
    package var trouble: Trouble? {
        state.withLock { state in
            switch state.phase {
            case .starting: return "not started yet"
            case .stopping: return "stopping"
            case .working: break
            }
            let silence = state.lastBeat.map { .now - $0 }
            if silence ?? timeout >= timeout {
                let length = silence.map { " for \($0.components.seconds) s" } ?? " yet"
                let reason = state.beatFault.map { ": \($0)" } ?? ""
                return "PostgreSQL has taken no heartbeat\(length)\(reason)"
            }
            if let fault = state.redisFault, .now - fault.at < Self.faultLife {
                return "Redis does not answer: \(fault.text)"
            }
            return nil
        }
    }

    /// How often the worker was declared dead.
    package var leaseLosses: Int { state.withLock(\.leaseLosses) }

    /// The worker's numbers; nil for a scheduler, and before the start.
    package var numbers: WorkerNumbers? { state.withLock(\.source)?() }

    /// The reader of the sizes of the worker's windows in Redis; nil like ``numbers``.
    package var windows: WindowSizes? { state.withLock(\.windows) }
}

/// The totals of a worker since its start, and its current load.
package struct WorkerNumbers: Sendable {
    /// The numbers of one queue.
    package struct Queue: Sendable {
        package var name: String
        package var concurrency: Int
        package var running: Int
        /// The claimed jobs that have not started.
        package var waiting: Int
        package var isPaused: Bool
        /// The number of claims that returned jobs, and of these jobs.
        package var claims: Int
        package var claimed: Int
        package var kinds: [String: ActivityMinute]
    }

    /// The use of one pool of sessions.
    package struct Lending: Sendable {
        package var name: String
        package var limit: Int
        package var lent: Int
        /// The handlers that wait for a session.
        package var waiting: Int
    }

    package var queues: [Queue]
    package var pools: [Lending]
    /// The number of unfinished jobs that were requeued.
    package var requeued: Int
    /// The number of results that the fence refused.
    package var fencedOff: Int
}
