package import ErrandPostgres
package import ErrandRecurrence

/// A schedule as stored in its row.
package struct StoredSchedule: Sendable {
    package var id: Int64
    package var name: String
    package var recurrence: String
    package var zone: String
    package var gap: GapRule?
    package var repeats: RepeatRule?
    package var startsAt: Instant?
    package var endsAt: Instant?
    package var jitter: Duration
    package var kind: String
    package var args: [UInt8]
    package var argsVersion: Int16
    /// The queue of the job: the schedule's, or that of the kind, or the default.
    package var queue: String
    package var priority: Int16
    package var maxAttempts: Int16
    package var catchUp: CatchUp
    package var overlap: Overlap
    package var pauseAfter: Int?
    package var runLimit: Int64?

    package var nextDue: Instant?
    package var nextAt: Instant?
    package var lastDue: Instant?
    package var runs: Int64
    package var failures: Int
    package var replan: Replan?
    /// The time of the request to replan.
    package var replanAt: Instant
    package var pausedAt: Instant?
    package var pausedBy: String?
    package var pauseNote: String?
    /// Whether a program declares it; otherwise an operator added it.
    package var isDeclared: Bool
    package var createdAt = Instant.negativeInfinity
    package var changedAt: Instant?
    package var changedBy: String?
    package var plannedWith: String?

    /// Why the next time must be computed again.
    package enum Replan: String, Sendable {
        case new, edited, resumed, tzdata, clock
    }

    /// Whether the schedule has no further occurrence.
    package var hasEnded: Bool { nextAt == nil }

    /// Returns whether the schedule is overdue by a minute or more.
    package func isOverdue(at now: Instant) -> Bool {
        guard pausedAt == nil, let nextAt else { return false }
        guard nextAt == .negativeInfinity else {
            return now.durationSince(nextAt) > Decision.tolerance
        }
        // A new or changed schedule waits for the computation of its times.
        guard replan == .new || replan == .edited else { return false }
        return now.durationSince(changedAt ?? createdAt) > Decision.tolerance
    }

    /// The lane of its jobs.
    var lane: Lane { Lane(queue: queue, kind: kind, version: Int(argsVersion)) }
}

extension StoredSchedule {
    init(_ row: Row) throws {
        id = try row.int64("id")
        name = try row.text("name")
        recurrence = try row.text("recurrence")
        zone = try row.text("zone")
        gap = try row.optionalText("gap").flatMap(GapRule.init(rawValue:))
        repeats = try row.optionalText("repeats").flatMap(RepeatRule.init(rawValue:))
        startsAt = try row.optionalTimestamp("starts_at")
        endsAt = try row.optionalTimestamp("ends_at")
        jitter = .milliseconds(try row.int64("jitter_ms"))
        kind = try row.text("kind")
        args = try row.json("args")
        argsVersion = try row.int16("args_version")
        queue = try row.text("job_queue")
        priority = try row.int16("job_priority")
        maxAttempts = try row.int16("job_max_attempts")
        catchUp = CatchUp(
            policy: try row.text("catch_up"), window: .seconds(try row.int64("catch_up_window_s")),
            limit: Int(try row.int32("catch_up_limit")))
        overlap = Overlap(rawValue: try row.text("overlap")) ?? .allow
        pauseAfter = try row.optionalInt32("pause_after").map(Int.init)
        runLimit = try row.optionalInt64("run_limit")
        nextDue = try row.optionalTimestamp("next_due")
        nextAt = try row.optionalTimestamp("next_at")
        lastDue = try row.optionalTimestamp("last_due")
        runs = try row.int64("runs")
        failures = Int(try row.int32("failures"))
        replanAt = try row.timestamp("replan_at")
        replan = try row.optionalText("replan").flatMap(Replan.init(rawValue:))
        pausedAt = try row.optionalTimestamp("paused_at")
        pausedBy = try row.optionalText("paused_by")
        pauseNote = try row.optionalText("pause_reason")
        isDeclared = try row.bool("is_declared")
        createdAt = try row.timestamp("created_at")
        changedAt = try row.optionalTimestamp("changed_at")
        changedBy = try row.optionalText("changed_by")
        plannedWith = try row.optionalText("planned_with")
    }
}

