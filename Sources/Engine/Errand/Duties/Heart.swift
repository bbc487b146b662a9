import FoundationEssentials
import ErrandPostgres

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
    /// The leads in which this worker may be asked to let go.
    let seats: [LeadSeat]
    let standing = Standing()
    let limits: LimitBoard
    let vitals: Vitals
    let log: Log

    /// A job that ignores its cancellation for this long is given up.
    private static let patience = Duration.seconds(10)
    /// So many running jobs are told of.
    private static let toldJobs = 100

    /// Adds this worker to the table of workers.
    static func register(
        _ session: Session, options: WorkerOptions, kinds: JobKinds, queues: [LocalQueue]
    ) async throws -> Int64 {
        try await session.query(
            Statements.registerWorker, registration(options, kinds, queues)
        ).int64(0, 0)
    }

    private static func registration(
        _ options: WorkerOptions, _ kinds: JobKinds, _ queues: [LocalQueue]
    ) -> [Parameter] {
        [
            .text(options.host), .int32(ProcessInfo.processInfo.processIdentifier),
            .text(options.version), .float(Float(options.leaseTime.milliseconds) / 1000),
            .json(report(queues)), .textArray(kinds.capabilities),
        ]
    }

    /// Beats until the task is cancelled.
    func run(stopping stop: Stop) async {
        var lastBeat = ContinuousClock.now - options.leaseTime
        let complaint = Complaint()
        var pace = Pace()
        while !Task.isCancelled {
            vitals.turned()
            do {
                try await listen()
                if ContinuousClock.now - lastBeat >= options.heartbeatInterval {
                    pace.note(queues.map { ($0.options.name, $0.counts.finished) }, at: .now)
                    try await beat(stop, pace)
                    lastBeat = .now
                    await activity.write(on: session)
                }
                try await readControls(stopping: stop)
                if standing.isNews(told(stop)) { try await beat(stop, pace) }
                complaint.resolved(log, "the heartbeat is written again")
            } catch {
                complaint.warn(log, "the heartbeat could not be written: \(error)")
                vitals.missedBeat("\(error)")
            }
            expire()
            await wake.wait(upTo: running.isEmpty ? .seconds(1) : .milliseconds(250))
        }
    }

    private func listen() async throws {
        let (wake, standing) = (wake, standing)
        try await session.listen(["errand_control"]) { notification in
            if let id = cancelled(notification.payload) { running.interrupt(id, .cancelled) }
            if notification.payload == "beat \(identity.id)" { standing.askForBeat() }
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

    private func told(_ stop: Stop) -> Standing.Told {
        let isQuiet = standing.order?.task == .quiet
        return Standing.Told(
            isStopping: stop.isStopped, isQuiet: isQuiet,
            isIdle: isQuiet && queues.allSatisfy(\.isIdle), limitsHeard: limits.heard)
    }

    private func beat(_ stop: Stop, _ pace: Pace) async throws {
        let told = told(stop)
        standing.tell(told)
        let rows = try await session.query(
            Statements.heartbeat,
            [
                .int64(identity.id), .json(Self.report(queues, pace)), .bool(told.isStopping),
                .bool(told.isQuiet), .int64Array(running.oldest(Self.toldJobs)),
                .timestamp(told.limitsHeard),
            ])
        vitals.beat()
        guard rows.affected == 0 else { return }
        vitals.lostLease()
        // Silent for longer than the lease: what ran here belongs to others now.
        log.warning(
            "this worker was declared dead, having been silent for more than "
                + "\(options.leaseTime); its running jobs were given to others")
        running.interruptAll(.leaseLost)
        for queue in queues { _ = queue.takeWaiting() }
        let order = standing.order
        identity.id = try await session.query(
            Statements.registerAgain,
            Self.registration(options, kinds, queues) + [
                .int64(identity.id), .optional(order?.task.rawValue), .optional(order?.at),
                .optional(order?.by), .optional(order?.reason),
            ]
        ).int64(0, 0)
    }

    /// Learns which queues are paused, what operators ask of this worker, and which running jobs
    /// are to be cancelled.
    func readControls(stopping stop: Stop) async throws {
        // Jobs that have only just begun are told by the notification; this is for lost ones.
        let ids = running.running(since: .milliseconds(500))
        let answers = try await session.pipeline(
            [
                Statement(Statements.pausedQueues, []),
                Statement(Statements.orders, [.int64(identity.id)]),
                Statement(Statements.knownLimits),
            ]
                + (ids.isEmpty
                    ? []
                    : [
                        Statement(
                            Statements.cancelRequested, [.int64Array(ids), .int64(identity.id)])
                    ]))
        let isQuietNews = try obey(answers[1], stopping: stop)
        let isQuiet = standing.order?.task == .quiet
        var paused: Set<String> = []
        for row in 0..<answers[0].count { paused.insert(try answers[0].text(row, 0)) }
        for queue in queues {
            let isPaused = isQuiet || paused.contains(queue.options.name)
            guard queue.isPaused != isPaused else { continue }
            let back = queue.setPaused(isPaused)
            completer.add(back.map { runner.ending($0, .handedBack, since: .now, nil) })
            if !isQuietNews {
                log.info("queue \(queue.options.name) \(isPaused ? "paused" : "resumed")")
            }
            wakeDispatchers()
        }
        if try limits.hear(answers[2]) { wakeDispatchers() }
        guard answers.count > 3 else { return }
        for row in 0..<answers[3].count {
            running.interrupt(try answers[3].int64(row, 0), .cancelled)
        }
    }

    /// Does what operators ask of this worker; returns whether it is to be quiet, or no more.
    private func obey(_ rows: Rows, stopping stop: Stop) throws -> Bool {
        // Without a row it was declared dead: the next beat mends that.
        guard let row = rows.first else { return false }
        let signatures = try row.textArray("resign")
        for seat in seats { seat.resign(ifSigned: signatures) }
        let order = try WorkerOrder(row)
        let before = standing.order?.task
        guard standing.hear(order) else { return false }
        let words = "\(order?.by ?? "an operator") asks" + (order?.reason.map { ": \($0)" } ?? "")
        switch order?.task {
        case .stop:
            log.info("stopping, as \(words)")
            stop.stop()
        case .quiet: log.info("quiet from now on, taking no new jobs, as \(words)")
        case nil: log.info("taking jobs again, as an operator asks")
        }
        return before == .quiet || order?.task == .quiet
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
