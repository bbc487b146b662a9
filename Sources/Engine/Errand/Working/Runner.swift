import FoundationEssentials
import ErrandMemory
import ErrandPostgres

/// Runs claimed jobs with their handlers and reports their results.
struct Runner: Sendable {
    let kinds: JobKinds
    let engine: Engine
    let client: JobClient
    let running: RunningJobs
    let completer: Completer
    /// Counts the large arguments of finished jobs.
    let freed: FreedMemory
    let log: Log

    private static let yieldInterval = 64
    /// A year, in milliseconds.
    private static let longestTimeout: Int64 = 31_536_000_000

    /// Runs jobs of one queue until it is closed.
    func run(_ queue: LocalQueue, onFinished: @escaping @Sendable () -> Void) async {
        var hasMore = true
        while hasMore {
            let handle = RunnerHandle()
            // A separate task, because cancelling one job must not end the worker's other work.
            let task = Task { await loop(queue, handle, onFinished) }
            handle.set(task)
            hasMore = await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                task.cancel()
            }
        }
    }

    /// Returns true if it stopped because one job, and with it this task, was cancelled.
    private func loop(
        _ queue: LocalQueue, _ handle: RunnerHandle, _ onFinished: @Sendable () -> Void
    ) async -> Bool {
        var turn = 0
        while let unit = await queue.next() {
            let results = await run(unit, handle, queue.activity)
            completer.add(results)
            for result in results where result.isFailure { queue.countFailure() }
            if queue.finished(unit.count, took: results.first?.duration) { onFinished() }
            if Task.isCancelled { return true }
            turn &+= 1
            // A handler that never suspends must not starve those of other queues of threads.
            if turn % Self.yieldInterval == 0 { await Task.yield() }
        }
        return false
    }

    private func run(
        _ unit: [ClaimedJob], _ handle: RunnerHandle, _ activity: ActivityCounters
    ) async -> [AttemptResult] {
        var results: [AttemptResult] = []
        guard let kind = kinds.registrations[unit[0].lane.kind],
            kind.versions.contains(unit[0].lane.version)
        else {
            // Only known lanes are popped, but a newer version of the arguments may have replaced
            // these between staging and claim: other workers can run it.
            return unit.map { attemptResult($0, .requeued, since: .now, nil) }
        }
        let complete = unit.contains { $0.args == nil } ? await withLargeArguments(unit) : unit
        let clock = ContinuousClock.now
        let now = Instant.now()
        var jobs: [ClaimedJob] = []
        for job in complete {
            if let notAfter = job.notAfter, let latest = job.latestStart, latest < clock {
                let reason = "its deadline \(notAfter) had passed before it could start"
                results.append(attemptResult(job, .cancelled(reason: reason), since: clock, kind))
            } else if job.isCancelRequested {
                let reason = "cancelled while it ran"
                results.append(attemptResult(job, .cancelled(reason: reason), since: clock, kind))
            } else if job.args == nil {
                results.append(attemptResult(job, .requeued, since: clock, kind))
            } else {
                jobs.append(job)
            }
        }
        let neverRan = results.count
        guard !jobs.isEmpty else {
            activity.ended(results, at: now, neverRan: neverRan)
            return results
        }
        activity.started(jobs, at: now)

        var claims: [Registration.Claim] = []
        for job in jobs {
            let limit = timeout(job, kind)
            running.start(job, on: handle, at: clock, limit: limit)
            claims.append(
                Registration.Claim(
                    args: job.args ?? [], version: job.lane.version,
                    context: context(job, kind, now: now, limit: limit, clock: clock)))
        }
        let result: Result<[Outcome], any Error>
        do { result = .success(try await kind.run(claims)) } catch { result = .failure(error) }
        let ends = jobs.map { running.end($0) }
        let wasInterrupted = ends.contains { $0.interruption != nil }
        for (place, job) in jobs.enumerated() {
            let (isOurs, interruption) = ends[place]
            guard isOurs else { continue }
            let verdict: AttemptResult.Verdict
            switch result {
            case .success(let outcomes):
                verdict = self.verdict(outcomes[place], of: job, kind)
            case .failure where interruption == nil && wasInterrupted:
                // The cancellation of another job of the batch ended the common handler.
                verdict = .requeued
            case .failure(let error):
                verdict = self.verdict(error, interruption, of: job, kind)
            }
            logFailure(verdict, of: job)
            var ended = attemptResult(job, verdict, since: clock, kind)
            ended.mayBeWritten = engine.takeWritten(job.id)
            results.append(ended)
        }
        activity.ended(results, at: now.adding(.now - clock), neverRan: neverRan)
        return results
    }

    private func context(
        _ job: ClaimedJob, _ kind: Registration, now: Instant, limit: Duration,
        clock: ContinuousClock.Instant
    ) -> JobContext {
        let start = now.date
        return JobContext(
            id: job.id, kind: kind.kind, queue: job.lane.queue, attempt: job.attempt,
            maxAttempts: job.maxAttempts, dueAt: job.runAt.date,
            occurrence: job.overrides?.occurrence, now: start,
            deadline: start.addingTimeInterval(Double(limit.milliseconds) / 1000),
            claimToken: job.token, plainLog: log, plainClient: client, engine: engine,
            keepDays: keepDays(job, kind), startedAt: clock)
    }

    private func log(of job: ClaimedJob) -> Log {
        log.ofJob(job.id, kind: job.lane.kind, queue: job.lane.queue, attempt: job.attempt)
    }

    /// Logs failures, without their texts: the errors of handlers may contain personal data.
    private func logFailure(_ verdict: AttemptResult.Verdict, of job: ClaimedJob) {
        switch verdict {
        case .dead:
            log(of: job).warning(
                "the job is a dead letter: 'errand job show \(job.id)' shows why, "
                    + "'errand job retry \(job.id)' runs it again")
        case .waiting(let delay, .some):
            log(of: job).debug("the attempt failed; the next one is due in \(delay)")
        default: break
        }
    }

    private func timeout(_ job: ClaimedJob, _ kind: Registration) -> Duration {
        // A job's row may have any number.
        job.overrides?.timeoutMs.map { .milliseconds(min(max($0, 1), Self.longestTimeout)) }
            ?? kind.options.timeout
    }

    /// Converts the outcome of a handler to a verdict.
    private func verdict(
        _ outcome: Outcome, of job: ClaimedJob, _ kind: Registration
    ) -> AttemptResult.Verdict {
        switch outcome {
        case .done: .completed
        case .discard(let reason): .cancelled(reason: reason)
        case .dead(let reason): .dead(reason: reason, error: reason)
        case .snooze(let delay): .waiting(delay: delay, error: nil)
        case .retry(let delay, let reason): failed(reason, after: delay, job, kind)
        }
    }

    private func verdict(
        _ error: any Error, _ interruption: RunningJobs.Interruption?, of job: ClaimedJob,
        _ kind: Registration
    ) -> AttemptResult.Verdict {
        switch interruption {
        case .cancelled: return .cancelled(reason: "cancelled while it ran")
        case .stopping: return .requeued
        case .timedOut:
            let limit = timeout(job, kind)
            return failed(
                JobError.timedOut(after: limit).description, after: nil, job, kind)
        case .leaseLost, nil: break
        }
        if let undecodable = error as? UndecodableArguments {
            return .dead(reason: undecodable.description, error: undecodable.description)
        }
        return failed(String(describing: error), after: nil, job, kind)
    }

    /// Returns the verdict of a failed attempt: retried, or dead after the last one.
    func failed(
        _ text: String, after delay: Duration?, _ job: ClaimedJob, _ kind: Registration
    ) -> AttemptResult.Verdict {
        let error = Self.storable(text)
        guard job.attempt < job.maxAttempts else {
            return .dead(
                reason: "attempt \(job.attempt) of \(job.maxAttempts) failed", error: error)
        }
        let backoff = job.overrides?.backoff ?? kind.options.backoff
        let wait = delay ?? backoff.delay(after: job.attempt, chance: .random(in: 0...1))
        return .waiting(delay: wait, error: error)
    }

    func attemptResult(
        _ job: ClaimedJob, _ verdict: AttemptResult.Verdict, since start: ContinuousClock.Instant,
        _ kind: Registration?
    ) -> AttemptResult {
        AttemptResult(
            id: job.id, token: job.token, lane: job.lane, verdict: verdict,
            duration: start.millisecondsSince, keepDays: kind.flatMap { keepDays(job, $0) })
    }

    private func keepDays(_ job: ClaimedJob, _ kind: Registration) -> Int16? {
        guard let own = job.overrides?.retentionS else { return kind.options.retentionDays }
        return JobOptions.days(of: own)
    }

    /// Shortens an error text to 4,000 characters and replaces NUL, which PostgreSQL's JSON cannot
    /// hold.
    static func storable(_ text: String) -> String {
        String(text.prefix(4_000).map { $0 == "\0" ? "\u{FFFD}" : $0 })
    }
}

extension AttemptResult {
    var isFailure: Bool {
        switch verdict {
        case .waiting(_, .some), .dead: true
        default: false
        }
    }
}
