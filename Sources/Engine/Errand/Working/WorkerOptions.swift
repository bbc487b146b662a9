import FoundationEssentials

/// How one worker process works.
public struct WorkerOptions: Sendable {
    /// One queue that it works.
    public struct Queue: Sendable, Equatable {
        /// Its name.
        public var name: String
        /// Jobs of it that run at once.
        public var concurrency: Int
        /// Its share when several queues have work, against those of the others.
        public var weight: Int

        /// A queue with 32 jobs at once and the same share as the others.
        public init(_ name: String, concurrency: Int = 32, weight: Int = 1) {
            self.name = name
            self.concurrency = max(concurrency, 1)
            self.weight = max(weight, 1)
        }
    }

    /// The queues.
    public var queues: [Queue]
    /// A worker that stays silent this long has lost its jobs.
    public var leaseTime: Duration = .seconds(20)
    /// After the stop, how long running jobs may take to end.
    public var grace: Duration = .seconds(20)
    /// How often the feeder looks for what no wake-up told it of.
    public var pollInterval: Duration = .seconds(1)
    /// Ids that a lane may hold in Redis.
    public var windowLimit = WorkerOptions.standardWindow
    /// End when nothing is due any more.
    public var drain = false
    /// Run the schedules of the database, if no other process does; never while draining.
    public var runsSchedules = true
    /// Connections to PostgreSQL that all handlers share, for `context.database`.
    ///
    /// A handler waits when all of them are lent. A worker opens them only when they are needed,
    /// and beside them up to ten of its own: mind `max_connections` of the server.
    public var handlerConnections = 16
    /// Who this is, in listings; by default the name of the machine.
    public var host = ProcessInfo.processInfo.hostName
    /// Which program this is, in listings.
    public var version = "0"

    static let standardWindow = 10_000

    /// A worker of the given queues with production defaults.
    public init(queues: [Queue] = [Queue("default")]) {
        self.queues = queues
    }

    var heartbeatInterval: Duration { leaseTime / 5 }
}

/// What a worker did.
public struct WorkerSummary: Sendable, Equatable {
    /// Jobs done.
    public var completed = 0
    /// Attempts that failed, whatever became of their jobs.
    public var failed = 0
    /// Of these, jobs that wait for another attempt.
    public var retried = 0
    /// Jobs that went to the dead letters.
    public var dead = 0
    /// Jobs discarded, too late to start, or cancelled.
    public var cancelled = 0
    /// Jobs put off by their handlers.
    public var snoozed = 0
    /// Jobs given back unfinished at the stop.
    public var handedBack = 0
    /// Endings that came too late: the job was another worker's by then.
    public var fencedOff = 0
    /// From the start to the end.
    public var duration: Duration = .zero
}
