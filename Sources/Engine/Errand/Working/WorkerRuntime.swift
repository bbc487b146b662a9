import FoundationEssentials
import ErrandMemory
import ErrandPostgres
import ErrandRecurrence
import ErrandRedis
import Synchronization
import ErrandThreads

/// The parts of a running worker.
struct WorkerRuntime: Sendable {
    let kinds: JobKinds
    let options: WorkerOptions
    let stats: WorkerStats
    let log: Log
    let handlerPool: Pool
    let ownPool: Pool
    /// The worker's reserved session, which is always connected.
    let heartbeatSession: Session
    let finishing: OnDemandSession
    let lanes: WorkerLanes
    let running = RunningJobs()
    let completer: Completer
    let limits: LimitCache
    let client: JobClient
    let claimer: Claimer
    /// The claimer of the saturated queues, if the worker has several queues.
    let saturatedClaimer: Claimer?
    let identity: WorkerIdentity
    let runner: Runner
    let heartbeat: Heartbeat
    let heartbeatWake = Signal()
    let freed = FreedMemory()
    let leadership: Leadership
    let scheduler: Scheduler?
    let staging: ReadyWindow

    init(
        servers: Servers, kinds: JobKinds, options: WorkerOptions, stats: WorkerStats, log: Log
    ) async throws {
        (self.kinds, self.options, self.stats) = (kinds, options, stats)
        heartbeatSession = WorkerConnections.session("errand-heartbeat", at: servers)
        try await heartbeatSession.requireOwnProcess(for: "a worker")
        let instance = try await heartbeatSession.query(Statements.instance).text(0, 0)
        let make = WorkerConnections(
            servers: servers, keys: RedisKeys(instance: instance), options: options, log: log)
        staging = make.window("errand-offer")
        try await staging.connection.connect()
        lanes = WorkerLanes(options.queues, kinds: kinds)
        try await Self.declare(kinds, options, on: heartbeatSession)
        identity = WorkerIdentity(
            try await Heartbeat.register(heartbeatSession, options: options, kinds: kinds))
        self.log = log.with("worker", identity.id)
        let feederLeadership = LeadershipRole(.feeder, host: options.host, worker: identity)
        let schedulerLeadership = LeadershipRole(.scheduler, host: options.host, worker: identity)
        (ownPool, handlerPool) = make.pools(of: identity.id)
        let engine = Engine(
            database: handlerPool, own: ownPool, reserved: heartbeatSession, instance: instance)
        client = JobClient(
            pool: ownPool, window: staging, redis: servers.redis, log: self.log,
            writingSingles: engine.pipeline)
        let offer = WorkerConnections.offer(by: client)
        finishing = make.results(reserved: heartbeatSession, log: self.log)
        limits = LimitCache(lanes)
        completer = Completer(session: finishing, limits: limits, log: self.log, offer: offer)
        let (lanes, identity, staging, ownLog) = (lanes, identity, staging, self.log)
        let (limits, reserved) = (limits, heartbeatSession)
        func claimer(_ share: Claimer.Share) -> Claimer {
            let thread = DedicatedThreadExecutor(name: "errand-claim")
            return Claimer(
                thread: thread,
                claims: make.claims(share, on: thread, reserved: reserved, log: ownLog),
                window: make.window("errand-pop", on: thread), lanes: lanes, share: share,
                worker: identity, limits: limits, stats: stats,
                timeout: options.drain ? .milliseconds(10) : .seconds(1), log: ownLog, offer: offer)
        }
        self.claimer = claimer(lanes.isSingle ? .all : .normal)
        saturatedClaimer = lanes.isSingle ? nil : claimer(.saturated)
        runner = Runner(
            kinds: kinds, engine: engine, client: client, running: running, completer: completer,
            freed: freed, log: self.log)
        heartbeat = Heartbeat(
            session: heartbeatSession, options: options, kinds: kinds, identity: identity,
            lanes: lanes, running: running, completer: completer, runner: runner,
            activity: ActivityWriter(worker: identity.id, lanes: lanes, log: self.log),
            wakeClaimers: { [normal = self.claimer, saturatedClaimer] in
                normal.room.raise()
                saturatedClaimer?.room.raise()
                Self.wake(identity, over: staging)
            }, wake: heartbeatWake, leaderships: [feederLeadership, schedulerLeadership],
            limits: limits, stats: stats, freed: freed, log: self.log)
        leadership = Self.leadership(
            make, options, leadership: feederLeadership, standby: heartbeatSession,
            maintenance: MaintenanceSession(ownPool),
            name: Role.feeder.sessionName(of: identity.id), offer: offer, log: self.log)
        scheduler = Self.scheduler(
            servers, kinds, options, worker: identity.id, leadership: schedulerLeadership,
            standby: heartbeatSession, log: self.log)
        stats.attach(
            Self.numbers(lanes, completer, [("handlers", handlerPool), ("own", ownPool)]),
            windows: WindowSizes(
                servers.redis, instance: instance,
                queues: { lanes.queues.map(\.options.name) },
                lanes: { lanes.open.flatMap(\.lanes) }))
    }

