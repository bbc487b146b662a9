import ErrandRedis
import Synchronization

/// Tells Redis of jobs that were just committed, in the background and in batches.
///
/// A hint, never more: what is lost here is found by the feeder within a second.
final class Offers: Sendable {
    private struct State {
        var jobs: [Lane: [Staged]] = [:]
        var asks: Set<String> = []
        /// Lanes that had no room: not offered to before these times.
        var refusals: [Lane: ContinuousClock.Instant] = [:]
        var isRunning = false
        var isWell = true
        var flushWaiters: [CheckedContinuation<Void, Never>] = []
    }

    private static let refusalTime = Duration.milliseconds(20)

    let window: ReadyWindow
    private let log: Log
    private let state = Mutex(State())
    private let complaint = Complaint()

    init(window: ReadyWindow, log: Log) {
        self.window = window
        self.log = log
    }

    /// Offers due jobs to a lane's window.
    func offer(_ jobs: [Staged], to lane: Lane) {
        guard !jobs.isEmpty else { return }
        add { state in
            // What the window does not take, the feeder does.
            let isRefused = state.refusals[lane].map { $0 > .now } ?? false
            guard !isRefused, state.jobs[lane, default: []].count < window.limit else {
                state.asks.insert(lane.name)
                return
            }
            state.jobs[lane, default: []] += jobs
        }
    }

    /// Asks the feeder to look at a lane (``Feeder/Requests``).
    func ask(for request: String) {
        add { $0.asks.insert(request) }
    }

    /// Whether Redis took what was last offered.
    var isWell: Bool { state.withLock(\.isWell) }

    /// Redis failed someone else: it is not well until the next offer here succeeds.
    func distrust() { state.withLock { $0.isWell = false } }

    /// Waits until all that was offered has been sent, or was given up.
    func flush() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                if state.isRunning { state.flushWaiters.append(continuation) }
                return !state.isRunning
            }
            if isIdle { continuation.resume() }
        }
    }

    private func add(_ change: (inout sending State) -> Void) {
        let mustStart = state.withLock { state in
            change(&state)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        // The offer must not hold up the enqueue, which is already durable.
        if mustStart { Task { await self.run() } }
    }

    private func run() async {
        while let (jobs, asks) = next() {
            do {
                for (lane, jobs) in jobs {
                    let isTaken = try await window.offer(jobs, to: lane)
                    state.withLock {
                        $0.refusals[lane] = isTaken ? nil : .now + Self.refusalTime
                    }
                }
                if !asks.isEmpty { try await window.askForFeed(Array(asks)) }
                state.withLock { $0.isWell = true }
                complaint.resolved(log, "Redis takes offers again")
            } catch {
                distrust()
                complaint.warn(log, "jobs could not be offered to the workers at once: \(error)")
            }
        }
    }

    private func next() -> (jobs: [Lane: [Staged]], asks: Set<String>)? {
        let (work, waiters) = state.withLock { state in
            guard !state.jobs.isEmpty || !state.asks.isEmpty else {
                state.isRunning = false
                defer { state.flushWaiters = [] }
                return (nil as ([Lane: [Staged]], Set<String>)?, state.flushWaiters)
            }
            defer {
                state.jobs = [:]
                state.asks = []
            }
            return ((state.jobs, state.asks), [])
        }
        for waiter in waiters { waiter.resume() }
        return work.map { (jobs: $0.0, asks: $0.1) }
    }
}
