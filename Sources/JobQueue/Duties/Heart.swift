import FoundationEssentials
import Postgres

/// Shows that this worker is alive, and hears what is asked of it: pauses and cancellations.
struct Heart: Sendable {
    let session: Session
    let options: WorkerOptions
    let kinds: JobKinds
    let identity: WorkerIdentity
    let queues: [LocalQueue]
    let running: RunningJobs
    let completer: Completer
    let runner: Runner
    let activity: ActivityWriter
    /// Ends whatever the dispatchers wait for.
    let wakeDispatchers: @Sendable () -> Void
    let wake: Signal
    let log: Log

    /// A job that ignores its cancellation for this long is given up.
    private static let patience = Duration.seconds(10)

    /// Adds this worker to the table of workers.
    static func register(
        _ session: Session, options: WorkerOptions, kinds: JobKinds, queues: [LocalQueue]
    ) async throws -> Int64 {
        try await session.query(
            Statements.registerWorker,
            [
                .text(options.host), .int32(ProcessInfo.processInfo.processIdentifier),
                .text(options.version),
                .float(Float(options.leaseTime.milliseconds) / 1000),
                .json(report(queues)), .textArray(kinds.capabilities),
            ]
        ).int64(0, 0)
    }

    /// Beats until the task is cancelled.
    func run(stopping stop: Stop) async {
        var lastBeat = ContinuousClock.now - options.leaseTime
        let complaint = Complaint()
        var pace = Pace()
        while !Task.isCancelled {
            do {
                try await listen()
                if ContinuousClock.now - lastBeat >= options.heartbeatInterval {
                    pace.note(queues.map { ($0.options.name, $0.counts.finished) }, at: .now)
                    try await beat(isStopping: stop.isStopped, pace)
                    lastBeat = .now
                    await activity.write(on: session)
                }
                try await readControls()
                complaint.resolved(log, "the heartbeat is written again")
            } catch {
                complaint.warn(log, "the heartbeat could not be written: \(error)")
            }
            expire()
            await wake.wait(upTo: running.isEmpty ? .seconds(1) : .milliseconds(250))
        }
    }

    private func listen() async throws {
        let wake = wake
        try await session.listen(["errand_control"]) { notification in
            if let id = cancelled(notification.payload) { running.interrupt(id, .cancelled) }
            wake.raise()
        } onReset: {
            wake.raise()
        }
    }

    /// "cancel WORKER JOB": only the worker that runs it acts.
    private func cancelled(_ payload: String) -> Int64? {
        let parts = payload.split(separator: " ")
        guard parts.count == 3, parts[0] == "cancel", Int64(parts[1]) == identity.id else {
            return nil
        }
        return Int64(parts[2])
    }

    private func beat(isStopping: Bool, _ pace: Pace) async throws {
        let rows = try await session.query(
            Statements.heartbeat,
            [.int64(identity.id), .json(Self.report(queues, pace)), .bool(isStopping)])
        guard rows.affected == 0 else { return }
        // Silent for longer than the lease: what ran here belongs to others now.
        log.warning(
            "this worker was declared dead, having been silent for more than "
                + "\(options.leaseTime); its running jobs were given to others")
        running.interruptAll(.leaseLost)
        for queue in queues { _ = queue.takeWaiting() }
        identity.id = try await Self.register(
            session, options: options, kinds: kinds, queues: queues)
    }

    /// Learns which queues are paused, and which running jobs are to be cancelled.
    func readControls() async throws {
        // Jobs that have only just begun are told by the notification; this is for lost ones.
        let ids = running.running(since: .milliseconds(500))
        let answers = try await session.pipeline(
            [Statement(Statements.pausedQueues, [])]
                + (ids.isEmpty
                    ? []
                    : [
                        Statement(
                            Statements.cancelRequested, [.int64Array(ids), .int64(identity.id)])
                    ]))
        var paused: Set<String> = []
        for row in 0..<answers[0].count { paused.insert(try answers[0].text(row, 0)) }
        for queue in queues where queue.isPaused != paused.contains(queue.options.name) {
            let isPaused = paused.contains(queue.options.name)
            let back = queue.setPaused(isPaused)
            completer.add(back.map { runner.ending($0, .handedBack, since: .now, nil) })
            log.info("queue \(queue.options.name) \(isPaused ? "paused" : "resumed")")
            wakeDispatchers()
        }
        guard answers.count > 1 else { return }
        for row in 0..<answers[1].count {
            running.interrupt(try answers[1].int64(row, 0), .cancelled)
        }
    }

    private func expire() {
        for stuck in running.expire(at: .now, patience: Self.patience) {
            guard let kind = kinds.registrations[stuck.job.lane.kind] else { continue }
            log.with("job", stuck.job.id).warning(
                "the handler of \(kind.kind) goes on after its time limit of \(stuck.limit) and "
                    + "its cancellation; the attempt has failed and its slot stays taken")
            let verdict = runner.failed(
                JobError.timedOut(after: stuck.limit).description, after: nil, stuck.job, kind)
            let ending = runner.ending(stuck.job, verdict, since: stuck.startedAt, kind)
            completer.add([ending])
            queues.first { $0.options.name == stuck.job.lane.queue }?.activity
                .ended([ending], at: .now())
        }
    }

    private struct QueueReport: Encodable {
        var concurrency: Int
        var weight: Int
        var busy: Int
        var waiting: Int
        var finished: Int
        var failed: Int
        /// Jobs ended a second, over the last minute.
        var rate: Double
    }

    private static func report(_ queues: [LocalQueue], _ pace: Pace = Pace()) -> [UInt8] {
        var reports: [String: QueueReport] = [:]
        for queue in queues {
            let counts = queue.counts
            reports[queue.options.name] = QueueReport(
                concurrency: queue.options.concurrency, weight: queue.options.weight,
                busy: counts.busy, waiting: counts.waiting, finished: counts.finished,
                failed: counts.failed, rate: pace.rate(of: queue.options.name))
        }
        return (try? Array(JSONEncoder().encode(reports))) ?? Array("{}".utf8)
    }
}
