import FoundationEssentials

/// The options of a worker, with production defaults.
///
/// ```swift
/// var options = WorkerOptions(queues: [.init("mail", concurrency: 16), .init("bulk", weight: 1)])
/// options.grace = .seconds(60)
/// ```
public struct WorkerOptions: Sendable {
    /// A queue of the worker.
    public struct Queue: Sendable, Equatable {
        /// The queue's name, or a pattern of names in which `*` stands for any characters.
        ///
        /// A name precedes patterns, and a longer pattern precedes a shorter one. Each queue that
        /// matches a pattern has its concurrency and weight.
        public var name: String
        /// The maximum number of its jobs that this worker runs at once.
        public var concurrency: Int
        /// Its share of claims relative to the other queues that have due jobs.
        public var weight: Int

        /// Creates a queue; by default it runs 32 jobs at once and has weight 1.
        public init(_ name: String, concurrency: Int = 32, weight: Int = 1) {
            self.name = name
            self.concurrency = max(concurrency, 1)
            self.weight = max(weight, 1)
        }
    }

    /// The queues.
    public var queues: [Queue]
    /// The lease: other workers recover the jobs of a worker that sent no heartbeat for this long.
    public var leaseTime: Duration = .seconds(20)
    /// How long running jobs may take after the stop before they are cancelled.
    public var grace: Duration = .seconds(20)
    /// How often the feeder polls for due jobs that no wake-up announced.
    public var pollInterval: Duration = .seconds(1)
    /// The number of notices of a lane in a second above which the feeder polls it: about that of
    /// the polls.
    package var noticeLimit = 200
    /// The maximum number of ids that a lane holds in Redis.
    public var windowLimit = WorkerOptions.standardWindow
    /// Whether the worker ends when no job is due.
    public var drain = false
    /// Whether the worker is a candidate for the role scheduler; never while draining.
    public var runsSchedules = true
    /// The maximum number of PostgreSQL connections that handlers share (`context.database`).
    ///
    /// A handler waits while all of them are in use. The worker uses up to six more: for
    /// heartbeats, claims, results, and the engine's statements on behalf of handlers, and one for
    /// each of the roles feeder and scheduler while it holds them. So a worker with this default
    /// uses at most eight. It opens them on demand and closes those that are idle for half a
    /// minute; an idle worker without a role keeps one. Consider the server's `max_connections`.
    public var handlerConnections = 2
    /// The host name in listings; by default that of the machine.
    public var host = ProcessInfo.processInfo.hostName
    /// The program's version in listings.
    public var version = "0"

    /// How long a connection stays open without use.
    package var idleTime = Duration.seconds(30)

    static let standardWindow = 10_000

    /// Creates options for these queues.
    public init(queues: [Queue] = [Queue("default")]) {
        self.queues = queues
    }

    var heartbeatInterval: Duration { leaseTime / 5 }

    /// The roles for which the worker is a candidate.
    var roles: [Role] { runsSchedules && !drain ? [.feeder, .scheduler] : [.feeder] }
}

/// The totals of a worker's run.
public struct WorkerSummary: Sendable, Equatable {
    /// Completed jobs.
    public var completed = 0
    /// Failed attempts.
    public var failed = 0
    /// Failed attempts whose jobs are retried.
    public var retried = 0
    /// Jobs that became dead letters.
    public var dead = 0
    /// Jobs that were cancelled, discarded or too late to start.
    public var cancelled = 0
    /// Snoozed attempts.
    public var snoozed = 0
    /// Unfinished jobs that were requeued at the stop.
    public var requeued = 0
    /// Results that the fence refused, because another worker had the job.
    public var fencedOff = 0
    /// The duration of the run.
    public var duration: Duration = .zero
}
