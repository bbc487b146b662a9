import FoundationEssentials
import ErrandPostgres
import ErrandRecurrence
import ErrandRedis
import Synchronization
import ErrandThreads

/// What one run of a worker holds.
struct WorkerRuntime: Sendable {
    let kinds: JobKinds
    let options: WorkerOptions
    let vitals: Vitals
    let log: Log
    let handlerPool: Pool
    let ownPool: Pool
    let heartSession: Session
    let finishing: Session
    let queues: [LocalQueue]
    let running = RunningJobs()
    let completer: Completer
    let limits: LimitBoard
    let client: JobClient
    let dispatcher: Dispatcher
    /// Claims for flooded queues, where there are several.
    let floodDispatcher: Dispatcher?
    let identity: WorkerIdentity
    let runner: Runner
    let heart: Heart
    let heartWake = Signal()
    let leadership: Leadership
    let scheduler: Scheduler?
    let pokes: ReadyWindow

    init(
        servers: Servers, kinds: JobKinds, options: WorkerOptions, vitals: Vitals, log: Log
    ) async throws {
        (self.kinds, self.options, self.vitals) = (kinds, options, vitals)
        heartSession = WorkerConnections.session("errand-heart", at: servers)
        try await heartSession.requireOwnProcess(for: "a worker")
        let instance = try await heartSession.query(Statements.instance).text(0, 0)
        let keys = RedisKeys(instance: instance)
        let make = WorkerConnections(
            servers: servers, keys: keys, windowLimit: options.windowLimit)
        pokes = make.window("errand-offer")
        try await pokes.connection.connect()
        queues = options.queues.map { LocalQueue(options: $0, kinds: kinds) }
        try await Self.declare(kinds, options, on: heartSession)
        identity = WorkerIdentity(
            try await Heart.register(heartSession, options: options, kinds: kinds, queues: queues))
        self.log = log.with("worker", identity.id)
        let dutySeat = LeadSeat(.duties, host: options.host, worker: identity)
        let scheduleSeat = LeadSeat(.scheduler, host: options.host, worker: identity)
        // Named after the worker: when it is dead, its transactions can be told from others'.
        let poolName = Rescuer.poolName(of: identity.id)
        handlerPool = make.pool(poolName, limit: options.handlerConnections)
        // Apart, or handlers that all hold one session and ask for a second would wait for ever.
        ownPool = make.pool("errand-own", limit: 4)

        let engine = Engine(database: handlerPool, own: ownPool, instance: instance)
        client = JobClient(pool: ownPool, window: pokes, redis: servers.redis, log: self.log)
        let offer = WorkerConnections.offer(by: client)
        finishing = make.session("errand-finish", setup: Statements.sessionSetup)
        let limits = LimitBoard(queues)
        self.limits = limits
        completer = Completer(session: finishing, limits: limits, log: self.log, offer: offer)
        let (queues, identity, pokes, workerLog) = (queues, identity, pokes, self.log)
        func dispatcher(_ share: Dispatcher.Share) -> Dispatcher {
            let thread = OwnThread(name: "errand-claim")
            return Dispatcher(
                thread: thread,
                claims: make.session(
                    "errand-claim", on: thread, setup: Statements.claimSessionSetup),
                window: make.window("errand-pop", on: thread), queues: queues, share: share,
                worker: identity, limits: limits, vitals: vitals,
                patience: options.drain ? .milliseconds(10) : .seconds(1), log: workerLog,
                offer: offer)
        }
        self.dispatcher = dispatcher(queues.count > 1 ? .calm : .all)
        floodDispatcher = queues.count > 1 ? dispatcher(.flooded) : nil
        runner = Runner(
            kinds: kinds, engine: engine, client: client, running: running, completer: completer,
            log: self.log)
        heart = Heart(
            session: heartSession, options: options, kinds: kinds, identity: identity,
            queues: queues, running: running, completer: completer, runner: runner,
            activity: ActivityWriter(worker: identity.id, queues: queues, log: self.log),
            wakeDispatchers: { [calm = self.dispatcher, floodDispatcher] in
                calm.room.raise()
                floodDispatcher?.room.raise()
                Self.poke(identity, over: pokes)
            }, wake: heartWake, seats: [dutySeat, scheduleSeat], limits: limits, vitals: vitals,
            log: self.log)
        leadership = Self.leadership(
            make, kinds, options, seat: dutySeat, name: Lead.duties.sessionName(of: identity.id),
            offer: offer, log: self.log)
        scheduler = Self.scheduler(
            servers, kinds, options, worker: identity.id, seat: scheduleSeat, log: self.log)
        vitals.attach(
            Self.numbers(queues, completer, [("handlers", handlerPool), ("own", ownPool)]),
            windows: WindowSizes(
                servers.redis, instance: instance, lanes: queues.flatMap(\.lanes)))
    }