    private static func numbers(
        _ lanes: WorkerLanes, _ completer: Completer, _ pools: [(name: String, pool: Pool)]
    ) -> @Sendable () -> WorkerNumbers {
        {
            let summary = completer.summary
            return WorkerNumbers(
                queues: lanes.queues.map(WorkerNumbers.Queue.init),
                pools: pools.map { name, pool in
                    WorkerNumbers.Lending(
                        name: name, limit: pool.limit, lent: pool.lentCount,
                        waiting: pool.waitingCount)
                }, requeued: summary.requeued, fencedOff: summary.fencedOff)
        }
    }

    private static func scheduler(
        _ servers: Servers, _ kinds: JobKinds, _ options: WorkerOptions, worker: Int64,
        leadership: LeadershipRole, standby: Session, log: Log
    ) -> Scheduler? {
        let zones = ZoneDatabase()
        for schedule in kinds.schedules.values.sorted(by: { $0.name < $1.name }) {
            do throws(ZoneError) { _ = try zones.zone(named: schedule.zone) } catch {
                log.error("schedule \(schedule.name) cannot run from here: \(error)")
            }
        }
        guard options.roles.contains(.scheduler) else { return nil }
        return Scheduler(
            servers.settings(Role.scheduler.sessionName(of: worker), setup: Scheduler.setup),
            standby: standby, zones: zones, timeout: options.leaseTime, leadership: leadership,
            log: log)
    }

    private static func leadership(
        _ make: WorkerConnections, _ options: WorkerOptions, leadership: LeadershipRole,
        standby: Session, maintenance: MaintenanceSession, name: String,
        offer: @escaping @Sendable (Staged, Lane) -> Void, log: Log
    ) -> Leadership {
        let place = FeederThread()
        return Leadership(
            leadership: leadership, place: place,
            feeding: make.session(name, on: place.thread, setup: Statements.sessionSetup),
            standby: standby, maintenance: maintenance,
            window: make.window("errand-stage", on: place.thread),
            listening: make.window("errand-requests"), requests: Feeder.Requests(),
            options: options, offer: offer, log: log)
    }

    private static func declare(
        _ kinds: JobKinds, _ options: WorkerOptions, on session: Session
    ) async throws {
        let served = options.queues.map(\.name)
        let names = served.filter { !QueuePattern($0).isPattern }
        var statements = Set(names).sorted().map { Statement(Statements.addQueue, [.text($0)]) }
        statements += try kinds.declarations { QueuePattern.serving($0, served) != nil }
        _ = try await session.pipeline(statements)
    }

    func work(until stop: Stop) async throws {
        let onStop = stop.onStop { wakeAll() }
        defer { stop.forget(onStop) }
        // The worker must know the paused queues before the first pop.
        do { try await heartbeat.readControls(stopping: stop) } catch {
            await leave()
            throw error
        }
        stats.beat()
        stats.begin()
        limits.onRoom { wantMore($0) }
        // Notify the feeder of the new worker at once.
        client.offers?.ask(for: "*")
        log.info("working \(description(of: lanes.names)) with \(kinds.names.count) kinds")
        await withTaskGroup(of: Void.self) { background in
            background.addTask { await heartbeat.run(stopping: stop) }
            background.addTask { await leadership.run() }
            if let scheduler { background.addTask { await scheduler.run() } }
            await withTaskGroup(of: Void.self) { finishing in
                finishing.addTask { await completer.run() }
                await runJobs(until: stop)
                completer.close()
                await finishing.waitForAll()
            }
            background.cancelAll()
        }
        await client.flush()
        await leave()
    }

    private func description(of queues: [String]) -> String {
        queues.count > 20 ? "\(queues.count) queues" : queues.joined(separator: ", ")
    }

    /// Claims and runs jobs until the stop or the end of the drain, then winds down.
    private func runJobs(until stop: Stop) async {
        await withDiscardingTaskGroup { group in
            let starts = StartRequests()
            await withTaskGroup(of: Void.self) { dispatch in
                dispatch.addTask {
                    await self.dispatch(until: stop) { starts.add($0) }
                    starts.close()
                }
                for await queue in starts.stream {
                    group.addTask { await runner.run(queue) { wantMore(queue) } }
                }
            }
            await windDown(stop)
        }
    }

