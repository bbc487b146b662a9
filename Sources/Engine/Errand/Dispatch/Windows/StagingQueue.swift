import ErrandRedis
import Synchronization

/// Stages jobs that were just committed, in the background and in batches.
///
/// It is only an optimization: the feeder finds lost jobs within a second.
final class StagingQueue: Sendable {
    private struct State {
        var jobs: [Lane: [Staged]] = [:]
        var asks: Set<String> = []
        /// The lanes whose windows had no room, and the times of the next attempts.
        var refusals: [Lane: ContinuousClock.Instant] = [:]
        var isRunning = false
        var isWell = true
        var flushWaiters: [CheckedContinuation<Void, Never>] = []
    }

    private static let refusalTime = Duration.milliseconds(20)

    let window: ReadyWindow
    private let log: Log
    private let state = Mutex(State())
    private let throttle = LogThrottle()

    init(window: ReadyWindow, log: Log) {
        self.window = window
        self.log = log
    }

    /// Queues due jobs for a lane's window.
    func offer(_ jobs: [Staged], to lane: Lane) {
        guard !jobs.isEmpty else { return }
        add { state in
            // The feeder stages the jobs for which the window has no room.
            let isRefused = state.refusals[lane].map { $0 > .now } ?? false
            guard !isRefused, state.jobs[lane, default: []].count < window.limit else {
                state.asks.insert(lane.name)
                return
            }
            state.jobs[lane, default: []] += jobs
        }
    }

    /// Queues a request to the feeder (``Feeder/Requests``).
    func ask(for request: String) {
        add { $0.asks.insert(request) }
    }

    /// Whether the last staging succeeded.
    var isWell: Bool { state.withLock(\.isWell) }

    /// Records a failure of Redis elsewhere: `isWell` is false until the next staging succeeds.
    func distrust() { state.withLock { $0.isWell = false } }

    /// Waits until all queued jobs and requests were sent or have failed.
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
        // Staging must not delay the enqueue, which is already durable.
        if mustStart { Task { await self.run() } }
    }

    private func run() async {
        while let (jobs, asks) = next() {
            do {
                // The first call may find a connection that has broken unnoticed.
                do { try await stage(jobs, asks) } catch { try await stage(jobs, asks) }
                state.withLock { $0.isWell = true }
                throttle.resolved(log, "new jobs are staged at once again")
            } catch {
                distrust()
                throttle.warn(log, "new jobs could not be staged at once: \(error)")
            }
        }
    }

    private func stage(_ jobs: [Lane: [Staged]], _ asks: Set<String>) async throws {
        for (lane, jobs) in jobs {
            let isTaken = try await window.offer(jobs, to: lane)
            state.withLock { $0.refusals[lane] = isTaken ? nil : .now + Self.refusalTime }
        }
        if !asks.isEmpty { try await window.askForFeed(Array(asks)) }
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
