import Synchronization

/// The running jobs of this worker, with their tasks and time limits.
final class RunningJobs: Sendable {
    /// Why a running job's task was cancelled.
    enum Interruption: Sendable, Equatable {
        case cancelled, timedOut, stopping
        /// Another worker has the job: this one must not write its result.
        case leaseLost
    }

    /// A job that ignored its cancellation; its slot stays taken until its handler returns.
    struct Stuck: Sendable {
        var job: ClaimedJob
        var startedAt: ContinuousClock.Instant
        var limit: Duration
    }

    private struct Entry {
        var job: ClaimedJob
        var runner: RunnerHandle
        var startedAt: ContinuousClock.Instant
        var deadline: ContinuousClock.Instant
        var interruption: Interruption?
    }

    /// One claim of a job.
    ///
    /// After a lost lease, the same worker may claim the job again while the handler of the earlier
    /// claim still runs.
    private struct Claim: Hashable {
        var id: Int64
        var token: Int64

        init(_ job: ClaimedJob) {
            id = job.id
            token = job.token
        }
    }

    private let entries = Mutex<[Claim: Entry]>([:])

    func start(
        _ job: ClaimedJob, on runner: RunnerHandle, at now: ContinuousClock.Instant,
        limit: Duration
    ) {
        let entry = Entry(job: job, runner: runner, startedAt: now, deadline: now + limit)
        entries.withLock { $0[Claim(job)] = entry }
    }

    /// Removes a job whose handler has returned.
    ///
    /// - Returns: `isOurs`: false if the job was abandoned before, so that its result must not be
    ///   written; `interruption`: why its task was cancelled, if it was.
    func end(_ job: ClaimedJob) -> (isOurs: Bool, interruption: Interruption?) {
        entries.withLock { entries in
            guard let entry = entries.removeValue(forKey: Claim(job)) else { return (false, nil) }
            return (entry.interruption != .leaseLost, entry.interruption)
        }
    }

    /// Cancels the task of one running job.
    func interrupt(_ id: Int64, _ why: Interruption) {
        entries.withLock { entries in
            for claim in entries.keys where claim.id == id { Self.interrupt(&entries, claim, why) }
        }
    }

    /// Cancels the tasks of all running jobs.
    func interruptAll(_ why: Interruption) {
        entries.withLock { entries in
            for claim in entries.keys { Self.interrupt(&entries, claim, why) }
        }
    }

    // Called under the lock: a runner takes its next job only after `end`, so the cancellation
    // cannot affect the wrong job.
    private static func interrupt(
        _ entries: inout [Claim: Entry], _ claim: Claim, _ why: Interruption
    ) {
        guard let entry = entries[claim], entry.interruption == nil || why == .leaseLost else {
            return
        }
        entries[claim]?.interruption = why
        entry.runner.cancel()
    }

    /// Cancels jobs that exceed their time limit, and abandons those that ignored the cancellation
    /// for `timeout`.
    func expire(at now: ContinuousClock.Instant, timeout: Duration) -> [Stuck] {
        entries.withLock { entries in
            var stuck: [Stuck] = []
            for (claim, entry) in entries where entry.deadline <= now {
                if entry.interruption == nil {
                    Self.interrupt(&entries, claim, .timedOut)
                } else if entry.deadline + timeout <= now {
                    stuck.append(
                        Stuck(
                            job: entry.job, startedAt: entry.startedAt,
                            limit: entry.deadline - entry.startedAt))
                    entries[claim] = nil
                }
            }
            return stuck
        }
    }

    /// Abandons all running jobs: the results of their handlers are not written.
    func abandonAll() -> [ClaimedJob] {
        entries.withLock { entries in
            defer { entries = [:] }
            return entries.values.map(\.job)
        }
    }

    /// Returns the jobs that have run for at least `age`, for a check with the database.
    func running(since age: Duration) -> [Int64] {
        let limit = ContinuousClock.now - age
        return entries.withLock { entries in
            entries.values.filter { $0.startedAt <= limit }.map(\.job.id).sorted()
        }
    }

    /// Returns the ids of the longest-running jobs, the longest first.
    func oldest(_ limit: Int) -> [Int64] {
        let all = entries.withLock { $0.values.map { (at: $0.startedAt, id: $0.job.id) } }
        return all.sorted { $0 < $1 }.prefix(limit).map(\.id)
    }

    var isEmpty: Bool { entries.withLock { $0.isEmpty } }
    var count: Int { entries.withLock { $0.count } }
}

/// The task of a runner, for the cancellation of its job.
final class RunnerHandle: Sendable {
    private let state = Mutex<(task: Task<Bool, Never>?, isCancelled: Bool)>((nil, false))

    func set(_ task: Task<Bool, Never>) {
        let isCancelled = state.withLock { state in
            state.task = task
            return state.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.task
        }
        task?.cancel()
    }
}
