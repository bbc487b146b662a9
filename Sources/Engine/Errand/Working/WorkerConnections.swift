import ErrandPostgres
import ErrandRedis
import ErrandThreads

/// Makes the sessions, pools and windows of one worker, each named for what it does, so that
/// `pg_stat_activity` and `CLIENT LIST` tell them apart.
struct WorkerConnections: Sendable {
    let servers: Servers
    let keys: RedisKeys
    let windowLimit: Int

    static func session(
        _ name: String, at servers: Servers, on thread: OwnThread? = nil,
        setup: [String] = Statements.sessionSetup
    ) -> Session {
        Session(servers.settings(name, setup: setup), thread: thread)
    }

    func session(_ name: String, on thread: OwnThread? = nil, setup: [String]) -> Session {
        Self.session(name, at: servers, on: thread, setup: setup)
    }

    func pool(_ name: String, limit: Int) -> Pool {
        Pool(servers.settings(name, setup: Statements.poolSetup), limit: limit)
    }

    func window(_ name: String, on thread: OwnThread? = nil) -> ReadyWindow {
        ReadyWindow(
            connection: Connection(servers.redis, name: name, thread: thread), keys: keys,
            limit: windowLimit)
    }

    /// How jobs that wait again are told of: to the workers when they are due, or else to the
    /// feeder.
    static func offer(by client: JobClient) -> @Sendable (Staged, Lane) -> Void {
        { [offers = client.offers] job, lane in
            guard job.runAt <= .now() else {
                offers?.ask(for: lane.name + Lane.later)
                return
            }
            offers?.offer([job], to: lane)
            // Behind a backlog the window takes no offers; it was due before, and comes first.
            offers?.ask(for: lane.again(since: job.runAt))
        }
    }
}