    private static func numbers(
        _ queues: [LocalQueue], _ completer: Completer, _ pools: [(name: String, pool: Pool)]
    ) -> @Sendable () -> WorkerNumbers {
        {
            let summary = completer.summary
            return WorkerNumbers(
                queues: queues.map(WorkerNumbers.Queue.init),
                pools: pools.map { name, pool in
                    WorkerNumbers.Lending(
                        name: name, limit: pool.limit, lent: pool.lentCount,
                        waiting: pool.waitingCount)
                }, handedBack: summary.handedBack, fencedOff: summary.fencedOff)
        }
    }

    private static func scheduler(
        _ servers: Servers, _ kinds: JobKinds, _ options: WorkerOptions, worker: Int64,
        seat: LeadSeat, log: Log
    ) -> Scheduler? {
        let zones = ZoneDatabase()
        for schedule in kinds.schedules.values.sorted(by: { $0.name < $1.name }) {
            do throws(ZoneError) { _ = try zones.zone(named: schedule.zone) } catch {
                log.error("schedule \(schedule.name) cannot run from here: \(error)")
            }
        }
        guard options.runsSchedules, !options.drain else { return nil }
        return Scheduler(
            servers.settings(Lead.scheduler.sessionName(of: worker), setup: Scheduler.setup),
            zones: zones, patience: options.leaseTime, seat: seat, log: log)
    }

    private static func leadership(
        _ make: WorkerConnections, _ kinds: JobKinds, _ options: WorkerOptions,
        seat: LeadSeat, name: String, offer: @escaping @Sendable (Staged, Lane) -> Void, log: Log
    ) -> Leadership {
        let retention = kinds.registrations.values.map { $0.options.retention.components.seconds }
        let days = min((retention.max() ?? 0) / 86_400, Runner.longestRetention)
        let place = FeedingPlace()
        return Leadership(
            seat: seat, place: place,
            feeding: make.session(name, on: place.thread, setup: Statements.sessionSetup),
            maintenance: make.session("errand-maintain", setup: Statements.maintenanceSetup),
            window: make.window("errand-stage", on: place.thread),
            listening: make.window("errand-hear"), requests: Feeder.Requests(), options: options,
            offer: offer, longestRetention: Int(days), log: log)
    }

    private static func declare(
        _ kinds: JobKinds, _ options: WorkerOptions, on session: Session
    ) async throws {
        let queues = Set(options.queues.map(\.name))
        var statements = queues.sorted().map { Statement(Statements.addQueue, [.text($0)]) }
        statements += try kinds.declarations(schedulesOf: queues)
        _ = try await session.pipeline(statements)
    }

