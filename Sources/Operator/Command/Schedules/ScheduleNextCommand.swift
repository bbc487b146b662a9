import FoundationEssentials
import Errand
import ErrandPostgres
import ErrandRecurrence
import ErrandTerminal

/// `errand schedule next`.
enum ScheduleNextCommand {
    static let all = [command]

    private static let subject = Argument.required(
        ScheduleFormatting.expression("'EXPR'|NAME"),
        help: ScheduleFormatting.expressionHelp + "; or a schedule's name")
    private static let zone = Option<String?>.text(
        "tz", placeholder: "ZONE", help: "The time zone, such as Europe/Berlin (default: UTC)")
    private static let from = Option<Instant?>.value(
        "from", JobInputOptions.time, help: "Show times after this one (default: now)")
    private static let count = Option.integer(
        "count", default: 10, range: 1...10_000, help: "Show at most N times")
    private static let notes = Option.flag(
        "notes", help: "Include the notes on clock changes in JSON")
    private static let before = Option.flag(
        "before", help: "Show earlier times instead, the latest first")

    private static let command = Command(
        "schedule", "next", effect: .read,
        summary: "Show the next times of an expression or a schedule",
        discussion: """
            An expression needs no server. On days with a clock change, a note shows which times \
            were moved, repeated or skipped (in JSON with --notes). --gap and --repeat set the \
            rules. By default, fixed times of day move out of a gap and run once when they repeat; \
            expressions that recur within the hour follow the clock.
            """,
        examples: [
            .init(
                "errand schedule next '30 9 * * MON-FRI' --tz America/Toronto", "from now on"),
            .init(
                "errand schedule next @hourly --tz Europe/Berlin --from 2026-10-24T22:00:00Z",
                "across the end of summer time"),
            .init("errand schedule next shop.report --before", "its last times"),
        ],
        options: [zone, from, count, ScheduleOptions.gap, ScheduleOptions.repeats, notes, before],
        arguments: [subject]
    ) { invocation in
        let walk = try await walk(invocation)
        let now = Instant.now()
        let moment = invocation[from] ?? now
        let backwards = invocation[before]
        let found =
            backwards
            ? walk.before(moment, count: invocation[count])
            : walk.after(moment, count: invocation[count])
        let zone = walk.timetable.zone
        let isTable = invocation.output.isForPeople
        let records = found.map { occurrence in
            let note = note(on: occurrence, in: zone)
            return isTable
                ? line(occurrence, note, zone, now: now)
                : object(occurrence, invocation[notes] ? note : nil, zone)
        }
        let direction = backwards ? "before that time" : "after that time"
        try invocation.output.list(
            records,
            columns: [
                Column("at"), Column("utc", title: "UTC"), Column("in", title: "WHEN"),
                Column("note", isFlexible: true),
            ], empty: "no occurrences \(direction)")
        if found.count < invocation[count], !(found.isEmpty && isTable) {
            invocation.output.note("no more occurrences \(direction)")
        }
        return .done
    }

    private static func object(_ occurrence: Occurrence, _ note: String?, _ zone: Zone) -> Record {
        var record = Record([
            ("at", Instant(unixSeconds: occurrence.at).cell),
            ("local", .text(LocalTime(occurrence.at, in: zone).description)),
        ])
        if let note { record.append("note", .text(note)) }
        return record
    }

    private static func line(
        _ occurrence: Occurrence, _ note: String?, _ zone: Zone, now: Instant
    ) -> Record {
        let date = Instant(unixSeconds: occurrence.at).date
        return Record([
            ("at", .text(LocalTime(occurrence.at, in: zone).description)),
            ("utc", .universalTime(date)),
            ("in", .age(date, now: now.date)),
            ("note", note.map { .marked($0, .yellow) } ?? .text("")),
        ])
    }

    // MARK: Occurrences

    /// The occurrences of a timetable within its start and end.
    private struct Walk {
        var timetable: Timetable
        var starts: Int?
        var ends: Instant?

        func after(_ moment: Instant, count: Int) -> [Occurrence] {
            var found: [Occurrence] = []
            var second = max(moment.secondRoundedDown, (starts ?? .min / 2) - 1)
            while found.count < count, let next = timetable.next(after: second) {
                guard Instant(unixSeconds: next.at) < ends ?? .infinity else { break }
                found.append(next)
                second = next.at
            }
            return found
        }