extension CatchUp {
    /// Creates the rule from the values of the columns.
    package init(policy: String, window: Duration, limit: Int) {
        switch policy {
        case "none": self = .none
        case "all": self = .all(within: window, limit: limit)
        case "merge": self = .merge(within: window, limit: limit)
        default: self = .latest(within: window)
        }
    }

    /// The name of the rule, as stored in the column.
    package var policy: String {
        switch self {
        case .none: "none"
        case .latest: "latest"
        case .all: "all"
        case .merge: "merge"
        }
    }

    /// The maximum age of the occurrences that it runs.
    package var window: Duration {
        switch self {
        case .none: .zero
        case .latest(let window), .all(let window, _), .merge(let window, _): window
        }
    }

    /// The maximum number of occurrences that it runs.
    package var limit: Int {
        switch self {
        case .none: 0
        case .latest: 1
        case .all(_, let limit), .merge(_, let limit): limit
        }
    }
}

/// The settings of a schedule, by column, in the form that `errand.put_schedule` takes.
///
/// A declaration contains every setting, so that one that the program no longer sets returns to its
/// default.
package struct ScheduleSettings: Sendable, Encodable {
    package var recurrence: String
    package var zone: String
    package var gap: GapRule?
    package var repeats: RepeatRule?
    package var startsAt: Instant?
    package var endsAt: Instant?
    package var jitter: Duration
    package var kind: String
    package var argsVersion: Int
    package var queue: String?
    package var priority: Priority?
    package var maxAttempts: Int?
    package var catchUp: CatchUp
    package var overlap: Overlap
    package var pauseAfter: Int?
    package var runLimit: Int?

    init(_ schedule: Schedule) {
        recurrence = schedule.recurrence
        zone = schedule.zone
        gap = schedule.gap
        repeats = schedule.repeats
        startsAt = schedule.starts.map(Instant.init(date:))
        endsAt = schedule.ends.map(Instant.init(date:))
        jitter = schedule.jitter
        kind = schedule.kind
        argsVersion = schedule.argsVersion
        queue = schedule.queue
        priority = schedule.priority
        maxAttempts = schedule.maxAttempts
        catchUp = schedule.catchUp
        overlap = schedule.overlap
        pauseAfter = schedule.pauseAfter
        runLimit = schedule.runLimit
    }

    enum CodingKeys: String, CodingKey {
        case recurrence, zone, gap, repeats, kind, queue, priority, overlap
        case startsAt = "starts_at"
        case endsAt = "ends_at"
        case jitter = "jitter_ms"
        case argsVersion = "args_version"
        case maxAttempts = "max_attempts"
        case catchUp = "catch_up"
        case catchUpWindow = "catch_up_window_s"
        case catchUpLimit = "catch_up_limit"
        case pauseAfter = "pause_after"
        case runLimit = "run_limit"
    }

    package func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(recurrence, forKey: .recurrence)
        try values.encode(zone, forKey: .zone)
        try values.encode(gap?.rawValue, forKey: .gap)
        try values.encode(repeats?.rawValue, forKey: .repeats)
        try values.encode(startsAt, forKey: .startsAt)
        try values.encode(endsAt, forKey: .endsAt)
        try values.encode(jitter.milliseconds, forKey: .jitter)
        try values.encode(kind, forKey: .kind)
        try values.encode(argsVersion, forKey: .argsVersion)
        try values.encode(queue, forKey: .queue)
        try values.encode(priority, forKey: .priority)
        try values.encode(maxAttempts, forKey: .maxAttempts)
        try values.encode(catchUp.policy, forKey: .catchUp)
        try values.encode(catchUp.window.components.seconds, forKey: .catchUpWindow)
        // The column's default where the limit does not apply.
        switch catchUp {
        case .none, .latest: try values.encode(100, forKey: .catchUpLimit)
        case .all(_, let limit), .merge(_, let limit):
            try values.encode(limit, forKey: .catchUpLimit)
        }
        try values.encode(overlap, forKey: .overlap)
        try values.encode(pauseAfter, forKey: .pauseAfter)
        try values.encode(runLimit, forKey: .runLimit)
    }
}
