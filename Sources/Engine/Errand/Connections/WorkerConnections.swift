import ErrandPostgres
import ErrandRedis
import ErrandThreads

/// Creates the sessions, pools and windows of one worker.
///
/// Each is named for its purpose, as shown by `pg_stat_activity` and `CLIENT LIST`.
struct WorkerConnections: Sendable {
    let servers: Servers
    let keys: RedisKeys
    let options: WorkerOptions
    /// Receives what the windows repair in Redis.
    let log: Log

    static func session(
        _ name: String, at servers: Servers, on thread: DedicatedThreadExecutor? = nil,
        setup: [String] = Statements.sessionSetup
    ) -> Session {
        Session(servers.settings(name, setup: setup), thread: thread)
    }

    func session(
        _ name: String, on thread: DedicatedThreadExecutor? = nil, setup: [String]
    ) -> Session {
        Self.session(name, at: servers, on: thread, setup: setup)
    }

    /// Returns the pool of a worker and its part for handlers, which is one session smaller:
    /// handlers that each hold a session and need the engine would deadlock.
    func pools(of worker: Int64) -> (own: Pool, handlers: Pool) {
        // Named after the worker: the rescuer finds the transactions of a dead worker by it.
        let settings = servers.settings(
            Rescuer.poolName(of: worker), setup: Statements.poolSetup)
        let own = Pool(
            settings, limit: options.handlerConnections + 1, idleTime: options.idleTime)
        return (own, Pool(sharing: own, limit: options.handlerConnections))
    }

    /// Returns the session of a claimer; that of saturated queues always uses the reserved one.
    func claims(
        _ share: Claimer.Share, on thread: DedicatedThreadExecutor, reserved: Session, log: Log
    ) -> OnDemandSession {
        let own =
            share == .saturated
            ? nil : session("errand-claim", on: thread, setup: Statements.claimSessionSetup)
        return OnDemandSession(
            own, reserved: reserved, settings: Statement(Statements.claimSettings),
            idleTime: options.idleTime, log: log)
    }

    /// Returns the session of the completer.
    func results(reserved: Session, log: Log) -> OnDemandSession {
        OnDemandSession(
            session("errand-finish", setup: Statements.sessionSetup), reserved: reserved,
            settings: Statement(Statements.resultSettings), idleTime: options.idleTime, log: log)
    }

    func window(_ name: String, on thread: DedicatedThreadExecutor? = nil) -> ReadyWindow {
        ReadyWindow(
            connection: Connection(servers.redis, name: name, thread: thread), keys: keys,
            limit: options.windowLimit, log: log)
    }

    /// Returns a function that stages a job that waits again: in its window if the job is due, or
    /// else through a request to the feeder.
    static func offer(by client: JobClient) -> @Sendable (Staged, Lane) -> Void {
        { [offers = client.offers] job, lane in
            guard job.runAt <= .now() else {
                offers?.ask(for: lane.name + Lane.later)
                return
            }
            offers?.offer([job], to: lane)
            // With a backlog the window accepts no new jobs, but this one was due before: the
            // feeder stages it first.
            offers?.ask(for: lane.since(job.runAt))
        }
    }
}
