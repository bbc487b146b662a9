import Synchronization

/// What one working process knows of itself: whether its loops turn, which servers answered it
/// when, what it has done.
///
/// The parts of a worker, or of a scheduler, note it in memory; probes and metrics read it from
/// any thread, and ask no server for it.
package final class Vitals: Sendable {
    /// Where a process stands between its start and its end.
    package enum Phase: Sendable { case starting, working, stopping }

    /// Why a process should not be counted on now, in words; nil when it may be.
    package typealias Trouble = String

    private struct State {
        var phase = Phase.starting
        var lastTurn = ContinuousClock.now
        /// PostgreSQL's last answer to the heartbeat, or to the scheduler's round.
        var lastBeat: ContinuousClock.Instant?
        var beatFault: String?
        var redisFault: (text: String, at: ContinuousClock.Instant)?
        var leaseLosses = 0
        var source: (@Sendable () -> WorkerNumbers)?
        var windows: WindowSizes?
    }

    /// What is said of Redis counts for so long: a dispatcher that wants jobs asks more often.
    private static let faultLife = Duration.seconds(15)

    /// A heartbeat that is older than this has been missed.
    package let patience: Duration
    private let state = Mutex(State())
    /// So that what goes well costs no lock.
    private let hasRedisFault = Atomic(false)

    /// Those of a process that is about to start.
    ///
    /// - Parameter patience: the worker's lease, or how long a scheduler may be silent.
    package init(patience: Duration) { self.patience = patience }

    // MARK: What the parts note

    /// A loop has gone round, whatever came of it.
    func turned() { state.withLock { $0.lastTurn = .now } }

    /// PostgreSQL has taken the heartbeat, or what stands for it.
    func beat() {
        state.withLock { state in
            state.lastBeat = .now
            state.beatFault = nil
        }
    }

    /// PostgreSQL has not.
    func missedBeat(_ reason: String) { state.withLock { $0.beatFault = reason } }

    /// Redis has answered whoever wants jobs from it.
    func redisAnswered() {
        guard hasRedisFault.load(ordering: .relaxed) else { return }
        state.withLock { $0.redisFault = nil }
        hasRedisFault.store(false, ordering: .relaxed)
    }

    /// Redis has not.
    func redisFailed(_ reason: String) {
        state.withLock { $0.redisFault = (reason, .now) }
        hasRedisFault.store(true, ordering: .relaxed)
    }

    /// This worker was declared dead while it was only silent.
    func lostLease() { state.withLock { $0.leaseLosses += 1 } }

    /// From where the numbers come.
    func attach(_ source: @escaping @Sendable () -> WorkerNumbers, windows: WindowSizes?) {
        state.withLock { state in
            state.source = source
            state.windows = windows
        }
    }

    /// It has declared itself, and knows what operators ask of it.
    package func begin() {
        state.withLock { state in
            if state.phase == .starting { state.phase = .working }
        }
    }

    /// It takes no more.
    package func end() { state.withLock { $0.phase = .stopping } }

    // MARK: What probes and metrics ask

    /// Where it stands.
    package var phase: Phase { state.withLock(\.phase) }

    /// For how long no loop has gone round; nil before the start and while it stops, when the
    /// loops end one after the other.
    package var stillness: Duration? {
        state.withLock { $0.phase == .working ? .now - $0.lastTurn : nil }
    }

    /// How long ago PostgreSQL took the last heartbeat; nil when it never has.
    package var sinceBeat: Duration? {
        state.withLock { state in state.lastBeat.map { .now - $0 } }
    }

    /// Why no work should be expected of it now.
    package var trouble: Trouble? {
        state.withLock { state in
            switch state.phase {
            case .starting: return "not started yet"
            case .stopping: return "stopping"
            case .working: break
            }
            let silence = state.lastBeat.map { .now - $0 }
            if silence ?? patience >= patience {
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

    /// How often it was declared dead.
    package var leaseLosses: Int { state.withLock(\.leaseLosses) }

    /// What the worker has done; nil of a scheduler, and before the start.
    package var numbers: WorkerNumbers? { state.withLock(\.source)?() }

    /// How to learn what Redis holds for the worker's queues; nil as ``numbers``.
    package var windows: WindowSizes? { state.withLock(\.windows) }
}

/// What one worker has done since its start, and does now.
package struct WorkerNumbers: Sendable {
    /// One of its queues.
    package struct Queue: Sendable {
        package var name: String
        package var concurrency: Int
        package var running: Int
        /// Claimed and not begun.
        package var waiting: Int
        package var isPaused: Bool
        /// Claims that brought jobs, and the jobs that they brought.
        package var claims: Int
        package var claimed: Int
        package var kinds: [String: ActivityPage]
    }

    /// Sessions of one purpose.
    package struct Lending: Sendable {
        package var name: String
        package var limit: Int
        package var lent: Int
        /// Handlers that wait for one.
        package var waiting: Int
    }

    package var queues: [Queue]
    package var pools: [Lending]
    /// Jobs given back unfinished.
    package var handedBack: Int
    /// Endings that came too late.
    package var fencedOff: Int
}
