import ErrandJSONText
import Errand
import ErrandPostgres
import ErrandRecurrence
import ErrandTerminal

/// `errand schedule add` and `edit`.
enum ScheduleSettingsCommands {
    static let all = [add, edit]

    private static let expression = Argument.required(
        ScheduleFormatting.expression("'EXPR'"), help: ScheduleFormatting.expressionHelp)
    private static let paused = Option<String?>.text(
        "paused", placeholder: "NOTE", help: "Add the schedule paused, with this note")

    private static let add = Command(
        "schedule", "add", effect: .write,
        summary: "Add a schedule, which enqueues jobs at recurring times",
        discussion: """
            A schedule that a program declares needs no 'add': change it with 'edit'. Times that \
            a clock change skips or repeats are handled as in Vixie cron, unless --gap or --repeat \
            is given; 'errand schedule next' marks them.
            """,
        examples: [
            .init(
                "errand schedule add shop.day '30 9 * * 1-5' --tz Asia/Tokyo --kind demo.noop",
                "on weekdays"),
            .init(
                "errand schedule add shop.sync '@every 90s' --kind demo.noop --overlap skip",
                "never two jobs at once"),
        ],
        options: ScheduleOptions.all + [paused, AuditOptions.reason, JobInputOptions.allowUnknown],
        arguments: [ScheduleFormatting.name, expression]
    ) { invocation in
        let name = invocation[ScheduleFormatting.name]
        guard JobKinds.isName(name, limit: 100) else {
            throw CommandFailure(
                exit: .usage,
                message: "'\(name)' is not a valid schedule name: expected up to 100 of a-z, 0-9, "
                    + "dot, dash, underscore, beginning with a letter or digit",
                hint: "for example shop.report")
        }
        guard let kind = invocation[ScheduleOptions.kind] else {
            throw CommandFailure(
                exit: .usage, message: "--kind KIND is needed: the kind of the jobs",
                hint: "'errand schedule add --help' shows an example")
        }
        let zones = invocation.zones
        let given = try ScheduleOptions.given(
            invocation, expression: invocation[expression], zones: zones)
        try checkOrder(
            starts: invocation[ScheduleOptions.starts], ends: invocation[ScheduleOptions.ends])
        let session = try invocation.session()
        let version = try await invocation.kindDefaults(
            of: kind, session, allowsUnknown: invocation[JobInputOptions.allowUnknown]
        ).version
        try checkKind(kind)
        var members = columns(given)
        members["args_version"] = .int(version)
        let schedules = Schedules(session: session, zones: zones)
        let isNew = try await schedules.add(
            name, settings: ScheduleOptions.object(members), pausedWith: invocation[paused],
            by: invocation.operatorName, reason: invocation[AuditOptions.reason])
        guard isNew else {
            throw CommandFailure(
                exit: .conflict, message: "the schedule \(name) already exists; nothing was added",
                hint: "'errand schedule edit \(name) …' changes it, "
                    + "'errand schedule show \(name)' shows it")
        }
        let listing = try await schedules.one(name)
        try invocation.output.show(
            try ScheduleRecords.card(listing, zones: zones, now: try await schedules.now()))
        return .done
    }

    private static func checkKind(_ kind: String) throws {
        guard JobKinds.isName(kind, limit: 100) else {
            throw CommandFailure(
                exit: .usage,
                message: "'\(kind)' is not a valid kind: expected up to 100 of a-z, 0-9, dot, "
                    + "dash, underscore")
        }
    }

    private static func checkOrder(starts: Instant?, ends: Instant?) throws {
        guard let starts, let ends, ends <= starts else { return }
        throw CommandFailure(
            exit: .usage, message: "the end, \(ends), is not after the start, \(starts)",
            hint: "--starts and --ends take RFC 3339 times; 'edit --clear starts' clears one")
    }

    private static func columns(_ given: [ScheduleSetting: JSONValue]) -> [String: JSONValue] {
        Dictionary(uniqueKeysWithValues: given.map { ($0.key.column, $0.value) })
    }

    // MARK: edit

    private static let cron = Option<String?>.value(
        "cron", ScheduleFormatting.expression("EXPR"), help: ScheduleFormatting.expressionHelp)
    private static let reset = Option<[ScheduleSetting]>.list(
        "reset", ScheduleSetting.any,
        help: "Reset these settings to the program's declaration, such as cron,tz")
    private static let clear = Option<[ScheduleSetting]>.list(
        "clear", ScheduleSetting.optional, help: "Clear these settings, such as starts,ends")

