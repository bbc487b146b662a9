public import FoundationEssentials
import ErrandPostgres
public import ErrandRecurrence

/// A job to be made by the clock, declared in the program that runs it.
///
/// ```swift
/// kinds.schedule(
///     Schedule("coupons.remind", "30 9 * * MON-FRI", in: "America/Toronto", run: Remind()))
/// ```
///
/// Each occurrence is one job, made once however many processes run the schedule; its context says
/// when it was due (``JobContext/occurrence``). An operator can change, pause or trigger it with
/// `errand schedule`; what an operator changed stays when the program declares it again.
public struct Schedule: Sendable {
    /// The stable name: up to 100 of `a-z 0-9 . _ -`.
    public var name: String
    /// A cron expression of five fields, or six with seconds first, a macro such as `@daily`, or
    /// `@every 90s`.
    public var recurrence: String
    /// The IANA name of the zone whose clock counts.
    public var zone: String
    /// What becomes of times that the clock leaves out; nil as Vixie cron does.
    public var gap: GapRule?
    /// What becomes of times that come twice; nil as Vixie cron does.
    public var repeats: RepeatRule?
    /// Nothing before this.
    public var starts: Date?
    /// Nothing from this on.
    public var ends: Date?
    /// Each occurrence is late by a share of this, always the same for the same occurrence.
    public var jitter: Duration
    /// What becomes of times at which no scheduler ran.
    public var catchUp: CatchUp
    /// What becomes of an occurrence while the job of the last one has not ended.
    public var overlap: Overlap
    /// Pauses itself when so many jobs in a row have died; nil never.
    public var pauseAfter: Int?
    /// Ends after so many jobs; nil never.
    public var runLimit: Int?
    /// Another queue than the kind's.
    public var queue: String?
    /// Another priority than the kind's.
    public var priority: Priority?
    /// Another number of attempts than the kind's.
    public var maxAttempts: Int?

    let kind: String
    let argsVersion: Int
    let args: [UInt8]

    /// A schedule that makes jobs with these arguments.
    ///
    /// - Throws: ``JobError`` when the arguments cannot be encoded, or when the schedule could
    ///   never be: a recurrence that cannot be read, limits out of their range, an end before the
    ///   start. The text names what was found and what is expected.
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
    /// What is wrong with it, wherever it runs; nil when nothing is.
    var fault: String? {
        if !JobKinds.isName(name, limit: 100) {
            return "its name: expected up to 100 of a-z, 0-9, dot, dash, underscore"
        }
        do throws(RecurrenceError) { _ = try Recurrence(recurrence) } catch {
            return "\(recurrence): \(error)"
        }
        if let queue, !JobKinds.isName(queue, limit: 63) {
            return "queue \(queue): expected up to 63 of a-z, 0-9, dot, dash, underscore"
        }
        if jitter < .zero { return "a jitter of \(jitter): expected none or more" }
        if catchUp.window < .zero { return "a catch-up window of \(catchUp.window)" }
        if catchUp.policy != "none", !(1...1_000).contains(catchUp.limit) {
            return "a catch-up limit of \(catchUp.limit): expected 1 to 1000"
        }
        if let pauseAfter, pauseAfter < 1 { return "pauseAfter \(pauseAfter): expected 1 or more" }
        if let runLimit, runLimit < 1 { return "runLimit \(runLimit): expected 1 or more" }
        if let maxAttempts, !(1...32_767).contains(maxAttempts) {
            return "maxAttempts \(maxAttempts): expected 1 to 32767"
        }
        if let starts, let ends, ends <= starts { return "it ends before it starts" }
        return nil
    }
}

/// What becomes of times that passed while no scheduler ran.
///
/// An occurrence that is less than a minute late is on time. What lies further back than the
/// window, or is more than the limit (1 to 1000), is missed, and the history says so: an outage
/// never ends in a flood.
public enum CatchUp: Sendable, Hashable {
    /// They are missed.
    case none
    /// The last of them gets a job.
    case latest(within: Duration = .seconds(7 * 86_400))
    /// Each gets a job, the newest `limit` of them.
    case all(within: Duration = .seconds(7 * 86_400), limit: Int = 100)
    /// All of them get one job, whose context lists them.
    case merge(within: Duration = .seconds(7 * 86_400), limit: Int = 100)
}

/// What becomes of an occurrence while the job of an earlier one has not ended.
///
/// A job that waits, runs or is to be tried again has not ended.
public enum Overlap: String, Sendable, Codable, CaseIterable {
    /// It gets its job all the same.
    case allow
    /// It gets none.
    case skip
    /// One waits for the last to end; further ones get none.
    case bufferOne = "buffer-one"
    /// It takes the place of one that has not started; one that runs, or waits for another
    /// attempt, goes on beside it.
    case replace
    /// The earlier job is cancelled, and this one starts when that has ended.
    case cancel
}

/// Which occurrence of a schedule a job is for.
public struct ScheduledOccurrence: Sendable, Hashable, Codable {
    /// The schedule's name.
    public var schedule: String
    /// When it was due; rules about days and quarters should go by this and not by the clock.
    public var due: Date
    /// Earlier ones that are merged into this one, oldest first (``CatchUp/merge(within:limit:)``).
    public var missed: [Date]

    enum CodingKeys: String, CodingKey { case schedule, due, missed }

    init(schedule: String, due: Instant, missed: [Instant]) {
        self.schedule = schedule
        self.due = due.date
        self.missed = missed.map(\.date)
    }

    /// Reads what ``encode(to:)`` wrote.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        schedule = try values.decode(String.self, forKey: .schedule)
        due = try values.decode(Instant.self, forKey: .due).date
        missed = try values.decodeIfPresent([Instant].self, forKey: .missed)?.map(\.date) ?? []
    }

    /// Writes times as RFC 3339.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(schedule, forKey: .schedule)
        try values.encode(Instant(date: due), forKey: .due)
        if !missed.isEmpty {
            try values.encode(missed.map(Instant.init(date:)), forKey: .missed)
        }
    }
}