    /// Claims jobs until the stop or, when draining, until no job is due.
    private func dispatch(
        until stop: Stop, start: @escaping @Sendable (LocalQueue) -> Void
    ) async {
        let end = Stop()
        let onStop = stop.onStop { end.stop() }
        defer { stop.forget(onStop) }
        await withTaskGroup(of: Void.self) { group in
            if let saturatedClaimer {
                let events = Claimer.Events(start: start, refuse: requeue) {
                    claimer.room.raise()
                    wakeClaimer()
                } isDrained: {
                    false
                }
                group.addTask { await saturatedClaimer.run(until: end, events) }
            }
            let events = Claimer.Events(start: start, refuse: requeue) {
                saturatedClaimer?.room.raise()
            } isDrained: {
                await isDrained()
            }
            await claimer.run(until: end, events)
            end.stop()
            saturatedClaimer?.room.raise()
        }
    }

    private func requeue(_ jobs: [ClaimedJob]) {
        completer.add(jobs.map { runner.attemptResult($0, .requeued, since: .now, nil) })
    }

    private func windDown(_ stop: Stop) async {
        for queue in lanes.queues { requeue(queue.close()) }
        let deadline = ContinuousClock.now + options.grace
        // By the queues' counts: a job that a runner just received is not yet in `running`.
        func isBusy() -> Bool { lanes.queues.contains { $0.counts.busy > 0 } }
        while isBusy(), stop.hasGrace, ContinuousClock.now < deadline {
            try? await Task.sleep(for: .milliseconds(10))
        }
        if isBusy() {
            log.warning("\(running.count) jobs exceeded the grace period and are cancelled")
            let end = ContinuousClock.now + .seconds(2)
            while isBusy(), ContinuousClock.now < end {
                running.interruptAll(.stopping)
                try? await Task.sleep(for: .milliseconds(10))
            }
        }
        let abandoned = running.abandonAll()
        if !abandoned.isEmpty {
            log.warning("\(abandoned.count) jobs ignored their cancellation and are requeued")
            requeue(abandoned)
        }
        try? await claimer.requeueUnsure()
        try? await saturatedClaimer?.requeueUnsure()
    }

    /// Wakes the claimer of a queue that has room again, wherever it waits.
    private func wantMore(_ queue: LocalQueue) {
        if queue.isSaturated, let saturatedClaimer {
            saturatedClaimer.room.raise()
        } else {
            claimer.room.raise()
            if queue.takeWakeUp() { wakeClaimer() }
        }
    }

    private func wakeAll() {
        claimer.room.raise()
        saturatedClaimer?.room.raise()
        heartbeatWake.raise()
        wakeClaimer()
    }

    /// Ends the claimer's wait in Redis.
    private func wakeClaimer() { Self.wake(identity, over: staging) }

    private static func wake(_ worker: WorkerIdentity, over window: ReadyWindow) {
        Task { try? await window.wake(worker: worker.id) }
    }

    /// Returns whether no job runs here and PostgreSQL has no due job that could run here.
    private func isDrained() async -> Bool {
        func isIdle() -> Bool {
            completer.isIdle && lanes.queues.allSatisfy { $0.isIdle && !$0.isSaturated }
        }
        guard options.drain, isIdle() else { return false }
        do {
            let rows = try await finishing.query(
                Statements.anyDue, try await lanesToDrain().columns)
            guard try rows.bool(0, 0) else { return isIdle() }
            client.offers?.ask(for: "*")
            return false
        } catch {
            return false
        }
    }

    /// Returns the lanes with jobs that this worker can run and that are not paused.
    private func lanesToDrain() async throws -> [Lane] {
        try await Feeder.lanesWithJobs(except: [], on: heartbeatSession).filter { lane in
            lanes.canRun(lane) && lanes.queue(named: lane.queue)?.isPaused != true
        }
    }

    private func leave() async {
        limits.onRoom(nil)
        await heartbeat.activity.write(on: heartbeatSession)
        do {
            _ = try await heartbeatSession.query(Statements.leave, [.int64(identity.id)])
        } catch {
            log.warning("this worker could not delete its row in errand.workers: \(error)")
        }
        await heartbeatSession.close()
        await finishing.close()
        await claimer.close()
        await saturatedClaimer?.close()
        await handlerPool.close()
        await ownPool.close()
    }
}
