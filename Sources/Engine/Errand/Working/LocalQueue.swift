import Synchronization

/// The claimed jobs of one queue inside one worker: a few wait, as many run as the concurrency
/// says, and it tells how many more to claim.
final class LocalQueue: Sendable {
    private struct State {
        /// Jobs that are run together: one, or a batch of a kind that takes batches.
        var waiting: [[ClaimedJob]] = []
        var head = 0
        var waitingCount = 0
        /// Jobs being run, the runners that there are, and those of them that wait for a job.
        var running = 0
        var runners = 0
        var parked: [CheckedContinuation<[ClaimedJob]?, Never>] = []
        var isPaused = false
        var isClosed = false
        var isFlooded = false
        var finished = 0
        var failed = 0
        /// Jobs a second, smoothed; decides how far ahead to claim.
        var rate = 0.0
        var rateSince = ContinuousClock.now
        var finishedAtRate = 0
        /// Milliseconds that a job takes, smoothed; unknown at first.
        var usualDuration: Double?
        var wantsPoke = false
        /// Of a limited queue: the most that may run at once, and until when nothing is to be had.
        var most: Int?
        var heldUntil: ContinuousClock.Instant?
        /// How often a slot of it has become free.
        var frees: UInt64 = 0
        /// Claims that brought jobs, and the jobs that they brought.
        var claims = 0
        var claimed = 0
    }

    let options: WorkerOptions.Queue
    let lanes: [Lane]
    let activity: ActivityBook
    private let batchLimits: [String: Int]
    private let largestBatch: Int
    private let state = Mutex(State())

    /// The most that one claim takes.
    static let claimLimit = 1_000

    init(options: WorkerOptions.Queue, kinds: JobKinds) {
        self.options = options
        activity = ActivityBook(queue: options.name)
        lanes = kinds.capabilities.compactMap { Lane(queue: options.name, capability: $0) }
        batchLimits = kinds.registrations.values.filter { $0.batchLimit > 1 }
            .reduce(into: [:]) { $0[$1.kind] = $1.batchLimit }
        largestBatch =
            kinds.registrations.values.filter { $0.options.queue == options.name }
            .map(\.batchLimit).max() ?? 1
    }

    /// How many more jobs to claim now.
    ///
    /// Beyond the free slots, as many as end within 20 ms are claimed ahead, so that short jobs
    /// come in batches while long ones are left for other workers. An idle queue goes by how long
    /// its jobs took before, and takes four times its slots at most: when many fall due at one
    /// moment, it need not come for them in small portions.
    func wanted() -> Int {
        state.withLock { state in
            guard !state.isPaused else { return 0 }
            measure(&state)
            return wanted(state)
        }
    }

    private func wanted(_ state: State) -> Int {
        var ahead = min(max(Int(state.rate * 0.02), largestBatch - 1), Self.claimLimit)
        if state.running == 0, state.waitingCount == 0, let usual = state.usualDuration {
            let slots = Double(options.concurrency)
            ahead = max(ahead, Int(min(slots * 20 / max(usual, 0.01), slots * 4)))
        }
        guard state.waitingCount <= ahead / 2 else { return 0 }
        if let end = state.heldUntil, end > .now { return 0 }
        let room = min(options.concurrency + ahead, state.most ?? .max)
        return max(room - state.running - state.waitingCount, 0)
    }

    // MARK: A limited queue

    /// Sets how many of it may run at once over all workers; nil is no limit.
    func limit(to most: Int?) {
        state.withLock { state in
            state.most = most
            state.heldUntil = nil
        }
    }

    /// How often a slot has become free, for ``hold(for:since:)``.
    var frees: UInt64 { state.withLock(\.frees) }

    /// Takes nothing more for a while, unless a slot has become free since it was asked for.
    func hold(for length: Duration, since frees: UInt64) {
        state.withLock { state in
            if state.frees == frees { state.heldUntil = .now + length }
        }
    }

    /// Until when nothing is taken; nil when it may be.
    var heldUntil: ContinuousClock.Instant? { state.withLock(\.heldUntil) }

    /// A slot has become free; returns whether more should be claimed now.
    ///
    /// To a queue that is limited by its rate alone it means nothing.
    func release() -> Bool {
        state.withLock { state in
            guard state.most != nil else { return false }
            state.frees &+= 1
            guard state.heldUntil != nil else { return false }
            state.heldUntil = nil
            return !state.isPaused && wanted(state) > 0
        }
    }

    // MARK: Counting

    private func measure(_ state: inout State) {
        let now = ContinuousClock.now
        let elapsed = now - state.rateSince
        guard elapsed > .milliseconds(10) else { return }
        let seconds =
            Double(elapsed.components.attoseconds) * 1e-18
            + Double(elapsed.components.seconds)
        let recent = Double(state.finished - state.finishedAtRate) / seconds
        state.rate += (recent - state.rate) * min(seconds / 0.05, 1)
        state.rateSince = now
        state.finishedAtRate = state.finished
    }

    /// What became of claimed jobs that a queue was given.
    struct Taken {
        /// How many runners to start for them.
        var starting = 0
        /// Not taken, because the queue was paused or closed in the meantime.
        var refused: [ClaimedJob] = []
    }

