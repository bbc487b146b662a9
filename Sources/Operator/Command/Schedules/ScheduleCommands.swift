import FoundationEssentials
import Errand
import ErrandPostgres
import ErrandRecurrence
import ErrandTerminal

/// `errand schedule …`.
enum ScheduleCommands {
    static let all =
        [list, show] + ScheduleSettingsCommands.all + [remove, pause, resume, trigger]
        + ScheduleNextCommand.all + ScheduleHistoryCommand.all + ScheduleBackfillCommand.all
        + ScheduleRunCommands.all

    // MARK: ls and show

    private static let kind = Option<String?>.text(
        "kind", placeholder: "KIND", help: "Only schedules of this kind")
    private static let queue = Option<String?>.text(
        "queue", placeholder: "NAME", help: "Only schedules that enqueue to this queue")
    private static let onlyPaused = Option.flag("paused", help: "Only paused schedules")
    private static let onlyOverdue = Option.flag(
        "overdue", help: "Only schedules that are overdue by a minute or more")
    private static let cursor = Option<String?>.text(
        "cursor", placeholder: "NAME",
        help: "Continue after this name, the last one of the previous page")

    private static let list = Command(
        "schedule", "ls", effect: .read,
        summary: "List the schedules by name with their next and last occurrences",
        examples: [
            .init("errand schedule ls --overdue", "overdue schedules"),
            .init("errand schedule ls --kind notification.email", "schedules that send mail"),
        ],
        options: [kind, queue, onlyPaused, onlyOverdue, PageOptions.limit, cursor]
    ) { invocation in
        let zones = invocation.zones
        let schedules = Schedules(session: try invocation.session(), zones: zones)
        let now = try await schedules.now()
        let passing = try await schedules.list().filter { passes($0.schedule, invocation, now) }
        let shown = Array(passing.prefix(invocation[PageOptions.limit]))
        try ScheduleRecords.list(
            shown, zones: zones, now: now, invocation.output,
            empty: "no schedules match; 'errand schedule add' adds one")
        if passing.count > shown.count, let last = shown.last {
            invocation.output.note("more: " + invocation.line(behind: cursor, last.schedule.name))
        }
        return .done
    }

    private static func passes(
        _ schedule: StoredSchedule, _ invocation: Invocation, _ now: Instant
    ) -> Bool {
        if let name = invocation[kind], schedule.kind != name { return false }
        if let name = invocation[queue], schedule.queue != name { return false }
        if invocation[onlyPaused], schedule.pausedAt == nil { return false }
        if invocation[onlyOverdue], !schedule.isOverdue(at: now) { return false }
        // Compares bytes, as the database sorts.
        if let name = invocation[cursor] {
            return name.utf8.lexicographicallyPrecedes(schedule.name.utf8)
        }
        return true
    }

    private static let show = Command(
        "schedule", "show", effect: .read,
        summary: "Show one schedule: its settings, state and next times",
        examples: [.init("errand schedule show shop.report", "its settings and next times")],
        arguments: [ScheduleFormatting.name]
    ) { invocation in
        let zones = invocation.zones
        let schedules = Schedules(session: try invocation.session(), zones: zones)
        let listing = try await schedules.one(invocation[ScheduleFormatting.name])
        try invocation.output.show(
            try ScheduleRecords.card(listing, zones: zones, now: try await schedules.now()))
        return .done
    }

    // MARK: rm

    private static let remove = Command(
        "schedule", "rm", effect: .write, summary: "Delete a schedule and its history",
        discussion: """
            The jobs that it has created stay. A program that declares the schedule adds it again \
            at its next start: use 'errand schedule pause' to stop such a schedule.
            """,
        examples: [.init("errand schedule rm shop.report --yes", "without confirmation")],
        options: [AuditOptions.reason], arguments: [ScheduleFormatting.name]
    ) { invocation in
        let schedules = try invocation.schedules()
        let name = invocation[ScheduleFormatting.name]
        let schedule = try await schedules.one(name).schedule
        let warning =
            "a program declares \(name) and will add it again when it starts; "
            + "to stop it, use 'errand schedule pause \(name)'"
        if schedule.isDeclared { invocation.output.warn(warning) }
        let runs = "\(HumanFormat.count(Int(schedule.runs))) run\(schedule.runs == 1 ? "" : "s")"
        try invocation.output.confirm(
            "delete the schedule \(name) and its history of \(runs)?",
            yes: invocation[GlobalOptions.yes])
        let isRemoved = try await schedules.remove(
            name, by: invocation.operatorName, reason: invocation[AuditOptions.reason])
        guard isRemoved else {
            throw try await ScheduleFormatting.unknown(name, schedules)
        }
        try invocation.output.show(
            Record([("name", .text(name)), ("result", .text("removed"))]))
        return .done
    }

