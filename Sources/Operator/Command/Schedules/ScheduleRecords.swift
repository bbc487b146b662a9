import FoundationEssentials
import Errand
import ErrandPostgres
import ErrandRecurrence
import ErrandTerminal

/// Schedules as records.
enum ScheduleRecords {
    /// The state of a schedule.
    enum State: String {
        case active, paused, ended, overdue

        init(_ schedule: StoredSchedule, now: Instant) {
            if schedule.pausedAt != nil {
                self = .paused
            } else if schedule.hasEnded {
                self = .ended
            } else {
                self = schedule.isOverdue(at: now) ? .overdue : .active
            }
        }

        var cell: Cell {
            switch self {
            case .active: .marked(rawValue, .green)
            case .paused: .marked(rawValue, .yellow)
            case .ended: .marked(rawValue, .dim)
            case .overdue: .marked(rawValue, .red)
            }
        }
    }

    static let columns = [
        Column("name"), Column("recurrence", title: "WHEN", isFlexible: true),
        Column("zone", isFlexible: true), Column("next_at", title: "NEXT"),
        Column("last_outcome", title: "LAST"), Column("state"),
        Column("origin", isFlexible: true),
    ]

    /// A row of `schedule ls`.
    static func line(_ listing: Schedules.Listing, zones: ZoneDatabase, now: Instant) -> Record {
        let schedule = listing.schedule
        let next = next(of: schedule, zones: zones, now: now)
        let origin = origin(schedule)
        let changes =
            listing.changed.isEmpty ? "" : ", changed: " + listing.changed.joined(separator: ", ")
        return Record([
            ("name", .text(schedule.name)), ("recurrence", .text(schedule.recurrence)),
            ("zone", .text(schedule.zone)),
            ("next_due", .optional(next?.due) { $0.cell }),
            ("next_at", .optional(next?.at) { .age($0.date, now: now.date) }),
            ("last_due", .optional(listing.last) { $0.due.cell }),
            ("last_outcome", .optional(listing.last) { outcome($0.outcome) }),
            ("state", State(schedule, now: now).cell),
            ("origin", .brief(.text(origin + changes), of: .text(origin))),
            ("changed", .list(listing.changed)),
            ("kind", .text(schedule.kind)), ("queue", .text(schedule.queue)),
            ("paused_by", .optional(schedule.pausedBy) { .text($0) }),
            ("pause_reason", .optional(schedule.pauseNote) { .text($0) }),
        ])
    }

    private static func origin(_ schedule: StoredSchedule) -> String {
        schedule.isDeclared ? "code" : "operator"
    }

    /// Prints lines of schedules.
    static func list(
        _ listings: [Schedules.Listing], zones: ZoneDatabase, now: Instant, _ output: Output,
        empty: String? = nil
    ) throws {
        try output.list(
            listings.map { line($0, zones: zones, now: now) }, columns: columns, empty: empty)
    }

    static func outcome(_ outcome: String) -> Cell {
        switch outcome {
        case "completed", "running": .marked(outcome, .green)
        case "dead": .marked(outcome, .red)
        case "missed", "retrying", "held": .marked(outcome, .yellow)
        default: .marked(outcome, .dim)
        }
    }

    /// The next occurrence: as stored, or as the scheduler will compute it.
    static func next(
        of schedule: StoredSchedule, zones: ZoneDatabase, now: Instant
    ) -> (due: Instant, at: Instant)? {
        guard !schedule.hasEnded else { return nil }
        if schedule.replan == nil, let due = schedule.nextDue, let at = schedule.nextAt {
            return (due, at)
        }
        return (try? Plan(schedule, zones: zones))?.next(after: now).map { ($0.due, $0.at) }
    }

    /// The next occurrences in the schedule's time zone.
    static func upcoming(
        _ schedule: StoredSchedule, count: Int, zones: ZoneDatabase, now: Instant
    ) throws -> [String] {
        guard !schedule.hasEnded else { return [] }
        let plan = try Plan(schedule, zones: zones)
        var times: [String] = []
        var moment = now
        while times.count < count, let next = plan.next(after: moment) {
            times.append(
                LocalTime(next.due.secondRoundedDown, in: plan.timetable.zone).description)
            moment = next.due
        }
        return times
    }

    /// The record of `schedule show`.
    static func card(
        _ listing: Schedules.Listing, zones: ZoneDatabase, now: Instant
    ) throws -> Record {
        let schedule = listing.schedule
        var record = Record([
            ("name", .text(schedule.name)), ("state", State(schedule, now: now).cell),
            ("origin", .text(origin(schedule))),
        ])
        for member in try ScheduleSetting.members(of: listing.settings) {
            record.append(member.name, member.cell)
        }
        if !listing.changed.isEmpty { record.append("changed", .list(listing.changed)) }
        if let declared = listing.declared, !listing.changed.isEmpty {
            let changed = try ScheduleSetting.members(of: declared)
                .filter { listing.changed.contains($0.name) }
            record.append(
                "declared",
                .records(
                    changed.map {
                        Record([("setting", .text($0.name)), ("declared", $0.cell)])
                    }))
        }
        for (name, cell) in [
            ("job_queue", Cell.text(schedule.queue)),
            ("job_priority", priority(schedule.priority)),
            ("job_max_attempts", .int(Int(schedule.maxAttempts))),
            ("runs", .int(Int(schedule.runs))), ("failures_in_a_row", .int(schedule.failures)),
            ("last_due", .optional(listing.last) { $0.due.cell }),
            ("last_outcome", .optional(listing.last) { outcome($0.outcome) }),
            ("created_at", schedule.createdAt.cell),
            ("changed_at", .optional(schedule.changedAt) { $0.cell }),
            ("changed_by", .optional(schedule.changedBy) { .text($0) }),
            ("paused_at", .optional(schedule.pausedAt) { $0.cell }),
            ("paused_by", .optional(schedule.pausedBy) { .text($0) }),
            ("pause_reason", .optional(schedule.pauseNote) { .text($0) }),
            ("tzdata", .optional(schedule.plannedWith) { .text($0) }),
        ] { record.append(name, cell) }
        let due = next(of: schedule, zones: zones, now: now)
        record.append("next_due", .optional(due?.due) { $0.cell })
        record.append("next_at", .optional(due?.at) { .age($0.date, now: now.date) })
        do {
            record.append(
                "next_times", .list(try upcoming(schedule, count: 3, zones: zones, now: now)))
        } catch {
            // It was edited by hand, or this machine lacks its zone: still show the rest.
            record.append("problem", .marked("\(error)", .red))
        }
        return record
    }

    private static func priority(_ value: Int16) -> Cell {
        .text(Priority(rawValue: value).map { "\($0)" } ?? "\(value)")
    }
}
