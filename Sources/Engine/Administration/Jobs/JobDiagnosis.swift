package import Errand
import FoundationEssentials
package import ErrandPostgres

/// The data that explains why a job does not run, as of one moment.
package struct JobDiagnosis: Sendable {
    /// A pause of the job's queue.
    package struct Pause: Sendable, Equatable {
        package var at: Instant
        package var by: String?
        package var reason: String?
        package var until: Instant?
    }

    /// The worker that holds the job.
    package struct Holder: Sendable, Equatable {
        package var id: Int64
        package var host = ""
        package var pid = 0
        package var lastSeenAt = Instant.negativeInfinity
        package var lease = Duration.zero
        /// Whether the worker is registered.
        package var isKnown = false
    }

    /// The error of the last failed attempt.
    package struct Failure: Sendable, Equatable, Decodable {
        package var attempt: Int
        package var error: String
    }

    /// A live worker, with the fields that the diagnosis needs.
    struct LiveWorker: Sendable, Decodable {
        var id: Int64 = 0
        var stopping = false
        /// Whether it claims no new jobs, on an operator's command.
        var quiet = false
        /// The job's queue at this worker: its concurrency, nil if it does not serve the queue, the
        /// running jobs, and the finished ones per second.
        var slots: Int?
        var busy: Int?
        var rate: Double?
        /// What it serves instead: the first hundred names and patterns.
        var others: [String] = []
        var kinds: [String] = []
    }

    /// A limit that the queue has reached.
    package enum ReachedLimit: Sendable, Equatable {
        /// The number of running jobs, and the maximum.
        case running(Int, most: Int)
        /// The maximum rate of starts, such as 50/m.
        case rate(String)

        init?(_ row: Row) throws {
            let held = Int(try row.optionalInt64("limit_in_use") ?? 0)
            if let most = try row.optionalInt32("limit_running").map(Int.init), held >= most {
                self = .running(held, most: most)
            } else if try row.optionalBool("is_rate_used") == true {
                self = .rate(try row.optionalText("limit_rate") ?? "")
            } else {
                return nil
            }
        }
    }

    /// The state of the job in Redis.
    package enum Window: Sendable, Equatable {
        /// Redis was not queried.
        case unasked
        /// The job is staged.
        case staged
        /// The job is not staged; others may be.
        case absent
        /// Redis has lost all staged jobs.
        case emptied
        /// Redis is unreachable, with this error.
        case unreachable(String)
    }

    /// The maximum number of jobs ahead to count.
    package static let countLimit: Int64 = 20_000

    package var id: Int64
    package var lane: Lane
    package var state: JobState
    package var now: Instant
    package var priority = 2
    package var attempt = 0
    package var maxAttempts = 20
    package var runAt: Instant
    package var notAfter: Instant?
    package var startedAt: Instant?
    package var finishedAt: Instant?
    package var duration: Duration?
    package var reason: String?
    package var isCancelRequested = false
    package var timeout: Duration?
    package var failure: Failure?
    package var pause: Pause?
    package var holder: Holder?
    /// The due jobs of its queue that are ahead of it, of kinds that live workers know.
    package var ahead = 0
    package var window = Window.unasked
    /// The id of this database in Redis.
    package var instance = ""
    var workers: [LiveWorker] = []
    /// Whether any worker of any queue is alive.
    package var isAnyWorkerAlive: Bool { !workers.isEmpty }
    /// The limit that the queue has reached; nil if none.
    var limit: ReachedLimit?

    init(id: Int64, lane: Lane, state: JobState, runAt: Instant, now: Instant) {
        self.id = id
        self.lane = lane
        self.state = state
        self.runAt = runAt
        self.now = now
    }

    init(_ row: Row) throws {
        self.init(
            id: try row.int64("id"),
            lane: Lane(
                queue: try row.text("queue"), kind: try row.text("kind"),
                version: Int(try row.int16("args_version"))),
            state: JobState(rawValue: try row.text("state")) ?? .available,
            runAt: try row.timestamp("run_at"), now: try row.timestamp("now"))
        priority = Int(try row.int16("priority"))
        attempt = Int(try row.int16("attempt"))
        maxAttempts = Int(try row.int16("max_attempts"))
        notAfter = try row.optionalTimestamp("not_after")
        startedAt = try row.optionalTimestamp("started_at")
        finishedAt = try row.optionalTimestamp("finished_at")
        duration = try row.optionalDouble("duration_ms").map { .bounded(milliseconds: $0) }
        let redaction = Redaction(
            args: try row.json("args"),
            sensitive: Set(try row.looseTextArray("sensitive")))
        reason = try row.optionalText("reason").map(redaction.text)
        isCancelRequested = try row.bool("cancel_requested")
        timeout = try row.optionalInt64("timeout_ms").map { .milliseconds($0) }
        ahead = Int(try row.int64("ahead"))
        instance = try row.text("instance")
        limit = try ReachedLimit(row)
        let decoder = JSONDecoder()
        // A malformed entry, written by hand, must not break the rest.
        failure = try row.optionalJSON("error").flatMap { json in
            try? decoder.decode(Failure.self, from: Data(redaction.json(json)))
        }
        workers = try decoder.decode([LiveWorker].self, from: Data(try row.json("workers")))
        if let at = try row.optionalTimestamp("paused_at") {
            pause = Pause(
                at: at, by: try row.optionalText("paused_by"),
                reason: try row.optionalText("pause_reason"),
                until: try row.optionalTimestamp("paused_until"))
        }
        if let worker = try row.optionalInt64("worker") { holder = try Self.holder(worker, row) }
    }

    private static func holder(_ id: Int64, _ row: Row) throws -> Holder {
        guard let seen = try row.optionalTimestamp("holder_seen_at") else { return Holder(id: id) }
        return Holder(
            id: id, host: try row.text("holder_host"), pid: Int(try row.int32("holder_pid")),
            lastSeenAt: seen, lease: try row.seconds("holder_lease"), isKnown: true)
    }
}

extension Inspector {
    /// The data that explains why a job does not run; nil if the job does not exist.
    package func diagnosis(of id: Int64) async throws -> JobDiagnosis? {
        try await session.query(
            Statements.situation, [.int64(id), .int64(JobDiagnosis.countLimit)]
        ).first.map(JobDiagnosis.init)
    }
}