        func before(_ moment: Instant, count: Int) -> [Occurrence] {
            var found: [Occurrence] = []
            var second = min(moment, ends ?? .infinity).secondRoundedUp
            while found.count < count, let previous = timetable.previous(before: second) {
                guard previous.at >= starts ?? .min else { break }
                found.append(previous)
                second = previous.at
            }
            return found
        }
    }

    private static func walk(_ invocation: Invocation) async throws -> Walk {
        let text = invocation[subject]
        let zones = invocation.zones
        let recurrence: Recurrence
        do throws(RecurrenceError) { recurrence = try Recurrence(text) } catch {
            guard mayBeName(text), invocation[GlobalOptions.databaseURL] != nil else {
                throw ScheduleFormatting.malformed(text, error)
            }
            return try await walk(ofSchedule: text, error, invocation, zones)
        }
        let place = try ScheduleFormatting.zone(invocation[zone] ?? "UTC", in: zones)
        return Walk(
            timetable: Timetable(
                recurrence, in: place, gap: invocation[ScheduleOptions.gap],
                repeats: invocation[ScheduleOptions.repeats]))
    }

    /// Whether a text may be a schedule's name: digits and signs alone are part of an expression.
    private static func mayBeName(_ text: String) -> Bool {
        JobKinds.isName(text, limit: 100) && text.utf8.contains { (97...122).contains($0) }
    }

    private static func walk(
        ofSchedule name: String, _ error: RecurrenceError, _ invocation: Invocation,
        _ zones: ZoneDatabase
    ) async throws -> Walk {
        let schedules = Schedules(session: try invocation.session(), zones: zones)
        guard let schedule = try await schedules.list(named: name).first?.schedule else {
            let known = try await schedules.names()
            guard let guess = nearest(to: name, among: known) else {
                throw CommandFailure(
                    exit: .usage,
                    message: "'\(name)' is neither a schedule nor an expression (\(error))",
                    hint: "write an expression such as '30 9 * * MON-FRI' or @daily; "
                        + "'errand schedule ls' lists the schedules")
            }
            throw CommandFailure(
                exit: .notFound, message: "there is no schedule \(name)",
                hint: "did you mean \(guess)? 'errand schedule ls' lists them")
        }
        for (given, option) in [
            (invocation[zone] != nil, "--tz"), (invocation[ScheduleOptions.gap] != nil, "--gap"),
            (invocation[ScheduleOptions.repeats] != nil, "--repeat"),
        ] where given {
            throw CommandFailure(
                exit: .usage,
                message: "\(option) works only with an expression: \(name) has its own",
                hint: "'errand schedule show \(name)' shows it; to try another value, pass the "
                    + "expression '\(schedule.recurrence)'")
        }
        let plan = try Plan(schedule, zones: zones)
        return Walk(timetable: plan.timetable, starts: plan.starts, ends: plan.ends)
    }

    // MARK: Notes

    /// The note on a clock change that affects an occurrence; nil without one.
    private static func note(on occurrence: Occurrence, in zone: Zone) -> String? {
        var parts: [String] = []
        if let skipped = occurrence.skippedLocal {
            parts.append("\(local(skipped)) does not exist and was skipped: clocks went forward")
        }
        if let change = occurrence.change { parts.append(text(change, occurrence, zone)) }
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }

    private static func text(
        _ change: ClockChange, _ occurrence: Occurrence, _ zone: Zone
    ) -> String {
        switch change {
        case .movedFromGap(let time):
            return "moved from \(local(time)), which does not exist: clocks go forward"
        case .firstOfTwo: return "first of two: clocks go back, and this time repeats"
        case .secondOfTwo: return "second of two: clocks went back, and this time repeats"
        case .onlyOneOfTwo:
            // The clocks are set back either after it or before it.
            let segment = zone.segment(at: occurrence.at)
            let isFirst =
                segment.end < .max
                && occurrence.at + segment.offset - zone.segment(at: segment.end).offset
                    >= segment.end
            return isFirst
                ? "clocks go back, and this time repeats: runs only the first time"
                : "clocks went back, and this time repeats: runs only the last time"
        }
    }

    /// Formats a local time, given as seconds of UTC; without seconds if they are zero.
    private static func local(_ second: Int) -> String {
        let text = LocalTime(second, in: .utc).description
        let shown = second % 60 == 0 ? text.prefix(16) : text.prefix(19)
        return shown.split(separator: "T").joined(separator: " ")
    }
}
