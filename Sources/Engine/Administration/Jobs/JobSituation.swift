package import Errand
import FoundationEssentials
package import ErrandPostgres

/// All that tells why a job does not run, as read at one moment.
package struct JobSituation: Sendable {
    /// Who stopped the job's queue.
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
        /// Whether it is in the table of workers.
        package var isKnown = false
    }

    /// The error of the last attempt that failed.
    package struct Failure: Sendable, Equatable, Decodable {
        package var attempt: Int
        package var error: String
    }

    /// One live worker, as far as it matters here.
    struct LiveWorker: Sendable, Decodable {
        struct Queue: Sendable, Decodable {
            var concurrency: Int?
            var busy: Int?
            var rate: Double?
        }

        var id: Int64 = 0
        var stopping = false
        /// Asked to take no new jobs.
        var quiet = false
        var queues: [String: Queue] = [:]
        var kinds: [String] = []
    }

    /// A limit of a queue that is used up.
    package enum ReachedLimit: Sendable, Equatable {
        /// So many of at most so many run.
        case running(Int, most: Int)
        /// So many may start in a time, such as 50/m.
        case rate(String)

        init?(_ row: Row) throws {
            let held = Int(try row.optionalInt64("limit_held") ?? 0)
            if let most = try row.optionalInt32("limit_running").map(Int.init), held >= most {
                self = .running(held, most: most)
            } else if try row.optionalBool("is_rate_used") == true {
                self = .rate(try row.optionalText("limit_rate") ?? "")
            } else {
                return nil
            }
        }
    }

    /// What Redis knows of the job.
    package enum Window: Sendable, Equatable {
        /// Nobody asked.
        case unasked
        /// It can be popped.
        case staged
        /// It is not there, though others may be.
        case absent
        /// Redis holds nothing of what was staged before.
        case emptied
        /// It did not answer, and said so.
        case unreachable(String)
    }

    /// What stands before a job is counted up to here.
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
    /// Jobs of its queue that are due and come first, of kinds that somebody can run.
    package var ahead = 0
    package var window = Window.unasked
    /// Names this database in Redis.
    package var instance = ""
    var workers: [LiveWorker] = []
    /// Whether any worker is alive, of whatever queue.
    package var isAnyWorkerAlive: Bool { !workers.isEmpty }
    /// The limit of its queue that lets nothing more start now.
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
        duration = try row.optionalDouble("duration_ms").map { .microseconds(Int64($0 * 1000)) }
        let redaction = Redaction(
            args: try row.json("args"),
            sensitive: Set(try row.optionalTextArray("sensitive") ?? []))
        reason = try row.optionalText("reason").map(redaction.text)
        isCancelRequested = try row.bool("cancel_requested")
        timeout = try row.optionalInt64("timeout_ms").map { .milliseconds($0) }
        ahead = Int(try row.int64("ahead"))
        instance = try row.text("instance")
        limit = try ReachedLimit(row)
        let decoder = JSONDecoder()
        // What somebody wrote by hand must not spoil the rest.
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
            lastSeenAt: seen, lease: .seconds(try row.double("holder_lease")), isKnown: true)
    }
}

extension Inspector {
    /// What tells why a job does not run; nil when there is no such job.
    package func situation(of id: Int64) async throws -> JobSituation? {
        try await session.query(
            Statements.situation, [.int64(id), .int64(JobSituation.countLimit)]
        ).first.map(JobSituation.init)
    }
}
