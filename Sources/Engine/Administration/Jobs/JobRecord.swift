package import Errand
import FoundationEssentials
package import ErrandPostgres

/// One job, live or finished.
///
/// Values that its kind declares as sensitive are redacted (``Redaction``).
package struct JobRecord: Sendable {
    package var id: Int64
    package var kind: String
    package var queue: String
    package var state: JobState
    package var priority: Int
    package var attempt: Int
    package var maxAttempts: Int
    package var argsVersion: Int
    package var runAt: Instant
    package var createdAt: Instant
    package var startedAt: Instant?
    package var finishedAt: Instant?
    package var worker: Int64?
    package var notAfter: Instant?
    package var uniqueKey: String?
    /// The duration of its last attempt.
    package var duration: Duration?
    /// Why it was cancelled or died.
    package var reason: String?
    /// JSON.
    package var args: [UInt8]
    /// JSON: an array of `{attempt, at, worker, error}`.
    package var errors: [UInt8]
    /// The error of its last failed attempt.
    package var lastError: String?
    /// The fingerprint of a dead letter's last error, which similar errors share.
    package var fingerprint: String?
    package var tags: [String]
    /// The occurrence of a schedule that it was enqueued for.
    package var occurrence: ScheduledOccurrence?
    /// The job or operator that enqueued it; nil if unknown.
    package var origin: JobOrigin?
    /// Redacts further texts about the job.
    let redaction: Redaction

    /// Creates a record from a row.
    ///
    /// - Parameter reveals: whether to show sensitive values.
    init(_ row: Row, reveals: Bool = false) throws {
        redaction = Redaction(
            args: try row.json("args"),
            sensitive: reveals ? [] : Set(try row.looseTextArray("sensitive")))
        id = try row.int64("id")
        kind = try row.text("kind")
        queue = try row.text("queue")
        state = JobState(rawValue: try row.text("state")) ?? .available
        priority = Int(try row.int16("priority"))
        attempt = Int(try row.int16("attempt"))
        maxAttempts = Int(try row.int16("max_attempts"))
        argsVersion = Int(try row.int16("args_version"))
        runAt = try row.timestamp("run_at")
        createdAt = try row.timestamp("created_at")
        startedAt = try row.optionalTimestamp("started_at")
        finishedAt = try row.optionalTimestamp("finished_at")
        worker = try row.optionalInt64("worker")
        notAfter = try row.optionalTimestamp("not_after")
        uniqueKey = try row.optionalText("unique_key").map(redaction.text)
        duration = try row.optionalDouble("duration_ms").map { .bounded(milliseconds: $0) }
        reason = try row.optionalText("reason").map(redaction.text)
        args = redaction.args
        errors = redaction.json(try row.json("errors"))
        lastError = try row.optionalText("last_error").map(redaction.text)
        fingerprint = try row.optionalText("fingerprint")
        tags = try row.looseTextArray("tags").map(redaction.text)
        // A malformed value, written by hand, must not break a listing.
        occurrence = try row.optionalJSON("occurrence").flatMap { json in
            try? JSONDecoder().decode(ScheduledOccurrence.self, from: Data(json))
        }
        origin = try row.optionalJSON("origin").flatMap { json in
            try? JSONDecoder().decode(JobOrigin.self, from: Data(json))
        }
    }
}

extension Duration {
    /// A number of milliseconds, which may be any; limited to 30,000 years, zero if it is NaN.
    static func bounded(milliseconds: Double) -> Duration {
        .microseconds(Int64((milliseconds * 1_000).bounded(to: -1e18...1e18)))
    }
}

/// One registered worker process.
package struct WorkerRecord: Sendable {
    package var id: Int64
    package var host: String
    package var pid: Int
    package var version: String
    package var startedAt: Instant
    package var lastSeenAt: Instant
    package var isStopping: Bool
    package var isAlive: Bool
    /// JSON: the names and patterns of queues that it serves, with their concurrency and weight.
    package var queues: [UInt8]
    /// JSON: the counts of the queues with jobs at the last heartbeat.
    package var load: [UInt8]
    package var kinds: [String]
    package var lease: Duration
    /// Whether it has confirmed that it claims no new jobs.
    package var isQuiet: Bool
    /// The pending or current command of an operator.
    package var order: WorkerCommand?
    /// Its longest-running jobs at the last heartbeat.
    package var running: [Int64]
    /// How far its machine's clock was ahead of the database's at the last heartbeat.
    package var clockAhead: Duration?

    init(_ row: Row) throws {
        id = try row.int64("id")
        host = try row.text("host")
        pid = Int(try row.int32("pid"))
        version = try row.text("version")
        startedAt = try row.timestamp("started_at")
        lastSeenAt = try row.timestamp("last_seen_at")
        isStopping = try row.bool("stopping")
        isAlive = try row.bool("is_alive")
        queues = try row.json("queues")
        load = try row.json("load")
        kinds = try row.textArray("kinds")
        lease = try row.seconds("lease")
        isQuiet = try row.bool("quiet")
        order = try WorkerCommand(row)
        running = try row.int64Array("running")
        clockAhead = try row.optionalSeconds("clock_ahead_seconds")
    }
}
