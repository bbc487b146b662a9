import Errand
package import ErrandPostgres

/// The state of a job that does not run, or the reason why it waits.
package enum JobCause: Sendable, Equatable {
    case completed
    case cancelled
    case dead
    /// The job is running on a live worker.
    case running
    /// The job has been running for longer than its timeout.
    case overtime
    /// The job is running; its worker was asked to cancel it.
    case cancelling
    /// The worker of the job has sent no heartbeat for this long.
    case holderUnresponsive(Duration)
    /// The worker of the job is no longer registered.
    case holderGone
    /// The job has passed its deadline; no worker will run it.
    case tooLate(Instant)
    /// The last attempt failed; the next one is due in this time.
    case retrying(Duration)
    /// The job is due in this time.
    case scheduled(Duration)
    case paused(JobDiagnosis.Pause)
    case noWorker
    /// No live worker works the job's queue; these queues have workers.
    case queueUnworked([String])
    /// No live worker of the queue knows the job's kind; they know these kinds.
    case kindUnknown([String])
    /// No live worker of the queue knows the version of the arguments; they know these versions.
    case versionUnknown([Int])
    /// All workers that could run the job are stopping.
    case stopping
    /// All workers that could run the job are quiet; these could claim jobs again.
    case quiet([Int64])
    case redisUnreachable(String)
    case redisEmptied
    /// Other jobs are ahead; at the rate of the last minute they take `wait`.
    case behind(count: Int, isCapped: Bool, wait: Duration?)
    /// The queue has reached a limit.
    case limited(JobDiagnosis.ReachedLimit)
    /// Other jobs use all slots of the queue's workers.
    case slotsBusy(Int)
    /// The job is due, but not staged in Redis.
    case unstaged
    /// The job has been due for this long, without a visible reason to wait.
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
        case .holderUnresponsive: "worker_unresponsive"
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

extension JobDiagnosis {
    /// The normal delay between a claim and a heartbeat, or between a commit and staging.
    private static let timeout = Duration.seconds(2)

    /// Why the job does not run: the current reason first, then those that would apply next.
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
        // Jobs ahead of it matter only if nothing else delays it.
        return causes.isEmpty ? [inLine] : causes
    }

    private var whileHeld: JobCause {
        guard let holder, holder.isKnown else { return .holderGone }
        let silence = now.durationSince(holder.lastSeenAt)
        if silence > max(holder.lease / 2, Self.timeout) { return .holderUnresponsive(silence) }
        if isCancelRequested { return .cancelling }
        guard let startedAt, let timeout else { return .running }
        return now.durationSince(startedAt) > timeout ? .overtime : .running
    }

    /// Why no worker can run the job; nil if one can.
    private var unworked: JobCause? {
        guard !workers.isEmpty else { return .noWorker }
        let ofQueue = workers.filter { $0.slots != nil }
        guard !ofQueue.isEmpty else {
            return .queueUnworked(Set(workers.flatMap(\.others)).sorted())
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
        let serving = workers.filter { $0.slots != nil }
        if ahead > 0 {
            let rate = serving.reduce(0) { $0 + ($1.rate ?? 0) }
            return .behind(
                count: ahead, isCapped: ahead >= Self.countLimit,
                wait: rate > 0 ? .bounded(seconds: Double(ahead) / rate) : nil)
        }
        let slots = serving.reduce(0) { $0 + ($1.slots ?? 0) }
        let busy = serving.reduce(0) { $0 + ($1.busy ?? 0) }
        if slots > 0, busy >= slots { return .slotsBusy(slots) }
        let waited = now.durationSince(runAt)
        return window == .absent && waited > Self.timeout ? .unstaged : .ready(waited)
    }
}
