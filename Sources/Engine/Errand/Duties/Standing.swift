import ErrandPostgres
import Synchronization

/// What an operator asked of this worker, as far as it has heard, and what it has told of itself.
final class Standing: Sendable {
    /// What others wait to see in this worker's row: told at once when it changes.
    struct Told: Equatable {
        var isStopping = false
        var isQuiet = false
        /// Whether nothing runs any more, of a quiet worker.
        var isIdle = false
        /// Up to when it has heard of the limits of queues.
        var limitsHeard = Instant.negativeInfinity
    }

    private struct State {
        var order: WorkerOrder?
        var told = Told()
        var mustBeat = false
    }

    private let state = Mutex(State())

    /// What was asked.
    var order: WorkerOrder? { state.withLock(\.order) }

    /// Takes down what is asked now; returns whether that is news.
    func hear(_ order: WorkerOrder?) -> Bool {
        state.withLock { state in
            defer { state.order = order }
            return state.order?.task != order?.task
        }
    }

    /// Somebody wants to see how this worker is.
    func askForBeat() { state.withLock { $0.mustBeat = true } }

    /// Whether a beat is due before its time.
    func isNews(_ now: Told) -> Bool { state.withLock { $0.mustBeat || $0.told != now } }

    /// Takes down what is told now.
    func tell(_ now: Told) {
        state.withLock { state in
            state.told = now
            state.mustBeat = false
        }
    }
}
