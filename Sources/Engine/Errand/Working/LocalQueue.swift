import Synchronization

/// The claimed jobs of one queue in one worker, waiting or running, and the number of jobs to claim
/// next.
final class LocalQueue: Sendable {
    private struct State {
        /// Units of work: each is one job, or a batch of a kind with a batch handler.
        var waiting: [[ClaimedJob]] = []
        var head = 0
        var waitingCount = 0
        /// The running jobs, the runners, and the runners that wait for a job.
        var running = 0
        var runners = 0
        var parked: [CheckedContinuation<[ClaimedJob]?, Never>] = []
        var isPaused = false
        var isClosed = false
        var isSaturated = false
        var finished = 0
        var failed = 0
        /// Jobs per second, smoothed; decides how far ahead to claim.
        var rate = 0.0
        var rateSince = ContinuousClock.now
        var finishedAtRate = 0
        /// The duration of a job in milliseconds, smoothed; unknown at first.
        var usualDuration: Double?
        var wantsWakeUp = false
        /// For a limited queue: the maximum number of running jobs, and the time until which no job
        /// can be claimed.
        var most: Int?
        var heldUntil: ContinuousClock.Instant?
        /// The number of slots that became free so far.
        var frees: UInt64 = 0
        /// The number of claims that returned jobs, and of these jobs.
        var claims = 0
        var claimed = 0
    }

    let options: WorkerOptions.Queue
    let activity: ActivityCounters
    private let batchLimits: [String: Int]
    private let largestBatch: Int
    private let state = Mutex(State())

    /// The maximum number of jobs of one claim.
    static let claimLimit = 1_000

    init(options: WorkerOptions.Queue, kinds: JobKinds) {
        self.options = options
        activity = ActivityCounters(queue: options.name)
        batchLimits = kinds.registrations.values.filter { $0.batchLimit > 1 }
            .reduce(into: [:]) { $0[$1.kind] = $1.batchLimit }
        largestBatch =
            kinds.registrations.values.filter { $0.options.queue == options.name }
            .map(\.batchLimit).max() ?? 1
    }

    /// Returns the number of jobs to claim now.
    ///
    /// Besides jobs for the free slots, the queue claims the jobs that it finishes within 20 ms, so
    /// that short jobs come in batches while long ones are left for other workers. An idle queue
    /// estimates this from earlier durations, up to four times its slots, so that a burst of due
    /// jobs does not arrive in small portions.
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

    /// Sets the maximum number of its jobs that run at once over all workers; nil for no limit.
    func limit(to most: Int?) {
        state.withLock { state in
            state.most = most
            state.heldUntil = nil
        }
    }

    /// The number of slots that became free so far, for ``hold(for:since:)``.
    var frees: UInt64 { state.withLock(\.frees) }

    /// Claims nothing for a while, unless a slot became free after `frees` was read.
    func hold(for length: Duration, since frees: UInt64) {
        state.withLock { state in
            if state.frees == frees { state.heldUntil = .now + length }
        }
    }

    /// The time until which nothing is claimed; nil if claiming is allowed.
    var heldUntil: ContinuousClock.Instant? { state.withLock(\.heldUntil) }

    /// Records that a slot became free, and returns whether to claim more now.
    ///
    /// It has no effect on a queue that has only a rate limit.
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

    /// The result of ``add(_:)``.
    struct Taken {
        /// The number of runners to start.
        var starting = 0
        /// The jobs that were refused because the queue is paused or closed.
        var refused: [ClaimedJob] = []
    }

    /// Adds claimed jobs, in the order of the queue.
    func add(_ jobs: [ClaimedJob]) -> Taken {
        var handed: [(runner: CheckedContinuation<[ClaimedJob]?, Never>, unit: [ClaimedJob])] = []
        let taken = state.withLock { state in
            state.claims += 1
            state.claimed += jobs.count
            guard !state.isPaused, !state.isClosed else { return Taken(refused: jobs) }
            gather(jobs, &state)
            while !state.parked.isEmpty, let unit = takeUnit(&state) {
                // The runner that parked last is the most likely to have warm caches.
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

    /// Waits for the next unit of work of a runner; nil ends the runner.
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

    /// Ends the runners after their current jobs, and returns the jobs that have not started.
    func close() -> [ClaimedJob] {
        let (jobs, parked) = state.withLock { state in
            state.isClosed = true
            defer { state.parked = [] }
            return (takeWaiting(&state), state.parked)
        }
        for runner in parked { runner.resume(returning: nil) }
        return jobs
    }

    /// Records that a runner finished jobs, and returns whether to claim more now.
    ///
    /// - Parameter duration: the milliseconds that each of them took.
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

    /// Returns whether to wake the claimer, which waits for other queues, and resets the request.
    func takeWakeUp() -> Bool {
        state.withLock { state in
            defer { state.wantsWakeUp = false }
            return state.wantsWakeUp
        }
    }

    func countFailure() { state.withLock { $0.failed += 1 } }

    /// Requests a wake-up for when this queue wants jobs: the claimer is about to wait for others.
    ///
    /// - Returns: false if the queue wants jobs already.
    func wakeWhenWanted() -> Bool {
        state.withLock { state in
            guard state.isPaused || wanted(state) == 0 else { return false }
            state.wantsWakeUp = true
            return true
        }
    }

    /// Whether the queue is saturated, and has a claimer of its own.
    var isSaturated: Bool {
        get { state.withLock { $0.isSaturated } }
        set { state.withLock { $0.isSaturated = newValue && !$0.isPaused } }
    }

    /// Pauses or resumes the queue, and returns the claimed jobs that have not started.
    func setPaused(_ isPaused: Bool) -> [ClaimedJob] {
        state.withLock { state in
            state.isPaused = isPaused
            if isPaused { state.isSaturated = false }
            return isPaused ? takeWaiting(&state) : []
        }
    }

    var isPaused: Bool { state.withLock { $0.isPaused } }

    /// Removes and returns the claimed jobs that have not started.
    func takeWaiting() -> [ClaimedJob] { state.withLock { takeWaiting(&$0) } }

    private func takeWaiting(_ state: inout State) -> [ClaimedJob] {
        let jobs = state.waiting[state.head...].flatMap(\.self)
        state.waiting = []
        state.head = 0
        state.waitingCount = 0
        return jobs
    }

    var isIdle: Bool { state.withLock { $0.running == 0 && $0.waitingCount == 0 } }

    /// The number of claims and of claimed jobs, for metrics.
    var claimCounts: (claims: Int, jobs: Int) { state.withLock { ($0.claims, $0.claimed) } }

    /// The counts for the heartbeat.
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