    /// Takes over claimed jobs, best first.
    func add(_ jobs: [ClaimedJob]) -> Taken {
        var handed: [(runner: CheckedContinuation<[ClaimedJob]?, Never>, unit: [ClaimedJob])] = []
        let taken = state.withLock { state in
            state.claims += 1
            state.claimed += jobs.count
            guard !state.isPaused, !state.isClosed else { return Taken(refused: jobs) }
            gather(jobs, &state)
            while !state.parked.isEmpty, let unit = takeUnit(&state) {
                // The one that was last at work is the most likely to be warm.
                handed.append((state.parked.removeLast(), unit))
            }
            let units = state.waiting.count - state.head
            let starting = max(min(options.concurrency - state.runners, units), 0)
            state.runners += starting
            return Taken(starting: starting)
        }
        for (runner, unit) in handed { runner.resume(returning: unit) }
        return taken
    }

    private func gather(_ jobs: [ClaimedJob], _ state: inout State) {
        for job in jobs {
            if let limit = batchLimits[job.lane.kind],
                let last = state.waiting.indices.last, last >= state.head,
                state.waiting[last].count < limit, state.waiting[last][0].lane == job.lane
            {
                state.waiting[last].append(job)
            } else {
                state.waiting.append([job])
            }
        }
        state.waitingCount += jobs.count
    }

    private func takeUnit(_ state: inout State) -> [ClaimedJob]? {
        guard state.head < state.waiting.count else {
            state.waiting.removeAll(keepingCapacity: true)
            state.head = 0
            return nil
        }
        let unit = state.waiting[state.head]
        state.waiting[state.head] = []
        state.head += 1
        state.waitingCount -= unit.count
        state.running += unit.count
        return unit
    }

    /// Waits for what a runner runs next; nil ends the runner.
    func next() async -> [ClaimedJob]? {
        if let unit = state.withLock({ takeUnit(&$0) }) { return unit }
        return await withCheckedContinuation { runner in
            let answer = state.withLock { state -> [ClaimedJob]?? in
                if let unit = takeUnit(&state) { return .some(unit) }
                if state.isClosed { return .some(nil) }
                state.parked.append(runner)
                return .none
            }
            if let answer { runner.resume(returning: answer) }
        }
    }

    /// Ends the runners once they have run what they hold; returns what had not started.
    func close() -> [ClaimedJob] {
        let (jobs, parked) = state.withLock { state in
            state.isClosed = true
            defer { state.parked = [] }
            return (takeWaiting(&state), state.parked)
        }
        for runner in parked { runner.resume(returning: nil) }
        return jobs
    }

    /// A runner has ended its jobs, which took so many milliseconds each; returns whether more
    /// should be claimed now.
    func finished(_ count: Int, took duration: Float? = nil) -> Bool {
        state.withLock { state in
            state.running -= count
            state.finished += count
            if let duration = duration.map(Double.init) {
                let usual = state.usualDuration ?? duration
                state.usualDuration = usual + (duration - usual) * 0.05
            }
            return !state.isPaused && wanted(state) > 0
        }
    }

    /// Whether the dispatcher must be poked, this once, because it waits for other queues.
    func takePoke() -> Bool {
        state.withLock { state in
            defer { state.wantsPoke = false }
            return state.wantsPoke
        }
    }

    func countFailure() { state.withLock { $0.failed += 1 } }

    /// Asks for a poke when this queue wants jobs: the dispatcher is about to wait for others.
    ///
    /// - Returns: false when it wants some by now.
    func pokeWhenWanted() -> Bool {
        state.withLock { state in
            guard state.isPaused || wanted(state) == 0 else { return false }
            state.wantsPoke = true
            return true
        }
    }

    /// Whether it has so much to do that its claims are made apart from those of the others.
    var isFlooded: Bool {
        get { state.withLock { $0.isFlooded } }
        set { state.withLock { $0.isFlooded = newValue && !$0.isPaused } }
    }

    /// Stops or resumes; returns what had been claimed and not started.
    func setPaused(_ isPaused: Bool) -> [ClaimedJob] {
        state.withLock { state in
            state.isPaused = isPaused
            if isPaused { state.isFlooded = false }
            return isPaused ? takeWaiting(&state) : []
        }
    }

    var isPaused: Bool { state.withLock { $0.isPaused } }

    /// What had been claimed and not started.
    func takeWaiting() -> [ClaimedJob] { state.withLock { takeWaiting(&$0) } }

    private func takeWaiting(_ state: inout State) -> [ClaimedJob] {
        let jobs = state.waiting[state.head...].flatMap(\.self)
        state.waiting = []
        state.head = 0
        state.waitingCount = 0
        return jobs
    }

    var isIdle: Bool { state.withLock { $0.running == 0 && $0.waitingCount == 0 } }

    /// For metrics: how often jobs were claimed, and how many.
    var claimCounts: (claims: Int, jobs: Int) { state.withLock { ($0.claims, $0.claimed) } }

    /// For the heartbeat.
    var counts: (busy: Int, waiting: Int, finished: Int, failed: Int) {
        state.withLock { ($0.running, $0.waitingCount, $0.finished, $0.failed) }
    }
}

extension WorkerNumbers.Queue {
    init(_ queue: LocalQueue) {
        let (counts, claims) = (queue.counts, queue.claimCounts)
        self.init(
            name: queue.options.name, concurrency: queue.options.concurrency,
            running: counts.busy, waiting: counts.waiting, isPaused: queue.isPaused,
            claims: claims.claims, claimed: claims.jobs, kinds: queue.activity.totals())
    }
}
