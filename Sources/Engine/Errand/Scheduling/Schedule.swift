public import FoundationEssentials
import ErrandPostgres
public import ErrandRecurrence

/// A recurring job, declared in the program that runs it.
///
/// ```swift
/// kinds.schedule(
///     Schedule("coupons.remind", "30 9 * * MON-FRI", in: "America/Toronto", run: Remind()))
/// ```
///
/// Each occurrence is one job, created once however many processes run schedules.
/// ``JobContext/occurrence`` holds the time for which it was due. Operators change, pause and
/// trigger schedules with `errand schedule`; their changes survive the next start of the program.
public struct Schedule: Sendable {
    /// The stable name: up to 100 characters of `a-z 0-9 . _ -`.
    public var name: String
    /// A cron expression of five fields, or six with seconds first, a macro such as `@daily`, or
    /// `@every 90s`.
    public var recurrence: String
    /// The IANA name of the time zone.
    public var zone: String
    /// The rule for local times that a clock change skips; nil as in Vixie cron.
    public var gap: GapRule?
    /// The rule for local times that a clock change repeats; nil as in Vixie cron.
    public var repeats: RepeatRule?
    /// The first possible occurrence.
    public var starts: Date?
    /// No occurrence at or after this time.
    public var ends: Date?
    /// The maximum delay of an occurrence.
    ///
    /// The delay of one occurrence is always the same.
    public var jitter: Duration
    /// The rule for occurrences that were due while no scheduler ran.
    public var catchUp: CatchUp
    /// The rule for an occurrence while the job of the previous one is unfinished.
    public var overlap: Overlap
    /// The number of consecutive dead jobs after which the schedule pauses; nil for never.
    public var pauseAfter: Int?
    /// The number of jobs after which the schedule ends; nil for never.
    public var runLimit: Int?
    /// The queue; nil for that of the kind.
    public var queue: String?
    /// The priority; nil for that of the kind.
    public var priority: Priority?
    /// The maximum number of attempts; nil for that of the kind.
    public var maxAttempts: Int?

    let kind: String
    let argsVersion: Int
    let args: [UInt8]

    /// Creates a schedule that enqueues jobs with these arguments.
    ///
    /// - Throws: ``JobError`` if the arguments cannot be encoded or the schedule is invalid: an
    ///   unreadable recurrence, a limit out of range, an end before the start.
    public init<Work: Job>(
        _ name: String, _ recurrence: String, in zone: String = "UTC", run job: Work,
        gap: GapRule? = nil, repeats: RepeatRule? = nil, starts: Date? = nil, ends: Date? = nil,
        jitter: Duration = .zero, catchUp: CatchUp = .latest(), overlap: Overlap = .allow,
        pauseAfter: Int? = nil, runLimit: Int? = nil, queue: String? = nil,
        priority: Priority? = nil, maxAttempts: Int? = nil
    ) throws {
        self.name = name
        self.recurrence = recurrence
        self.zone = zone
        self.gap = gap
        self.repeats = repeats
        self.starts = starts
        self.ends = ends
        self.jitter = jitter
        self.catchUp = catchUp
        self.overlap = overlap
        self.pauseAfter = pauseAfter
        self.runLimit = runLimit
        self.queue = queue
        self.priority = priority
        self.maxAttempts = maxAttempts
        kind = Work.kind
        argsVersion = Work.argsVersion
        args = try JobCoding.encode(job)
        if let fault { throw JobError.invalid("schedule \(name): \(fault)") }
    }
}

extension Schedule {
    /// Why the schedule is invalid; nil if it is valid.
    var fault: String? {
        if !JobKinds.isName(name, limit: 100) {
            return "name: expected up to 100 of a-z, 0-9, dot, dash, underscore"
        }
        do throws(RecurrenceError) { _ = try Recurrence(recurrence) } catch {
            return "\(recurrence): \(error)"
        }
        if let queue, !JobKinds.isName(queue, limit: 63) {
            return "queue \(queue): expected up to 63 of a-z, 0-9, dot, dash, underscore"
        }
        if jitter < .zero { return "jitter \(jitter): expected 0 or more" }
        if catchUp.window < .zero {
            return "catch-up window \(catchUp.window): expected 0 or more"
        }
        if catchUp.policy != "none", !(1...1_000).contains(catchUp.limit) {
            return "catch-up limit \(catchUp.limit): expected 1 to 1000"
        }
        if let pauseAfter, pauseAfter < 1 { return "pauseAfter \(pauseAfter): expected 1 or more" }
        if let runLimit, runLimit < 1 { return "runLimit \(runLimit): expected 1 or more" }
        if let maxAttempts, !(1...32_767).contains(maxAttempts) {
            return "maxAttempts \(maxAttempts): expected 1 to 32767"
        }
        if let starts, let ends, ends <= starts { return "the end is not after the start" }
        return nil
    }
}

/// The rule for occurrences that were due while no scheduler ran.
///
/// An occurrence that is less than a minute late counts as on time. Occurrences beyond the window
/// or the limit (1 to 1000) are recorded as missed, so an outage never ends in a flood of jobs.
public enum CatchUp: Sendable, Hashable {
    /// Run none: all are recorded as missed.
    case none
    /// Run the latest occurrence.
    case latest(within: Duration = .seconds(7 * 86_400))
    /// Run each occurrence, up to the newest `limit`.
    case all(within: Duration = .seconds(7 * 86_400), limit: Int = 100)
    /// Run one job for all occurrences; its context lists them.
    case merge(within: Duration = .seconds(7 * 86_400), limit: Int = 100)
}

/// The rule for an occurrence while the job of an earlier one is unfinished.
///
/// A job is unfinished while it waits, runs or retries.
public enum Overlap: String, Sendable, Codable, CaseIterable {
    /// Create the job regardless.
    case allow
    /// Create no job.
    case skip
    /// Hold one occurrence until the earlier job has finished; skip further ones.
    case bufferOne = "buffer-one"
    /// Cancel an earlier job that has not started. A running or retrying one continues beside the
    /// new job.
    case replace
    /// Cancel the earlier job, and start the new one when it has ended.
    case cancel
}

/// The occurrence of a schedule for which a job was created.
public struct ScheduledOccurrence: Sendable, Hashable, Codable {
    /// The schedule's name.
    public var schedule: String
    /// The due time.
    ///
    /// Rules about days and quarters should use it instead of the clock.
    public var due: Date
    /// The earlier occurrences that this one includes, oldest first
    /// (``CatchUp/merge(within:limit:)``).
    public var missed: [Date]

    enum CodingKeys: String, CodingKey { case schedule, due, missed }

    init(schedule: String, due: Instant, missed: [Instant]) {
        self.schedule = schedule
        self.due = due.date
        self.missed = missed.map(\.date)
    }

    /// Decodes the form of ``encode(to:)``.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        schedule = try values.decode(String.self, forKey: .schedule)
        due = try values.decode(Instant.self, forKey: .due).date
        missed = try values.decodeIfPresent([Instant].self, forKey: .missed)?.map(\.date) ?? []
    }

    /// Encodes times as RFC 3339.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(schedule, forKey: .schedule)
        try values.encode(Instant(date: due), forKey: .due)
        if !missed.isEmpty {
            try values.encode(missed.map(Instant.init(date:)), forKey: .missed)
        }
    }
}
