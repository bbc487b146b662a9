import FoundationEssentials
import ErrandMemory
import ErrandPostgres

/// Renews the worker's lease and receives commands: pauses, cancellations and stops.
struct Heartbeat: Sendable {
    let session: Session
    let options: WorkerOptions
    let kinds: JobKinds
    let identity: WorkerIdentity
    let lanes: WorkerLanes
    let running: RunningJobs
    let completer: Completer
    let runner: Runner
    let activity: ActivityWriter
    /// Ends the waits of the claimers.
    let wakeClaimers: @Sendable () -> Void
    let wake: Signal
    /// The leader roles from which an operator may ask this worker to step down.
    let leaderships: [LeadershipRole]
    let commands = ReceivedCommands()
    let limits: LimitCache
    let stats: WorkerStats
    let freed: FreedMemory
    let log: Log

    /// The time after which a job that ignores its cancellation is abandoned.
    private static let timeout = Duration.seconds(10)
    /// Any login may notify: a flood of notifications costs no more than a round for each pause.
    private static let shortestPause = Duration.milliseconds(5)
    /// The maximum number of running jobs in the worker's row.
    private static let reportedJobs = 100

    /// Inserts this worker into the table of workers.
    static func register(
        _ session: Session, options: WorkerOptions, kinds: JobKinds
    ) async throws -> Int64 {
        try await session.query(
            Statements.registerWorker, registration(options, kinds)
        ).int64(0, 0)
    }

    private static func registration(
        _ options: WorkerOptions, _ kinds: JobKinds
    ) -> [Parameter] {
        [
            .text(options.host), .int32(ProcessInfo.processInfo.processIdentifier),
            .text(options.version), .float(Float(options.leaseTime.milliseconds) / 1000),
            .json(declared(options)), .textArray(kinds.capabilities),
            .textArray(options.roles.map(\.rawValue)),
        ]
    }

    /// Beats until the task is cancelled.
    func run(stopping stop: Stop) async {
        var lastBeat = ContinuousClock.now - options.leaseTime
        let throttle = LogThrottle()
        var throughput = ThroughputMeter()
        while !Task.isCancelled {
            stats.turned()
            do {
                try await listen()
                if ContinuousClock.now - lastBeat >= options.heartbeatInterval {
                    throughput.note(
                        lanes.queues.map { ($0.options.name, $0.counts.finished) }, at: .now)
                    try await beat(stop, throughput)
                    lastBeat = .now
                    await activity.write(on: session)
                    lanes.dropUnused()
                }
                try await readControls(stopping: stop)
                if commands.isOutdated(status(stop)) { try await beat(stop, throughput) }
                throttle.resolved(log, "the heartbeat is written again")
            } catch {
                throttle.warn(log, "the heartbeat could not be written: \(error)")
                stats.missedBeat("\(error)")
            }
            expire()
            freed.release()
            await wake.wait(upTo: running.isEmpty ? .seconds(1) : .milliseconds(250))
            try? await Task.sleep(for: Self.shortestPause)
        }
    }

    private func listen() async throws {
        let (wake, commands) = (wake, commands)
        try await session.listen(["errand_control"]) { notification in
            // Only hints: the rows say what is to be done.
            switch notification.payload {
            case "cancel \(identity.id)": commands.requestCheck()
            case "beat \(identity.id)": commands.requestBeat()
            default: break
            }
            wake.raise()
        } onReset: {
            wake.raise()
        }
    }

    private func status(_ stop: Stop) -> ReceivedCommands.PublishedStatus {
        let isQuiet = commands.current?.task == .quiet
        return ReceivedCommands.PublishedStatus(
            isStopping: stop.isStopped, isQuiet: isQuiet,
            isIdle: isQuiet && lanes.queues.allSatisfy(\.isIdle), limitsAppliedAt: limits.appliedAt)
    }

    private func beat(_ stop: Stop, _ throughput: ThroughputMeter) async throws {
        let status = status(stop)
        commands.published(status)
        let sent = Instant.now()
        let rows = try await session.query(
            Statements.heartbeat,
            [
                .int64(identity.id), .json(Self.load(lanes.queues, throughput)),
                .bool(status.isStopping), .bool(status.isQuiet),
                .int64Array(running.oldest(Self.reportedJobs)), .timestamp(status.limitsAppliedAt),
                commands.clockAhead.map { .double($0 / .seconds(1)) } ?? .null,
            ])
        stats.beat()
        if rows.count > 0 {
            // The database reads its clock about in the middle of the round trip.
            let middle = sent.adding(Instant.now().durationSince(sent) / 2)
            commands.clockAhead = middle.durationSince(try rows.timestamp(0, 0))
            return
        }
        stats.lostLease()
        // The lease ran out: the jobs that ran here belong to other workers now.
        log.warning(
            "this worker was declared dead after no heartbeat for \(options.leaseTime); its "
                + "running jobs were requeued for other workers")
        running.interruptAll(.leaseLost)
        for queue in lanes.queues { _ = queue.takeWaiting() }
        let command = commands.current
        identity.id = try await session.query(
            Statements.registerAgain,
            Self.registration(options, kinds) + [
                .int64(identity.id), .optional(command?.task.rawValue), .optional(command?.at),
                .optional(command?.by), .optional(command?.reason),
            ]
        ).int64(0, 0)
    }