    func work(until stop: Stop) async throws {
        let onStop = stop.onStop { wakeAll() }
        defer { stop.forget(onStop) }
        // A paused queue must not be popped from before the first heartbeat.
        do { try await heart.readControls(stopping: stop) } catch {
            await leave()
            throw error
        }
        vitals.beat()
        vitals.begin()
        limits.onRoom { wantMore($0) }
        // The feeder should hear of a new worker at once.
        client.offers?.ask(for: "*")
        log.info(
            "working \(options.queues.map(\.name).joined(separator: ", ")) with "
                + "\(kinds.names.count) kinds")
        await withTaskGroup(of: Void.self) { background in
            background.addTask { await heart.run(stopping: stop) }
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

    /// Claims and runs until the stop or the drain, then ends what runs.
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

    /// Claims until the stop or, when draining, until nothing is due.
    private func dispatch(
        until stop: Stop, start: @escaping @Sendable (LocalQueue) -> Void
    ) async {
        let end = Stop()
        let onStop = stop.onStop { end.stop() }
        defer { stop.forget(onStop) }
        await withTaskGroup(of: Void.self) { group in
            if let floodDispatcher {
                let events = Dispatcher.Events(start: start, refuse: handBack) {
                    dispatcher.room.raise()
                    poke()
                } isDrained: {
                    false
                }
                group.addTask { await floodDispatcher.run(until: end, events) }
            }
            let events = Dispatcher.Events(start: start, refuse: handBack) {
                floodDispatcher?.room.raise()
            } isDrained: {
                await isDrained()
            }
            await dispatcher.run(until: end, events)
            end.stop()
            floodDispatcher?.room.raise()
        }
    }

    private func handBack(_ jobs: [ClaimedJob]) {
        completer.add(jobs.map { runner.ending($0, .handedBack, since: .now, nil) })
    }

    private func windDown(_ stop: Stop) async {
        for queue in queues {
            handBack(queue.close())
        }
        let deadline = ContinuousClock.now + options.grace
        // By the queues' count: a job that was handed over a moment ago is not yet in `running`.
        func isBusy() -> Bool { queues.contains { $0.counts.busy > 0 } }
        while isBusy(), stop.hasGrace, ContinuousClock.now < deadline {
            try? await Task.sleep(for: .milliseconds(10))
        }
        if isBusy() {
            log.warning("\(running.count) jobs did not end within the grace and are cancelled")
            let end = ContinuousClock.now + .seconds(2)
            while isBusy(), ContinuousClock.now < end {
                running.interruptAll(.stopping)
                try? await Task.sleep(for: .milliseconds(10))
            }
        }
        let abandoned = running.abandonAll()
        if !abandoned.isEmpty {
            log.warning("\(abandoned.count) jobs ignored their cancellation and are handed back")
            handBack(abandoned)
        }
        try? await dispatcher.giveBackUnsure()
        try? await floodDispatcher?.giveBackUnsure()
    }

    /// A queue has room again: wakes its dispatcher wherever that waits.
    private func wantMore(_ queue: LocalQueue) {
        if queue.isFlooded, let floodDispatcher {
            floodDispatcher.room.raise()
        } else {
            dispatcher.room.raise()
            if queue.takePoke() { poke() }
        }
    }

    private func wakeAll() {
        dispatcher.room.raise()
        floodDispatcher?.room.raise()
        heartWake.raise()
        poke()
    }

    /// Ends the dispatcher's wait in Redis.
    private func poke() { Self.poke(identity, over: pokes) }

    private static func poke(_ worker: WorkerIdentity, over window: ReadyWindow) {
        Task { try? await window.poke(worker: worker.id) }
    }

    /// Nothing runs here, nothing is due in PostgreSQL that could run here.
    private func isDrained() async -> Bool {
        guard options.drain, queues.allSatisfy({ $0.isIdle && !$0.isFlooded }), completer.isIdle
        else { return false }
        let lanes = queues.filter { !$0.isPaused }.flatMap(\.lanes)
        do {
            let rows = try await finishing.query(
                Statements.anyDue,
                [
                    .textArray(lanes.map(\.queue)), .textArray(lanes.map(\.kind)),
                    .int16Array(lanes.map { Int16($0.version) }),
                ])
            guard try rows.bool(0, 0) else {
                return completer.isIdle && !queues.contains(where: \.isFlooded)
            }
            client.offers?.ask(for: "*")
            return false
        } catch {
            return false
        }
    }

    private func leave() async {
        limits.onRoom(nil)
        await heart.activity.write(on: heartSession)
        do {
            _ = try await heartSession.query(Statements.leave, [.int64(identity.id)])
        } catch {
            log.warning("this worker could not sign off: \(error)")
        }
        await heartSession.close()
        await finishing.close()
        await dispatcher.close()
        await floodDispatcher?.close()
        await handlerPool.close()
        await ownPool.close()
    }
}
