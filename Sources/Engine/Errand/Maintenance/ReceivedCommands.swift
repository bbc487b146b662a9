import ErrandPostgres
import Synchronization

/// The operators' commands that this worker has received, and the status that it last published.
final class ReceivedCommands: Sendable {
    /// The part of the worker's row that other processes wait for.
    ///
    /// A change is published at once.
    struct PublishedStatus: Equatable {
        var isStopping = false
        var isQuiet = false
        /// Whether the worker is quiet and runs no job.
        var isIdle = false
        /// The time of the newest limits of queues that the worker applies.
        var limitsAppliedAt = Instant.negativeInfinity
    }

    private struct State {
        var current: WorkerCommand?
        var published = PublishedStatus()
        var mustBeat = false
        var mustCheck = false
        var clockAhead: Duration?
    }

    private let state = Mutex(State())

    /// The current command.
    var current: WorkerCommand? { state.withLock(\.current) }

    /// Stores the current command, and returns whether it differs from the last one.
    func receive(_ current: WorkerCommand?) -> Bool {
        state.withLock { state in
            defer { state.current = current }
            return state.current?.task != current?.task
        }
    }

    /// How far this machine's clock was ahead of the database's at the last heartbeat.
    var clockAhead: Duration? {
        get { state.withLock(\.clockAhead) }
        set { state.withLock { $0.clockAhead = newValue } }
    }

    /// Requests an early heartbeat.
    func requestBeat() { state.withLock { $0.mustBeat = true } }

    /// Requests a check of all running jobs for cancellations.
    func requestCheck() { state.withLock { $0.mustCheck = true } }

    /// Returns whether a check was requested since the last call.
    func takeCheck() -> Bool {
        state.withLock { state in
            defer { state.mustCheck = false }
            return state.mustCheck
        }
    }

    /// Returns whether to send a heartbeat early.
    func isOutdated(_ now: PublishedStatus) -> Bool {
        state.withLock { $0.mustBeat || $0.published != now }
    }

    /// Stores the status that is published now.
    func published(_ now: PublishedStatus) {
        state.withLock { state in
            state.published = now
            state.mustBeat = false
        }
    }
}
