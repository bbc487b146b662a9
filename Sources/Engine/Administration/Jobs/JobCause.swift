import Errand
package import ErrandPostgres

/// Why a job does not run, or what it does instead.
package enum JobCause: Sendable, Equatable {
    case completed
    case cancelled
    case dead
    /// On its worker, which is well.
    case running
    /// On its worker, for longer than it may.
    case overtime
    /// Its worker was asked to cancel it.
    case cancelling
    /// Its worker has been silent for so long.
    case holderSilent(Duration)
    /// Its worker is not in the table of workers any more.
    case holderGone
    /// It was to start by then; no worker will run it.
    case tooLate(Instant)
    /// Its last attempt failed; the next is due in so long.
    case retrying(Duration)
    /// It is due in so long.
    case scheduled(Duration)
    case paused(JobSituation.Pause)
    case noWorker
    /// No live worker works its queue; these are worked.
    case queueUnworked([String])
    /// No live worker of its queue knows its kind; these are known.
    case kindUnknown([String])
    /// They know these versions of its arguments.
    case versionUnknown([Int])
    /// All workers that could run it are stopping.
    case stopping
    /// All workers that could run it were asked to take no jobs; these could take them again.
    case quiet([Int64])
    case redisUnreachable(String)
    case redisEmptied
    /// Behind others; in so long it is its turn, if they go on as in the last minute.
    case behind(count: Int, isCapped: Bool, wait: Duration?)
    /// Its queue may run no more now, over all workers.
    case limited(JobSituation.ReachedLimit)
    /// All slots of its queue's workers run other jobs.
    case slotsBusy(Int)
    /// It is due, and has not been staged in Redis.
    case unstaged
    /// Nothing that can be seen holds it; it has been due for so long.
    case ready(Duration)

    /// A stable name for scripts.
    package var name: String {
        switch self {
        case .completed: "completed"
        case .cancelled: "cancelled"
        case .dead: "dead"
        case .running: "running"
        case .overtime: "overtime"
        case .cancelling: "cancelling"
        case .holderSilent: "worker_silent"
        case .holderGone: "worker_gone"
        case .tooLate: "deadline_passed"
        case .retrying: "retrying"
        case .scheduled: "scheduled"
        case .paused: "queue_paused"
        case .noWorker: "no_worker"
        case .queueUnworked: "queue_unworked"
        case .kindUnknown: "kind_unknown"
        case .versionUnknown: "version_unknown"
        case .stopping: "workers_stopping"
        case .quiet: "workers_quiet"
        case .redisUnreachable: "redis_unreachable"
        case .redisEmptied: "redis_emptied"
        case .behind: "behind"
        case .limited: "queue_limit"
        case .slotsBusy: "slots_busy"
        case .unstaged: "unstaged"
        case .ready: "ready"
        }
    }
}

extension JobSituation {
    /// Between a claim and its beat, or a commit and its staging, so long is nothing odd.
    private static let patience = Duration.seconds(2)

    /// Why the job does not run: what holds it first, then what would hold it after that.
    package var causes: [JobCause] {
        switch state {
        case .completed: return [.completed]
        case .cancelled: return [.cancelled]
        case .dead: return [.dead]
        case .running: return [whileHeld]
        case .scheduled, .available, .retrying: break
        }
        if let notAfter, notAfter < now { return [.tooLate(notAfter)] }
        var causes: [JobCause] = []
        if runAt > now {
            let wait = runAt.durationSince(now)
            causes.append(attempt > 0 ? .retrying(wait) : .scheduled(wait))
        }
        if let pause { causes.append(.paused(pause)) }
        if let unworked { causes.append(unworked) }
        if case .unreachable(let text) = window { causes.append(.redisUnreachable(text)) }
        if causes.isEmpty, window == .emptied { causes.append(.redisEmptied) }
        // What else is before it matters only to a job that nothing else holds.
        return causes.isEmpty ? [inLine] : causes
    }

    private var whileHeld: JobCause {
        guard let holder, holder.isKnown else { return .holderGone }
        let silence = now.durationSince(holder.lastSeenAt)
        if silence > max(holder.lease / 2, Self.patience) { return .holderSilent(silence) }
        if isCancelRequested { return .cancelling }
        guard let startedAt, let timeout else { return .running }
        return now.durationSince(startedAt) > timeout ? .overtime : .running
    }

    /// Whether anybody is there who could run it.
    private var unworked: JobCause? {
        guard !workers.isEmpty else { return .noWorker }
        let ofQueue = workers.filter { $0.queues[lane.queue] != nil }
        guard !ofQueue.isEmpty else {
            return .queueUnworked(Set(workers.flatMap(\.queues.keys)).sorted())
        }
        let able = ofQueue.filter { $0.kinds.contains(lane.capability) }
        guard able.isEmpty else {
            guard able.allSatisfy({ $0.stopping || $0.quiet }) else { return nil }
            let quiet = able.filter { !$0.stopping }.map(\.id)
            return quiet.isEmpty ? .stopping : .quiet(quiet.sorted())
        }
        let known = ofQueue.flatMap(\.kinds).compactMap { Lane(queue: "", capability: $0) }
        let versions = Set(known.filter { $0.kind == lane.kind }.map(\.version)).sorted()
        return versions.isEmpty
            ? .kindUnknown(Set(known.map(\.kind)).sorted()) : .versionUnknown(versions)
    }

    private var inLine: JobCause {
        if let limit { return .limited(limit) }
        let queues = workers.compactMap { $0.queues[lane.queue] }
        if ahead > 0 {
            let rate = queues.reduce(0) { $0 + ($1.rate ?? 0) }
            return .behind(
                count: ahead, isCapped: ahead >= Self.countLimit,
                wait: rate > 0 ? .seconds(Double(ahead) / rate) : nil)
        }
        let slots = queues.reduce(0) { $0 + ($1.concurrency ?? 0) }
        let busy = queues.reduce(0) { $0 + ($1.busy ?? 0) }
        if slots > 0, busy >= slots { return .slotsBusy(slots) }
        let waited = now.durationSince(runAt)
        return window == .absent && waited > Self.patience ? .unstaged : .ready(waited)
    }
}
