import ErrandPostgres
import ErrandRedis
import ErrandThreads

/// The thread on which the feeder lives together with its two connections, so that the way from a
/// notification to a staged id crosses no other.
actor FeedingPlace {
    nonisolated let thread = OwnThread(name: "errand-feed")

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.executor }

    deinit { thread.stop() }

    func run(_ feeder: Feeder) async throws { try await feeder.run() }
}

/// Does the work that one process at a time should do: feeding, rescuing, retention.
///
/// One process holds an advisory lock in PostgreSQL and the others stand by, to save cost and not
/// for correctness: each of these duties may run twice without harm.
struct Leadership: Sendable {
    let seat: LeadSeat
    let place: FeedingPlace
    let feeding: Session
    let maintenance: Session
    let window: ReadyWindow
    /// Waits for requests, apart from the connection that stages.
    let listening: ReadyWindow
    let requests: Feeder.Requests
    let options: WorkerOptions
    let offer: @Sendable (Staged, Lane) -> Void
    let longestRetention: Int
    let log: Log

    /// Leads whenever it can, until the task is cancelled.
    func run() async {
        let loop = LeadLoop(
            seat: seat, session: feeding, patience: options.leaseTime, log: log,
            interrupted: "feeding was interrupted", resolved: "feeding goes on")
        await loop.run { onFed in
            try await feeding.listen(["errand_ready"]) { [requests] notification in
                requests.add([notification.payload])
            } onReset: { [requests] in
                // With the connection the lock is gone: the feeder ends, and we ask anew.
                requests.loseLock()
            }
            log.debug("leading: feeding, rescuing and retention run here")
            requests.holdLock()
            try await lead(onFed)
        }
        await maintenance.close()
    }

    private func lead(_ onFed: @escaping @Sendable () -> Void) async throws {
        let feeder = Feeder(
            session: feeding, window: window, requests: requests,
            pollInterval: options.pollInterval, log: log, onFed: onFed)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await place.run(feeder) }
            group.addTask { try await hearRequests() }
            group.addTask { try await rescue() }
            group.addTask { try await retain() }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func hearRequests() async throws {
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

    // What goes wrong here, such as a lock that someone holds, must not stop the feeding: it is
    // said, and tried again.

    private func rescue() async throws {
        let rescuer = Rescuer(session: maintenance, offer: offer, log: log)
        let complaint = Complaint()
        var nextOrphans = ContinuousClock.now + .seconds(30)
        while !Task.isCancelled {
            do {
                try await rescuer.rescueSilent()
                if ContinuousClock.now >= nextOrphans {
                    let took = try await ContinuousClock().measure {
                        try await rescuer.rescueOrphans()
                    }
                    // It reads the whole table: seldom, and never more than a fiftieth of the time.
                    nextOrphans = .now + max(.seconds(30), took * 50)
                }
                complaint.resolved(log, "dead workers are looked for again")
            } catch {
                complaint.warn(log, "the jobs of dead workers could not be freed: \(error)")
                nextOrphans = max(nextOrphans, .now + .seconds(10))
            }
            try await Task.sleep(for: .seconds(1))
        }
    }

    private func retain() async throws {
        let retention = Retention(session: maintenance, log: log)
        let complaint = Complaint()
        while !Task.isCancelled {
            var pause = Duration.seconds(600)
            do {
                try await retention.run(now: .now(), days: longestRetention + 3)
                complaint.resolved(log, "finished jobs are forgotten in time again")
            } catch {
                complaint.warn(log, "finished jobs could not be forgotten: \(error)")
                pause = .seconds(60)
            }
            try await Task.sleep(for: pause)
        }
    }
}
