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
        "kind", placeholder: "KIND", help: "Only those of this kind of job")
    private static let queue = Option<String?>.text(
        "queue", placeholder: "NAME", help: "Only those whose jobs go to this queue")
    private static let onlyPaused = Option.flag("paused", help: "Only those that are paused")
    private static let onlyOverdue = Option.flag(
        "overdue", help: "Only those that no scheduler has dealt with for a minute")
    private static let cursor = Option<String?>.text(
        "cursor", placeholder: "NAME",
        help: "Go on behind this name, with which the last page ended")

    private static let list = Command(
        "schedule", "ls", effect: .looks,
        summary: "List the schedules by name: when, what came last, who changed",
        examples: [
            .init("errand schedule ls --overdue", "what no scheduler takes care of"),
            .init("errand schedule ls --kind notification.email", "which mails go by the clock"),
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
            empty: "no schedule passes these filters; 'errand schedule add' adds one")
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
        // By bytes, as the database sorts them.
        if let name = invocation[cursor] {
            return name.utf8.lexicographicallyPrecedes(schedule.name.utf8)
        }
        return true
    }

    private static let show = Command(
        "schedule", "show", effect: .looks,
        summary: "Show one schedule: its settings, where it stands, its next times",
        examples: [.init("errand schedule show shop.report", "its settings and next times")],
        arguments: [ScheduleWords.name]
    ) { invocation in
        let zones = invocation.zones
        let schedules = Schedules(session: try invocation.session(), zones: zones)
        let listing = try await schedules.one(invocation[ScheduleWords.name])
        try invocation.output.show(
            try ScheduleRecords.card(listing, zones: zones, now: try await schedules.now()))
        return .done
    }

    // MARK: rm

    private static let remove = Command(
        "schedule", "rm", effect: .changes, summary: "Forget a schedule and its history",
        discussion: """
            Jobs that it has made stay. A schedule that a program declares comes back when the \
            program next starts: 'errand schedule pause' is what stops it.
            """,
        examples: [.init("errand schedule rm shop.report --yes", "without asking")],
        options: [AuditOptions.reason], arguments: [ScheduleWords.name]
    ) { invocation in
        let schedules = try invocation.schedules()
        let name = invocation[ScheduleWords.name]
        let schedule = try await schedules.one(name).schedule
        let warning =
            "a program declares \(name) and will add it again when it starts; "
            + "'errand schedule pause \(name)' is what stops it"
        if schedule.isDeclared { invocation.output.warn(warning) }
        let runs = "\(HumanFormat.count(Int(schedule.runs))) run\(schedule.runs == 1 ? "" : "s")"
        try invocation.output.confirm(
            "forget the schedule \(name) and its history of \(runs)?",
            yes: invocation[GlobalOptions.yes])
        let isRemoved = try await schedules.remove(
            name, by: invocation.operatorName, reason: invocation[AuditOptions.reason])
        guard isRemoved else {
            throw try await ScheduleWords.unknown(name, schedules)
        }
        try invocation.output.show(
            Record([("name", .text(name)), ("result", .text("removed"))]))
        return .done
    }

    // MARK: pause and resume

    private static let reason = Option<String?>.text(
        "reason", help: "Why, for those who find it paused")
    private static let note = Option<String?>.text("note", help: "The same as --reason")

    private static let pause = Command(
        "schedule", "pause", effect: .changes, summary: "Stop a schedule until it is resumed",
        discussion: """
            Jobs that it has made go on. What comes meanwhile is not made up for: 'errand schedule \
            backfill' does that, if it is wanted.
            """,
        examples: [
            .init("errand schedule pause shop.report --reason 'stocktaking'", "with a reason")
        ],
        options: [reason, note], arguments: [ScheduleWords.name]
    ) { invocation in
        guard invocation[reason] == nil || invocation[note] == nil else {
            throw CommandFailure(
                exit: .usage, message: "--reason and --note are the same", hint: "leave one out")
        }
        let schedules = try invocation.schedules()
        let name = invocation[ScheduleWords.name]
        let found = try await schedules.pause(
            name, by: invocation.operatorName, note: invocation[reason] ?? invocation[note])
        guard found else { throw try await ScheduleWords.unknown(name, schedules) }
        let listing = try await schedules.one(name)
        try ScheduleRecords.list(
            [listing], zones: invocation.zones, now: try await schedules.now(), invocation.output)
        return .done
    }

    private static let resume = Command(
        "schedule", "resume", effect: .changes,
        summary: "Let a paused schedule go on with what comes next",
        discussion: """
            The times that the pause passed over stay missed, and the history says so. The count \
            of failures in a row begins anew.
            """,
        examples: [.init("errand schedule resume shop.report", "what comes next is run again")],
        options: [AuditOptions.reason], arguments: [ScheduleWords.name]
    ) { invocation in
        let (zones, output) = (invocation.zones, invocation.output)
        let schedules = Schedules(session: try invocation.session(), zones: zones)
        let name = invocation[ScheduleWords.name]
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
            output.note("nothing more is to come: it has ended")
        } else if let next = try? ScheduleRecords.upcoming(
            listing.schedule, count: 1, zones: zones, now: now
        ).first {
            output.note("next: \(next)")
        }
        return .done
    }

    /// Counting ends there.
    private static let countLimit = 10_000

    /// What a pause has passed over, in words; nil if nothing or not known.
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
        return "the pause passed over \(times)"
            + "; 'errand schedule backfill \(schedule.name) --from \(first) --to \(now)' "
            + "would make \(count == 1 ? "its job" : "their jobs")"
    }

    // MARK: trigger

    private static let trigger = Command(
        "schedule", "trigger", effect: .changes,
        summary: "Make a job of a schedule now, out of turn",
        discussion: """
            Whether it is paused or not, and whatever runs: its times and its overlap policy stay \
            out of this.
            """,
        examples: [.init("errand schedule trigger shop.report", "beside what is due")],
        options: [AuditOptions.reason], arguments: [ScheduleWords.name]
    ) { invocation in
        let schedules = try invocation.schedules()
        let name = invocation[ScheduleWords.name]
        let made = try await schedules.trigger(
            name, by: invocation.operatorName, reason: invocation[AuditOptions.reason])
        guard let job = made else {
            throw try await ScheduleWords.unknown(name, schedules)
        }
        try invocation.output.show(
            Record([("schedule", .text(name)), ("job", .id(Int(job)))]))
        invocation.output.note("'errand job show \(job)' tells how it goes")
        return .done
    }
}