    // MARK: pause and resume

    private static let reason = Option<String?>.text(
        "reason", help: "The reason, shown while the schedule is paused")
    private static let note = Option<String?>.text("note", help: "The same as --reason")

    private static let pause = Command(
        "schedule", "pause", effect: .write, summary: "Pause a schedule until it is resumed",
        discussion: """
            The jobs that it has created continue. Occurrences during the pause are missed: \
            'errand schedule backfill' creates their jobs.
            """,
        examples: [
            .init("errand schedule pause shop.report --reason 'stocktaking'", "with a reason")
        ],
        options: [reason, note], arguments: [ScheduleFormatting.name]
    ) { invocation in
        guard invocation[reason] == nil || invocation[note] == nil else {
            throw CommandFailure(
                exit: .usage, message: "--reason and --note are the same", hint: "leave one out")
        }
        let schedules = try invocation.schedules()
        let name = invocation[ScheduleFormatting.name]
        let found = try await schedules.pause(
            name, by: invocation.operatorName, note: invocation[reason] ?? invocation[note])
        guard found else { throw try await ScheduleFormatting.unknown(name, schedules) }
        let listing = try await schedules.one(name)
        try ScheduleRecords.list(
            [listing], zones: invocation.zones, now: try await schedules.now(), invocation.output)
        return .done
    }

    private static let resume = Command(
        "schedule", "resume", effect: .write,
        summary: "Resume a paused schedule with its next occurrence",
        discussion: """
            The occurrences during the pause stay missed, and the history shows them. The count of \
            consecutive failures restarts at zero.
            """,
        examples: [.init("errand schedule resume shop.report", "run it from the next time on")],
        options: [AuditOptions.reason], arguments: [ScheduleFormatting.name]
    ) { invocation in
        let (zones, output) = (invocation.zones, invocation.output)
        let schedules = Schedules(session: try invocation.session(), zones: zones)
        let name = invocation[ScheduleFormatting.name]
        let before = try await schedules.one(name).schedule
        let now = try await schedules.now()
        let isResumed = try await schedules.resume(
            name, by: invocation.operatorName, reason: invocation[AuditOptions.reason])
        let listing = try await schedules.one(name)
        try ScheduleRecords.list([listing], zones: zones, now: now, output)
        guard isResumed else {
            output.note("\(name) was not paused")
            return .done
        }
        if let text = passedOver(before, zones, now) { output.note(text) }
        if listing.schedule.hasEnded {
            output.note("no further occurrences: the schedule has ended")
        } else if let next = try? ScheduleRecords.upcoming(
            listing.schedule, count: 1, zones: zones, now: now
        ).first {
            output.note("next: \(next)")
        }
        return .done
    }

    /// The maximum number of missed occurrences to count.
    private static let countLimit = 10_000

    /// A note about the occurrences missed during a pause; nil if there were none, or unknown.
    private static func passedOver(
        _ schedule: StoredSchedule, _ zones: ZoneDatabase, _ now: Instant
    ) -> String? {
        guard let plan = try? Plan(schedule, zones: zones), let first = schedule.nextDue,
            first <= now
        else { return nil }
        var count = 1
        var last = first
        while count < countLimit, let next = plan.next(after: last), next.due <= now {
            count += 1
            last = next.due
        }
        let number = (count == countLimit ? "more than " : "") + HumanFormat.count(count)
        let times =
            count == 1 ? "1 occurrence, of \(first)," : "\(number) occurrences since \(first)"
        return "the pause skipped \(times)"
            + "; 'errand schedule backfill \(schedule.name) --from \(first) --to \(now)' "
            + "creates \(count == 1 ? "its job" : "their jobs")"
    }

    // MARK: trigger

    private static let trigger = Command(
        "schedule", "trigger", effect: .write,
        summary: "Enqueue a job of a schedule now",
        discussion: """
            Works for paused schedules too. It ignores the overlap policy and does not change the \
            next times of the schedule.
            """,
        examples: [.init("errand schedule trigger shop.report", "an additional job")],
        options: [AuditOptions.reason], arguments: [ScheduleFormatting.name]
    ) { invocation in
        let schedules = try invocation.schedules()
        let name = invocation[ScheduleFormatting.name]
        let made = try await schedules.trigger(
            name, by: invocation.operatorName, reason: invocation[AuditOptions.reason])
        guard let job = made else {
            throw try await ScheduleFormatting.unknown(name, schedules)
        }
        try invocation.output.show(
            Record([("schedule", .text(name)), ("job", .id(Int(job)))]))
        invocation.output.note("'errand job show \(job)' shows its state")
        return .done
    }
}
