import ErrandPostgres
import ErrandRedis
import Synchronization
import ErrandThreads

/// Pops due ids from Redis, claims them in PostgreSQL, and hands the claimed jobs to the runners.
///
/// Its two connections share one thread, so that the way from a popped id to a claimed job
/// crosses none. A worker of several queues has two: one claims by the thousand for those that are
/// flooded, so that a lone job of another queue never waits behind such a claim.
actor Dispatcher {
    /// Which of the worker's queues it claims for.
    enum Share: Sendable { case all, calm, flooded }

    private let thread: OwnThread
    let claims: Session
    let window: ReadyWindow
    let queues: [LocalQueue]
    private let share: Share
    let worker: WorkerIdentity
    private let limits: LimitBoard
    private let vitals: Vitals
    /// How long to wait in Redis for a job before looking around.
    private let patience: Duration
    private let log: Log
    /// Told of jobs that wait again.
    private let offer: @Sendable (Staged, Lane) -> Void
    private let redisComplaint = Complaint()
    private let claimComplaint = Complaint()
    /// Raised when a queue has room for more.
    nonisolated let room = Signal()
    /// A claim whose answer never came: its jobs may be ours without our knowing.
    var unsure: [(ids: [Int64], token: Int64)] = []
    private var turn = 0

    /// So many at once make a queue flooded, and fewer than so many make it calm again.
    private static let flood = 64
    private static let ebb = 16

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        thread.executor
    }

    init(
        thread: OwnThread, claims: Session, window: ReadyWindow, queues: [LocalQueue],
        share: Share, worker: WorkerIdentity, limits: LimitBoard, vitals: Vitals,
        patience: Duration, log: Log,
        offer: @escaping @Sendable (Staged, Lane) -> Void
    ) {
        self.offer = offer
        self.patience = patience
        self.thread = thread
        self.claims = claims
        self.window = window
        self.queues = queues
        self.share = share
        self.worker = worker
        self.limits = limits
        self.vitals = vitals
        self.log = log
    }

    deinit { thread.stop() }

    /// What the dispatcher tells the worker.
    struct Events: Sendable {
        /// A queue needs a runner more.
        var start: @Sendable (LocalQueue) -> Void
        /// Claimed jobs that their queue did not take.
        var refuse: @Sendable ([ClaimedJob]) -> Void
        /// A queue is the other dispatcher's from now on.
        var passOn: @Sendable () -> Void
        /// Asked when nothing is to be had; true ends the run.
        var isDrained: @Sendable () async -> Bool
    }

    struct Popped {
        var ids: [Int64] = []
        /// The same by queue, where any queue is limited.
        var groups: [(queue: LocalQueue, ids: [Int64])] = []
        var counts: [(queue: LocalQueue, count: Int)] = []
    }

    /// Claims until stopped, starting runners as needed.
    func run(until stop: Stop, _ events: Events) async {
        var failures = 0
        limits.join(share)
        defer { limits.leave(share) }
        while !stop.isStopped {
            do {
                try await settleUnsure()
                let known = limits.enter(share)
                let wanted = shares()
                guard !wanted.isEmpty else {
                    // All queues are full, or paused.
                    if await events.isDrained() { return }
                    await room.wait(upTo: min(.milliseconds(500), untilRelease(known)))
                    continue
                }
                let popped = try await pop(wanted, known)
                redisComplaint.resolved(log, "Redis answers again")
                vitals.redisAnswered()
                if !popped.groups.isEmpty {
                    try await claim(popped.groups, under: known) { hand($0, events) }
                    claimComplaint.resolved(log, "jobs can be claimed again")
                } else if !popped.ids.isEmpty {
                    hand(try await claim(popped.ids), events)
                    claimComplaint.resolved(log, "jobs can be claimed again")
                }
                passOn(popped, events)
                if popped.ids.isEmpty, await events.isDrained() { return }
                failures = 0
            } catch {
                failures += 1
                let complaint = error is RedisError ? redisComplaint : claimComplaint
                complaint.warn(log, "no jobs can be taken: \(error)")
                if error is RedisError { vitals.redisFailed("\(error)") }
                await stop.sleep(for: .milliseconds(min(20 << min(failures, 6), 1_000)))
            }
        }
    }

    /// Leaves queues to the other dispatcher whose load has changed.
    private func passOn(_ popped: Popped, _ events: Events) {
        guard share != .all else { return }
        for (queue, count) in popped.counts {
            switch share {
            case .calm where count >= Self.flood: queue.isFlooded = true
            case .flooded where count < Self.ebb: queue.isFlooded = false
            default: continue
            }
            events.passOn()
        }
    }

    /// What a claim whose answer was lost may have left in our name is given back at the end.
    func giveBackUnsure() async throws { try await settleUnsure() }

    /// Ends its connections.
    func close() async {
        await claims.close()
        await window.connection.close()
    }

    private func isMine(_ queue: LocalQueue) -> Bool {
        switch share {
        case .all: true
        case .calm: !queue.isFlooded
        case .flooded: queue.isFlooded
        }
    }

    /// How many jobs each queue is to get in this round, by weight.
    private func shares() -> [(queue: LocalQueue, count: Int)] {
        let open = queues.compactMap { queue in
            let wanted = isMine(queue) ? queue.wanted() : 0
            return wanted > 0 ? (queue: queue, count: wanted) : nil
        }
        let total = open.reduce(0) { $0 + $1.queue.options.weight }
        return open.map { queue, count in
            (queue, min(count, max(LocalQueue.claimLimit * queue.options.weight / total, 1)))
        }
    }

    private func pop(
        _ wanted: [(queue: LocalQueue, count: Int)], _ known: LimitBoard.Limits
    ) async throws -> Popped {
        var popped = Popped()
        turn &+= 1
        for place in wanted.indices {
            // A different queue is first each time.
            let (queue, count) = wanted[(place + turn) % wanted.count]
            let most = known[queue.options.name]?.most ?? count
            let ids = try await window.pop(upTo: min(count, most), from: queue.lanes)
            popped.ids += ids
            if !known.isEmpty, !ids.isEmpty { popped.groups.append((queue, ids)) }
            popped.counts.append((queue, ids.count))
        }
        guard popped.ids.isEmpty, share != .flooded else { return popped }

        let full = queues.filter { queue in
            isMine(queue) && !wanted.contains { $0.queue === queue }
        }
        guard full.allSatisfy({ $0.pokeWhenWanted() }) else { return popped }
        try await window.connection.confirmMaster()
        // What is under a millisecond older servers round to nothing, which means for ever.
        let one = try await window.popOne(
            from: wanted.flatMap(\.queue.lanes), worker: worker.id,
            waiting: max(min(patience, untilRelease(known)), .milliseconds(1)))
        guard let one else { return Popped() }
        var lone = Popped(ids: [one.id])
        if !known.isEmpty,
            let queue = wanted.map(\.queue).first(where: { queue in
                queue.lanes.contains { window.keys.window($0) == one.key }
            })
        {
            lone.groups = [(queue, lone.ids)]
        }
        return lone
    }

    /// Claims for queues without a limit; a job that was moved to a limited one meanwhile waits
    /// to be popped there.
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
            unsure.append((sorted, token))
            throw error
        }
        return inOrder(jobs)
    }

    private func claim(
        _ plain: String, _ pastLocks: String, _ parameters: [Parameter]
    ) async throws -> Rows {
        do { return try await claims.query(plain, parameters) } catch {
            // Somebody's transaction has locked one of them.
            guard error.sqlState == "55P03" else { throw error }
            return try await claims.query(pastLocks, parameters)
        }
    }

    private func settleUnsure() async throws {
        while let (ids, token) = unsure.last {
            let freed = try await claims.query(
                Statements.unclaim, [.int64Array(ids), .int64(token)])
            unsure.removeLast()
            for row in 0..<freed.count { try offer(Staged(freed, row), Lane(freed, row)) }
        }
    }

    private func hand(_ jobs: [ClaimedJob], _ events: Events) {
        guard queues.count > 1 else {
            return add(jobs, to: queues[0], events)
        }
        var rest = jobs
        for queue in queues {
            let own = rest.filter { $0.lane.queue == queue.options.name }
            guard !own.isEmpty else { continue }
            rest.removeAll { $0.lane.queue == queue.options.name }
            add(own, to: queue, events)
        }
        // Moved to a queue of others between staging and claim: ours now, so it is run.
        add(rest, to: queues[0], events)
    }

    private func add(_ jobs: [ClaimedJob], to queue: LocalQueue, _ events: Events) {
        guard !jobs.isEmpty else { return }
        let taken = queue.add(jobs)
        if !taken.refused.isEmpty { events.refuse(taken.refused) }
        for _ in 0..<taken.starting { events.start(queue) }
    }
}

/// Under which number this worker stands in the table of workers; a new one when it was declared
/// dead while it was only stopped.
final class WorkerIdentity: Sendable {
    private let number: Mutex<Int64>

    init(_ id: Int64) { number = Mutex(id) }

    var id: Int64 {
        get { number.withLock { $0 } }
        set { number.withLock { $0 = newValue } }
    }
}
