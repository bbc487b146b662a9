import ErrandPostgres
import ErrandRedis
import ErrandThreads

/// The thread of the feeder and its two connections, so that no thread switch delays the staging
/// after a notification.
actor FeederThread {
    nonisolated let thread = DedicatedThreadExecutor(name: "errand-feed")

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.executor }

    deinit { thread.stop() }

    func run(_ feeder: Feeder) async throws { try await feeder.run() }
}

/// The work of the role feeder: staging, recovering the jobs of dead workers, and retention.
///
/// One process holds the role and the others stand by. This saves cost; each of these tasks may
/// safely run twice.
struct Leadership: Sendable {
    let leadership: LeadershipRole
    let place: FeederThread
    let feeding: Session
    /// The session over which the worker stands by.
    let standby: Session
    let maintenance: MaintenanceSession
    let window: ReadyWindow
    /// Receives requests, over a connection other than the staging one.
    let listening: ReadyWindow
    let requests: Feeder.Requests
    let options: WorkerOptions
    let offer: @Sendable (Staged, Lane) -> Void
    let log: Log

    /// Runs as the feeder, or stands by, until the task is cancelled.
    func run() async {
        let loop = LeaderLoop(
            leadership: leadership, session: feeding, standby: standby, timeout: options.leaseTime,
            log: log,
            interrupted: "the feeder was interrupted", resolved: "the feeder runs again")
        await loop.run { onFed in
            try await feeding.listen(["errand_ready"]) { [requests] notification in
                requests.add([notification.payload])
            } onReset: { [requests] in
                // The role is lost with the connection: end the feeder and take it again.
                requests.loseRole()
            }
            log.debug("this worker is the feeder")
            requests.holdRole()
            try await lead(onFed)
        }
    }

    private func lead(_ onFed: @escaping @Sendable () -> Void) async throws {
        let feeder = Feeder(
            session: feeding, window: window, requests: requests,
            pollInterval: options.pollInterval, noticeLimit: options.noticeLimit, log: log,
            onFed: onFed)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await place.run(feeder) }
            group.addTask { try await receiveRequests() }
            group.addTask { try await rescue() }
            group.addTask { try await retain() }
            let ended = await group.nextResult()
            group.cancelAll()
            // Release the role before a long statement of maintenance has ended.
            await feeding.close()
            try ended?.get()
        }
    }

    private func receiveRequests() async throws {
        let connection = listening.connection
        try await withTaskCancellationHandler {
            while !Task.isCancelled {
                let names = try await listening.feedRequests(waiting: .seconds(1))
                if !names.isEmpty { requests.add(names) }
            }
        } onCancel: {
            connection.interrupt()
        }
    }

    // Failures of the following tasks, such as a lock that another session holds, must not stop the
    // feeder: they are logged, and the task is retried.

    private func rescue() async throws {
        let rescuer = Rescuer(maintenance, offer: offer, log: log)
        let throttle = LogThrottle()
        var nextOrphans = ContinuousClock.now + .seconds(30)
        while !Task.isCancelled {
            do {
                try await rescuer.rescueUnresponsive()
                if ContinuousClock.now >= nextOrphans {
                    let took = try await ContinuousClock().measure {
                        try await rescuer.rescueOrphans()
                    }
                    // It reads the whole table: run it rarely, at most 2 % of the time.
                    nextOrphans = .now + max(.seconds(30), took * 50)
                }
                throttle.resolved(log, "the jobs of dead workers are recovered again")
            } catch {
                throttle.warn(log, "the jobs of dead workers could not be recovered: \(error)")
                nextOrphans = max(nextOrphans, .now + .seconds(10))
            }
            try await Task.sleep(for: .seconds(1))
        }
    }

    private func retain() async throws {
        let retention = Retention(maintenance, log: log)
        let throttle = LogThrottle()
        while !Task.isCancelled {
            var pause = Duration.seconds(600)
            do {
                try await retention.run(now: .now())
                throttle.resolved(log, "what has expired is deleted again")
            } catch {
                throttle.warn(log, "not everything that has expired could be deleted: \(error)")
                pause = .seconds(60)
            }
            try await Task.sleep(for: pause)
        }
    }
}
