import FoundationEssentials
import ErrandPostgres

/// One claimed job as its row said it, with the fence under which its end is written.
struct ClaimedJob: Sendable {
    var id: Int64
    /// The claim's token: random for each batch, so that a claim which PostgreSQL lost in a crash
    /// can never be handed out again under the same number.
    var token: Int64
    var lane: Lane
    var attempt: Int
    var maxAttempts: Int
    var priority: Int16
    var runAt: Instant
    var notAfter: Instant?
    var isCancelRequested: Bool
    var args: [UInt8]
    var overrides: JobOverrides?

    static func read(_ rows: Rows, token: Int64) throws -> [ClaimedJob] {
        var jobs: [ClaimedJob] = []
        jobs.reserveCapacity(rows.count)
        for row in 0..<rows.count {
            jobs.append(
                ClaimedJob(
                    id: try rows.int64(row, 0), token: token,
                    lane: Lane(
                        queue: try rows.text(row, 1), kind: try rows.text(row, 2),
                        version: Int(try rows.int16(row, 3))),
                    attempt: Int(try rows.int16(row, 4)),
                    maxAttempts: Int(try rows.int16(row, 5)),
                    priority: try rows.int16(row, 6), runAt: try rows.timestamp(row, 7),
                    notAfter: rows.isNull(row, 8) ? nil : try rows.timestamp(row, 8),
                    isCancelRequested: try rows.bool(row, 9), args: try rows.json(row, 10),
                    // One row that somebody wrote by hand must not spoil the claim of others.
                    overrides: rows.isNull(row, 11)
                        ? nil : try? JobOverrides(json: rows.json(row, 11))))
        }
        return jobs
    }
}

/// What one job asks for that its kind does not, and where it comes from: the `options` column.
package struct JobOverrides: Codable, Sendable, Equatable {
    package var timeoutMs: Int64?
    package var retentionS: Int64?
    package var backoff: Backoff?
    /// Which occurrence of a schedule the job is for.
    var occurrence: ScheduledOccurrence?
    /// Who, or what, made it; a claim does not bring it along.
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

/// Who, or what, made a job that no schedule made.
///
/// Jobs that a program makes outside of handlers, in SQL or Swift, have none: to store one would
/// make `errand.enqueue()` slower by a twentieth.
package struct JobOrigin: Codable, Sendable, Hashable {
    /// The job whose handler enqueued it.
    package var parent: Int64?
    /// Who enqueued it on the command line.
    package var operatorName: String?

    enum CodingKeys: String, CodingKey {
        case parent
        case operatorName = "operator"
    }

    /// Made by the handler of a job, or by an operator.
    package init(parent: Int64? = nil, operatorName: String? = nil) {
        self.parent = parent
        self.operatorName = operatorName
    }

    package var json: [UInt8] {
        get throws { try AuditLine.json(self) }
    }

    /// The `options` column of a job of which nothing else is said.
    package var overrides: [UInt8] {
        get throws { Array(try JSONEncoder().encode(JobOverrides(origin: self))) }
    }
}

/// How a claimed job ended, as the completer writes it.
struct Ending: Sendable {
    enum Verdict: Sendable {
        case completed
        case cancelled(reason: String)
        case dead(reason: String, error: String?)
        /// Back to wait: with an error after a failure, without after a snooze.
        case waiting(delay: Duration, error: String?)
        /// Never started, or stopped by our own shutdown: back in its old place.
        case handedBack
    }

    var id: Int64
    var token: Int64
    var lane: Lane
    var verdict: Verdict
    /// Milliseconds.
    var duration: Float
    /// Days in the history; nil leaves no trace.
    var keepDays: Int16?
    /// The handler may have finished it in a transaction of its own: then nothing is missing when
    /// the fence turns this ending away.
    var mayBeWritten = false
}