    private static let edit = Command(
        "schedule", "edit", effect: .write,
        summary: "Change settings of a schedule",
        discussion: """
            Settings that are not given are unchanged. A change survives when a program declares \
            the schedule again, and 'errand schedule ls' shows it, until --reset. Past occurrences \
            are not affected.
            """,
        examples: [
            .init(
                "errand schedule edit shop.report --cron '0 8 * * *' --overlap skip",
                "another time, never two jobs at once"),
            .init("errand schedule edit shop.report --reset cron", "as the program declares it"),
            .init("errand schedule edit shop.report --clear ends", "without an end"),
        ],
        options: [cron] + ScheduleOptions.all
            + [reset, clear, AuditOptions.reason, JobInputOptions.allowUnknown],
        arguments: [ScheduleFormatting.name]
    ) { invocation in
        let name = invocation[ScheduleFormatting.name]
        let zones = invocation.zones
        let given = try ScheduleOptions.given(
            invocation, expression: invocation[cron], zones: zones)
        try checkDistinct(given, invocation)
        let session = try invocation.session()
        let schedules = Schedules(session: session, zones: zones)
        let present = try await schedules.one(name)
        var members = columns(given)
        if given[.kind] != nil || given[.args] != nil {
            let kind = invocation[ScheduleOptions.kind] ?? present.schedule.kind
            members["args_version"] = .int(
                try await invocation.kindDefaults(
                    of: kind, session,
                    allowsUnknown: invocation[JobInputOptions.allowUnknown] || given[.kind] == nil
                ).version)
            try checkKind(kind)
        }
        for setting in invocation[clear] { members[setting.column] = .null }
        let (asked, wanted) = (members, invocation[reset])
        let change = try await schedules.change(
            name, by: invocation.operatorName, reason: invocation[AuditOptions.reason]
        ) { listing in
            var all = asked
            for (column, value) in try declaredValues(of: wanted, listing) { all[column] = value }
            return try settings(all, for: listing)
        }
        guard let change else { throw try await ScheduleFormatting.unknown(name, schedules) }
        return try await show(change, zones, try await schedules.now(), invocation)
    }

    private static func checkDistinct(
        _ given: [ScheduleSetting: JSONValue], _ invocation: Invocation
    ) throws {
        let named = Array(given.keys) + invocation[reset] + invocation[clear]
        guard !named.isEmpty else {
            throw CommandFailure(
                exit: .usage, message: "no setting is given",
                hint: "pass one, such as --cron '0 8 * * *' or --overlap skip; "
                    + "'errand schedule edit --help' lists them")
        }
        for setting in ScheduleSetting.allCases
        where named.filter({ $0 == setting }).count > 1 {
            throw CommandFailure(
                exit: .usage, message: "\(setting.rawValue) is given twice",
                hint: "pass its option, or name it once in --reset or --clear")
        }
    }

    /// The declared values of some settings.
    private static func declaredValues(
        of wanted: [ScheduleSetting], _ listing: Schedules.Listing
    ) throws -> [String: JSONValue] {
        guard !wanted.isEmpty else { return [:] }
        guard let declared = listing.declared else {
            throw CommandFailure(
                exit: .conflict,
                message: "no program declares \(listing.schedule.name), so --reset has no values",
                hint: "an operator added it; pass the values to set")
        }
        let columns = Set(wanted.flatMap(\.columns))
        let members = try ScheduleSetting.members(of: declared)
            .filter { columns.contains($0.name) }
        return Dictionary(uniqueKeysWithValues: members.map { ($0.name, .raw($0.value)) })
    }

    /// The settings as one JSON object, checked against the unchanged ones.
    private static func settings(
        _ asked: [String: JSONValue], for listing: Schedules.Listing
    ) throws -> [UInt8] {
        func time(_ column: String, _ present: Instant?) -> Instant? {
            switch asked[column] {
            case nil: present
            case .text(let text)?: Instant(text)
            default: nil
            }
        }
        try checkOrder(
            starts: time("starts_at", listing.schedule.startsAt),
            ends: time("ends_at", listing.schedule.endsAt))
        return ScheduleOptions.object(asked)
    }

    private static func show(
        _ change: Schedules.Change, _ zones: ZoneDatabase, _ now: Instant, _ invocation: Invocation
    ) async throws -> ExitCode {
        let before = try ScheduleSetting.members(of: change.before.settings)
        let after = try ScheduleSetting.members(of: change.after.settings)
        let changed = after.filter { member in
            before.first { $0.name == member.name }?.value != member.value
        }
        let output = invocation.output
        guard !changed.isEmpty else {
            throw CommandFailure(
                exit: .usage, message: "nothing to change: the schedule already has these settings",
                hint: "'errand schedule show \(change.after.schedule.name)' shows its settings")
        }
        try output.list(
            changed.map { member in
                let old = before.first { $0.name == member.name }
                return Record([
                    ("setting", .text(member.name)),
                    ("before", .optional(old) { $0.cell }), ("after", member.cell),
                ])
            },
            columns: [
                Column("setting"), Column("before", isFlexible: true),
                Column("after", isFlexible: true),
            ])
        let times = try ScheduleRecords.upcoming(
            change.after.schedule, count: 3, zones: zones, now: now)
        output.note(
            times.isEmpty
                ? "no further occurrences" : "next: \(times.joined(separator: ", "))")
        return .done
    }
}
