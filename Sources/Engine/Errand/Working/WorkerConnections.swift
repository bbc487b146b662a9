import ErrandPostgres
import ErrandRedis
import ErrandThreads

/// Creates the sessions, pools and windows of one worker.
///
/// Each is named for its purpose, as shown by `pg_stat_activity` and `CLIENT LIST`.
struct WorkerConnections: Sendable {
    let servers: Servers
    let keys: RedisKeys
    let windowLimit: Int

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

    func pool(_ name: String, limit: Int) -> Pool {
        Pool(servers.settings(name, setup: Statements.poolSetup), limit: limit)
    }

    func window(_ name: String, on thread: DedicatedThreadExecutor? = nil) -> ReadyWindow {
        ReadyWindow(
            connection: Connection(servers.redis, name: name, thread: thread), keys: keys,
            limit: windowLimit)
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
