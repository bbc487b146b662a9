import Synchronization

/// The queues of a worker, and their lanes in use.
///
/// A worker serves queues by name and by pattern. It has a ``LocalQueue`` for each name from the
/// start, and one for each other queue from the first job on. Claimers look only at queues with
/// lanes in use.
final class WorkerLanes: Sendable {
    /// A queue with lanes in use.
    struct Open: Sendable {
        var queue: LocalQueue
        var lanes: [Lane]
    }

    private struct State {
        var queues: [String: LocalQueue] = [:]
        var lanes: [String: Set<Lane>] = [:]
        /// The queues with lanes in use, in the order of their names; nil after a change.
        var open: [Open]?
        /// The queues of patterns that have no lane in use, and since when.
        var unused: [String: ContinuousClock.Instant] = [:]
        var paused: Set<String> = []
        var isQuiet = false
        var limits: LimitCache.Limits = [:]
    }

    /// How long an unused queue of a pattern is kept, for its metrics.
    private static let unusedTime = Duration.seconds(900)

    private let kinds: JobKinds
    private let capabilities: Set<String>
    private let served: [String: WorkerOptions.Queue]
    private let patterns: [String]
    private let state: Mutex<State>

    init(_ served: [WorkerOptions.Queue], kinds: JobKinds) {
        self.kinds = kinds
        capabilities = Set(kinds.capabilities)
        self.served = Dictionary(served.map { ($0.name, $0) }) { first, _ in first }
        patterns = served.map(\.name).filter { QueuePattern($0).isPattern }
        var queues: [String: LocalQueue] = [:]
        for queue in served where !QueuePattern(queue.name).isPattern {
            queues[queue.name] = LocalQueue(options: queue, kinds: kinds)
        }
        state = Mutex(State(queues: queues))
    }

    /// The queues, in the order of their names.
    var queues: [LocalQueue] {
        state.withLock { $0.queues.values.sorted { $0.options.name < $1.options.name } }
    }

    /// Returns a queue of this worker.
    func queue(named name: String) -> LocalQueue? { state.withLock { $0.queues[name] } }

    /// Whether the worker serves a single queue.
    var isSingle: Bool { served.count == 1 && patterns.isEmpty }

    /// Whether queues are served by pattern.
    var hasPatterns: Bool { !patterns.isEmpty }

    /// The names and patterns that the worker serves.
    var names: [String] { served.keys.sorted() }

    // MARK: Lanes

    /// The queues with lanes in use.
    var open: [Open] {
        state.withLock { state in
            if let open = state.open { return open }
            let open = state.lanes.sorted { $0.key < $1.key }.compactMap { name, lanes in
                state.queues[name].map { Open(queue: $0, lanes: Array(lanes)) }
            }
            state.open = open
            return open
        }
    }

    /// Returns whether this worker can run a lane's jobs.
    func canRun(_ lane: Lane) -> Bool {
        capabilities.contains(lane.capability) && options(of: lane.queue) != nil
    }

    private func options(of queue: String) -> WorkerOptions.Queue? {
        served[queue] ?? QueuePattern.serving(queue, patterns).flatMap { served[$0] }
    }

    /// Adds those of some lanes in use that this worker can run.
    func use(_ lanes: some Sequence<Lane>) {
        for lane in lanes where capabilities.contains(lane.capability) {
            state.withLock { state in
                guard state.lanes[lane.queue]?.contains(lane) != true,
                    hasQueue(lane.queue, &state)
                else { return }
                state.lanes[lane.queue, default: []].insert(lane)
                state.unused[lane.queue] = nil
                state.open = nil
            }
        }
    }

    /// Replaces the lanes in use.
    func replace(with lanes: some Sequence<Lane>) {
        let now = ContinuousClock.now
        state.withLock { state in
            let before = state.lanes.keys
            state.lanes = [:]
            for lane in lanes
            where capabilities.contains(lane.capability) && hasQueue(lane.queue, &state) {
                state.lanes[lane.queue, default: []].insert(lane)
                state.unused[lane.queue] = nil
            }
            for name in before where state.lanes[name] == nil && served[name] == nil {
                state.unused[name] = now
            }
            state.open = nil
        }
    }

    /// Creates the queue if a pattern serves it; returns whether the worker has it.
    private func hasQueue(_ name: String, _ state: inout State) -> Bool {
        if state.queues[name] != nil { return true }
        guard var options = options(of: name) else { return false }
        options.name = name
        let queue = LocalQueue(options: options, kinds: kinds)
        if state.isQuiet || state.paused.contains(name) { _ = queue.setPaused(true) }
        queue.limit(to: state.limits[name]?.running)
        state.queues[name] = queue
        return true
    }

    /// Drops the queues of patterns that have been unused for long and whose activity is written.
    func dropUnused() {
        let bound = ContinuousClock.now - Self.unusedTime
        let dropped = state.withLock { state in
            let names = state.unused.filter { name, since in
                since < bound
                    && state.queues[name].map { $0.isIdle && $0.activity.isWritten } ?? true
            }.keys
            return names.compactMap { name in
                state.unused[name] = nil
                return state.queues.removeValue(forKey: name)
            }
        }
        // A job that is claimed for it at this moment is refused and requeued.
        for queue in dropped { _ = queue.close() }
    }

    // MARK: Pauses and limits

    /// Pauses and resumes queues, and returns those that changed, with their claimed jobs that have
    /// not started.
    func pause(
        _ names: Set<String>, isQuiet: Bool
    ) -> [(queue: LocalQueue, isPaused: Bool, back: [ClaimedJob])] {
        let queues = state.withLock { state in
            state.paused = names
            state.isQuiet = isQuiet
            return state.queues
        }
        return queues.values.compactMap { queue in
            let isPaused = isQuiet || names.contains(queue.options.name)
            guard queue.isPaused != isPaused else { return nil }
            return (queue, isPaused, queue.setPaused(isPaused))
        }
    }

    /// Applies the limits of queues.
    func limit(_ limits: LimitCache.Limits) {
        let queues = state.withLock { state in
            state.limits = limits
            return state.queues
        }
        for (name, queue) in queues { queue.limit(to: limits[name]?.running) }
    }
}
