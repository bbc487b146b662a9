import FoundationEssentials
import ErrandPostgres

/// A claimed job with the data of its row and the fence for its result.
///
/// A class, because a job passes through several collections on its way to its handler.
final class ClaimedJob: Sendable {
    let id: Int64
    /// The claim's token: random for each batch, so that no later claim has the token of one that
    /// PostgreSQL lost in a crash.
    let token: Int64
    let lane: Lane
    let attempt: Int
    let maxAttempts: Int
    let priority: Int16
    let runAt: Instant
    let notAfter: Instant?
    /// The local time of `notAfter`, by the database's clock at the claim.
    let latestStart: ContinuousClock.Instant?
    let isCancelRequested: Bool
    /// The arguments; nil until the job starts if they are large.
    let args: [UInt8]?
    let overrides: JobOverrides?

    init(
        id: Int64, token: Int64, lane: Lane, attempt: Int, maxAttempts: Int, priority: Int16,
        runAt: Instant, notAfter: Instant? = nil, latestStart: ContinuousClock.Instant? = nil,
        isCancelRequested: Bool, args: [UInt8]?, overrides: JobOverrides? = nil
    ) {
        (self.id, self.token, self.lane) = (id, token, lane)
        (self.attempt, self.maxAttempts) = (attempt, maxAttempts)
        (self.priority, self.runAt) = (priority, runAt)
        (self.notAfter, self.latestStart) = (notAfter, latestStart)
        self.isCancelRequested = isCancelRequested
        (self.args, self.overrides) = (args, overrides)
    }

    /// Returns the job with its arguments.
    func with(args: [UInt8]) -> ClaimedJob {
        ClaimedJob(
            id: id, token: token, lane: lane, attempt: attempt, maxAttempts: maxAttempts,
            priority: priority, runAt: runAt, notAfter: notAfter, latestStart: latestStart,
            isCancelRequested: isCancelRequested, args: args, overrides: overrides)
    }

    static func read(_ rows: Rows, token: Int64) throws -> [ClaimedJob] {
        var jobs: [ClaimedJob] = []
        jobs.reserveCapacity(rows.count)
        let now = ContinuousClock.now
        for row in 0..<rows.count {
            let notAfter = rows.isNull(row, 8) ? nil : try rows.timestamp(row, 8)
            jobs.append(
                ClaimedJob(
                    id: try rows.int64(row, 0), token: token,
                    lane: Lane(
                        queue: try rows.text(row, 1), kind: try rows.text(row, 2),
                        version: Int(try rows.int16(row, 3))),
                    attempt: Int(try rows.int16(row, 4)),
                    maxAttempts: Int(try rows.int16(row, 5)),
                    priority: try rows.int16(row, 6), runAt: try rows.timestamp(row, 7),
                    notAfter: notAfter,
                    latestStart: try notAfter.map {
                        now + $0.boundedDuration(since: try rows.timestamp(row, 12))
                    },
                    isCancelRequested: try rows.bool(row, 9),
                    args: rows.isNull(row, 10) ? nil : try rows.json(row, 10),
                    // An invalid row, written by hand, must not fail the claim of other jobs.
                    overrides: rows.isNull(row, 11)
                        ? nil : try? JobOverrides(json: rows.json(row, 11))))
        }
        return jobs
    }
}

extension Instant {
    /// The time since another instant, limited to a hundred years.
    fileprivate func boundedDuration(since other: Instant) -> Duration {
        let limit = Duration.seconds(36_525 * 86_400)
        return min(max(durationSince(other), .zero - limit), limit)
    }
}

/// The `options` column: a job's deviations from the options of its kind, and its origin.
package struct JobOverrides: Codable, Sendable, Equatable {
    package var timeoutMs: Int64?
    package var retentionS: Int64?
    package var backoff: Backoff?
    /// The occurrence of the schedule that created the job.
    var occurrence: ScheduledOccurrence?
    /// The origin; claims do not read it.
    var origin: JobOrigin?

    enum CodingKeys: String, CodingKey {
        case timeoutMs = "timeout_ms"
        case retentionS = "retention_s"
        case backoff, occurrence, origin
    }

    init(
        timeoutMs: Int64? = nil, retentionS: Int64? = nil, backoff: Backoff? = nil,
        occurrence: ScheduledOccurrence? = nil, origin: JobOrigin? = nil
    ) {
        self.timeoutMs = timeoutMs
        self.retentionS = retentionS
        self.backoff = backoff
        self.occurrence = occurrence
        self.origin = origin
    }

    init(json: [UInt8]) throws {
        self = try JSONDecoder().decode(JobOverrides.self, from: Data(json))
    }

    var isEmpty: Bool { self == JobOverrides() }
}

/// The origin of a job without a schedule: the parent job or the operator.
///
/// Jobs that a program enqueues outside of handlers, in SQL or Swift, have none: storing one would
/// make `errand.enqueue()` 5 % slower.
package struct JobOrigin: Codable, Sendable, Hashable {
    /// The job whose handler enqueued it.
    package var parent: Int64?
    /// The operator who enqueued it on the command line.
    package var operatorName: String?

    enum CodingKeys: String, CodingKey {
        case parent
        case operatorName = "operator"
    }

    /// Creates the origin of a job that a handler or an operator enqueued.
    package init(parent: Int64? = nil, operatorName: String? = nil) {
        self.parent = parent
        self.operatorName = operatorName
    }

    package var json: [UInt8] {
        get throws { try AuditLine.json(self) }
    }

    /// The `options` column of a job with this origin and no other options.
    package var overrides: [UInt8] {
        get throws { Array(try JSONEncoder().encode(JobOverrides(origin: self))) }
    }
}

/// The result of an attempt, as the completer writes it.
struct AttemptResult: Sendable {
    enum Verdict: Sendable {
        case completed
        case cancelled(reason: String)
        case dead(reason: String, error: String?)
        /// Waiting again: with an error after a failure, without one after a snooze.
        case waiting(delay: Duration, error: String?)
        /// Requeued with its due time, because it never started or the worker stops.
        case requeued
    }

    var id: Int64
    var token: Int64
    var lane: Lane
    var verdict: Verdict
    /// The duration in milliseconds.
    var duration: Float
    /// The days for which the finished job is kept; nil keeps nothing.
    var keepDays: Int16?
    /// Whether the handler may have completed the job itself, so that a refusal by the fence is not
    /// an error.
    var mayBeWritten = false
}
