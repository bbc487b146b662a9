import ErrandPostgres
import ErrandRedis
import Synchronization
import ErrandThreads

/// Pops due ids from Redis, claims their jobs in PostgreSQL, and passes them to the runners.
///
/// Its two connections share one thread, so that no thread switch delays a claim. A worker of
/// several queues has two claimers: one makes the large claims of the saturated queues, over the
/// worker's reserved session, so that a lone job of another queue does not wait for them.
actor Claimer {
    /// The share of the worker's queues that a claimer serves.
    enum Share: Sendable { case all, normal, saturated }

    private let thread: DedicatedThreadExecutor
    let claims: OnDemandSession
    let window: ReadyWindow
    let lanes: WorkerLanes
    let share: Share
    let worker: WorkerIdentity
    let limits: LimitCache
    private let stats: WorkerStats
    /// The maximum duration of one blocking pop.
    let timeout: Duration
    private let log: Log
    /// Called for jobs that wait again.
    private let offer: @Sendable (Staged, Lane) -> Void
    private let redisThrottle = LogThrottle()
    private let claimThrottle = LogThrottle()
    /// Raised when a queue has room for more jobs.
    nonisolated let room = Signal()
    /// A claim whose answer was lost: this worker may own its jobs.
    struct Unsure {
        var ids: [Int64]
        var token: Int64
        var lostAt = ContinuousClock.now
        var nextCheck = ContinuousClock.now
    }

    var unsure: [Unsure] = []
    var turn = 0
    /// When to renew the watch of new lanes in use, and when to read all of them.
    var nextWatch = ContinuousClock.now
    var nextReading = ContinuousClock.now
    /// When the last known lane was added to the lanes in use.
    var addedAt: Int64 = 0

    /// The number of popped jobs that makes a queue saturated, and the one below which it is normal
    /// again.
    private static let saturation = 64
    private static let recovery = 16
    /// How long the server may still run a claim whose connection was lost: longer than the
    /// sessions' `statement_timeout`.
    private static let unsureTime = Duration.seconds(70)

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        thread.executor
    }

    init(
        thread: DedicatedThreadExecutor, claims: OnDemandSession, window: ReadyWindow,
        lanes: WorkerLanes,
        share: Share, worker: WorkerIdentity, limits: LimitCache, stats: WorkerStats,
        timeout: Duration, log: Log,
        offer: @escaping @Sendable (Staged, Lane) -> Void
    ) {
        self.offer = offer
        self.timeout = timeout
        self.thread = thread
        self.claims = claims
        self.window = window
        self.lanes = lanes
        self.share = share
        self.worker = worker
        self.limits = limits
        self.stats = stats
        self.log = log
    }

    deinit { thread.stop() }

    /// The callbacks of a claimer.
    struct Events: Sendable {
        /// Called when a queue needs another runner.
        var start: @Sendable (LocalQueue) -> Void
        /// Called with claimed jobs that their queue refused.
        var refuse: @Sendable ([ClaimedJob]) -> Void
        /// Called when a queue changes to the other claimer.
        var passOn: @Sendable () -> Void
        /// Called when no job is available; true ends the run.
        var isDrained: @Sendable () async -> Bool
    }

    struct Popped {
        var ids: [Int64] = []
        /// The ids by queue, if any queue is limited.
        var groups: [(queue: LocalQueue, ids: [Int64])] = []
        var counts: [(queue: LocalQueue, count: Int)] = []
    }

    /// Claims jobs until stopped, and starts runners as needed.
    func run(until stop: Stop, _ events: Events) async {
        var failures = 0
        limits.join(share)
        defer { limits.leave(share) }
        while !stop.isStopped {
            do {
                try await settleUnsure()
                await claims.tend()
                let known = limits.enter(share)
                if share != .saturated { try await watch() }
                let open = lanes.open.filter { isMine($0.queue) }
                let wanted = shares(open)
                guard !wanted.isEmpty || open.isEmpty && share != .saturated else {
                    // All queues are full or paused.
                    if await events.isDrained() { return }
                    try await waitForRoom(in: open, known)
                    continue
                }
                let popped = try await pop(wanted, of: open, known)
                redisThrottle.resolved(log, "Redis answers again")
                stats.redisAnswered()
                if !popped.groups.isEmpty {
                    try await claim(popped.groups, under: known) { hand($0, events) }
                    claimThrottle.resolved(log, "jobs can be claimed again")
                } else if !popped.ids.isEmpty {
                    hand(try await claim(popped.ids), events)
                    claimThrottle.resolved(log, "jobs can be claimed again")
                }
                passOn(popped, events)
                if popped.ids.isEmpty, await events.isDrained() { return }
                failures = 0
            } catch {
                failures += 1
                let throttle = error is RedisError ? redisThrottle : claimThrottle
                throttle.warn(log, "no jobs can be claimed: \(error)")
                if error is RedisError { stats.redisFailed("\(error)") }
                await stop.sleep(for: .milliseconds(min(20 << min(failures, 6), 1_000)))
            }
        }
    }

    /// Passes queues whose load has changed to the other claimer.
    private func passOn(_ popped: Popped, _ events: Events) {
        guard share != .all else { return }
        for (queue, count) in popped.counts {
            switch share {
            case .normal where count >= Self.saturation: queue.isSaturated = true
            case .saturated where count < Self.recovery: queue.isSaturated = false
            default: continue
            }
            events.passOn()
        }
    }

    /// Requeues jobs that this worker may own through claims whose answers were lost.
    func requeueUnsure() async throws { try await settleUnsure(isLast: true) }

    /// Closes the connections.
    func close() async {
        await claims.close()
        if share != .saturated { try? await window.unwatch(worker: worker.id) }
        await window.connection.close()
    }

    func isMine(_ queue: LocalQueue) -> Bool {
        switch share {
        case .all: true
        case .normal: !queue.isSaturated
        case .saturated: queue.isSaturated
        }
    }

    /// Claims jobs of queues without a limit.
    ///
    /// A job that was moved to a limited queue meanwhile is left to be popped there.
    func claim(_ ids: [Int64], outside limited: [String] = []) async throws -> [ClaimedJob] {
        let token = Int64.random(in: .min ... .max)
        let sorted = ids.sorted()
        var parameters: [Parameter] = [.int64Array(sorted), .int64(worker.id), .int64(token)]
        let jobs: [ClaimedJob]
        do {
            let rows: Rows
            if limited.isEmpty {
                rows = try await claim(Statements.claim, Statements.claimUnlocked, parameters)
            } else {
                parameters.append(.textArray(limited))
                rows = try await claim(
                    Statements.claimOutside, Statements.claimUnlockedOutside, parameters)
            }
            jobs = try ClaimedJob.read(rows, token: token)
        } catch {
            unsure.append(Unsure(ids: sorted, token: token))
            throw error
        }
        return inOrder(jobs)
    }

    private func claim(
        _ plain: String, _ pastLocks: String, _ parameters: [Parameter]
    ) async throws -> Rows {
        do { return try await claims.query(plain, parameters) } catch {
            // Another transaction has locked one of the jobs.
            guard error.sqlState == "55P03" else { throw error }
            return try await claims.query(pastLocks, parameters)
        }
    }

    private func settleUnsure(isLast: Bool = false) async throws {
        for place in unsure.indices.reversed() {
            let claim = unsure[place]
            let now = ContinuousClock.now
            guard isLast || claim.nextCheck <= now else { continue }
            let freed = try await claims.query(
                Statements.unclaim, [.int64Array(claim.ids), .int64(claim.token)])
            // Without any, the claim did nothing, or the server still runs it.
            if freed.count > 0 || now - claim.lostAt > Self.unsureTime {
                unsure.remove(at: place)
            } else {
                unsure[place].nextCheck = now + .seconds(1)
            }
            for row in 0..<freed.count { try offer(Staged(freed, row), Lane(freed, row)) }
        }
    }

    private func hand(_ jobs: [ClaimedJob], _ events: Events) {
        if let first = jobs.first?.lane.queue, jobs.allSatisfy({ $0.lane.queue == first }),
            let queue = lanes.queue(named: first)
        {
            return add(jobs, to: queue, events)
        }
        var rest: [ClaimedJob] = []
        for (name, own) in Dictionary(grouping: jobs, by: \.lane.queue) {
            if let queue = lanes.queue(named: name) {
                add(own, to: queue, events)
            } else {
                rest += own
            }
        }
        // Jobs that were moved to a queue of other workers between staging and claim.
        if !rest.isEmpty { events.refuse(rest) }
    }

    private func add(_ jobs: [ClaimedJob], to queue: LocalQueue, _ events: Events) {
        guard !jobs.isEmpty else { return }
        let taken = queue.add(jobs)
        if !taken.refused.isEmpty { events.refuse(taken.refused) }
        for _ in 0..<taken.starting { events.start(queue) }
    }
}

/// The id of this worker in the table of workers.
///
/// It changes when the worker registers again after it was declared dead.
final class WorkerIdentity: Sendable {
    private let number: Mutex<Int64>

    init(_ id: Int64) { number = Mutex(id) }

    var id: Int64 {
        get { number.withLock { $0 } }
        set { number.withLock { $0 = newValue } }
    }
}