    /// Reads the paused queues, the operators' commands for this worker, and the requests to cancel
    /// running jobs.
    func readControls(stopping stop: Stop) async throws {
        // Notifications announce cancellations; those of longer-running jobs are found without.
        let ids = running.running(since: commands.takeCheck() ? .zero : .milliseconds(500))
        let answers = try await session.pipeline(
            [
                Statement(Statements.pausedQueues, []),
                Statement(Statements.receivedCommands, [.int64(identity.id)]),
                Statement(Statements.knownLimits),
            ]
                + (ids.isEmpty
                    ? []
                    : [
                        Statement(
                            Statements.cancelRequested, [.int64Array(ids), .int64(identity.id)])
                    ]))
        let isQuietNews = try obey(answers[1], stopping: stop)
        let isQuiet = commands.current?.task == .quiet
        var paused: Set<String> = []
        for row in 0..<answers[0].count { paused.insert(try answers[0].text(row, 0)) }
        for (queue, isPaused, back) in lanes.pause(paused, isQuiet: isQuiet) {
            completer.add(back.map { runner.attemptResult($0, .requeued, since: .now, nil) })
            if !isQuietNews {
                log.info("queue \(queue.options.name) \(isPaused ? "paused" : "resumed")")
            }
            wakeClaimers()
        }
        if try limits.update(answers[2]) { wakeClaimers() }
        guard answers.count > 3 else { return }
        for row in 0..<answers[3].count {
            running.interrupt(try answers[3].int64(row, 0), .cancelled)
        }
    }

    /// Executes the operators' commands, and returns whether the worker becomes quiet or active.
    private func obey(_ rows: Rows, stopping stop: Stop) throws -> Bool {
        // Without a row the worker was declared dead: the next heartbeat registers it again.
        guard let row = rows.first else { return false }
        let signatures = try row.textArray("resign")
        for leadership in leaderships { leadership.resign(ifSigned: signatures) }
        let command = try WorkerCommand(row)
        let before = commands.current?.task
        guard commands.receive(command) else { return false }
        let origin = (command?.by ?? "an operator") + (command?.reason.map { ": \($0)" } ?? "")
        switch command?.task {
        case .stop:
            log.info("stopping, as requested by \(origin)")
            stop.stop()
        case .quiet: log.info("quiet: claiming no new jobs, as requested by \(origin)")
        case nil: log.info("claiming jobs again, as requested by an operator")
        }
        return before == .quiet || command?.task == .quiet
    }

    private func expire() {
        for stuck in running.expire(at: .now, timeout: Self.timeout) {
            guard let kind = kinds.registrations[stuck.job.lane.kind] else { continue }
            log.with("job", stuck.job.id).warning(
                "the handler of \(kind.kind) ignores its time limit of \(stuck.limit) and its "
                    + "cancellation: the attempt has failed, and its slot stays occupied")
            let verdict = runner.failed(
                JobError.timedOut(after: stuck.limit).description, after: nil, stuck.job, kind)
            let result = runner.attemptResult(stuck.job, verdict, since: stuck.startedAt, kind)
            completer.add([result])
            lanes.queue(named: stuck.job.lane.queue)?.activity.ended([result], at: .now())
        }
    }

    private struct Declaration: Encodable {
        var concurrency: Int
        var weight: Int
    }

    private static func declared(_ options: WorkerOptions) -> [UInt8] {
        json(
            options.queues.reduce(into: [:]) {
                $0[$1.name] = Declaration(concurrency: $1.concurrency, weight: $1.weight)
            })
    }

    private struct Load: Encodable {
        var busy: Int
        var waiting: Int
        var finished: Int
        var failed: Int
        /// Finished jobs per second, over the last minute.
        var rate: Double
    }

    /// The queues that have jobs, or had some within the last minute.
    private static func load(_ queues: [LocalQueue], _ throughput: ThroughputMeter) -> [UInt8] {
        var loads: [String: Load] = [:]
        for queue in queues {
            let counts = queue.counts
            let rate = throughput.rate(of: queue.options.name)
            guard counts.busy > 0 || counts.waiting > 0 || rate > 0 else { continue }
            loads[queue.options.name] = Load(
                busy: counts.busy, waiting: counts.waiting, finished: counts.finished,
                failed: counts.failed, rate: rate)
        }
        return json(loads)
    }

    private static func json(_ value: [String: some Encodable]) -> [UInt8] {
        (try? Array(JSONEncoder().encode(value))) ?? Array("{}".utf8)
    }
}
