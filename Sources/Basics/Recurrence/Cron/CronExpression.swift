import ErrandGregorian

/// A cron expression: the local times at which something happens.
///
/// Five fields, or six with the seconds first: `minute hour day-of-month month weekday`. Besides
/// lists, ranges, steps and names: `L`, `L-3`, `15W` and `LW` among the days of the month, `5L`
/// and `2#3` among the weekdays, and macros from `@hourly` to `@yearly`. A day matches if either
/// day field names it; if one of them begins with `*` (or is `?`), both must.
public struct CronExpression: Sendable, Hashable, CustomStringConvertible {
    /// The expression in capital letters with single blanks, or the macro in small ones.
    public let description: String
    /// Whether it recurs within the hour or every hour, and so goes by the running clock.
    ///
    /// So it is when the seconds, the minute or the hour begin with `*` or name all values, and
    /// when the seconds or the minute hold `a/n`. All others name fixed times of day.
    public let followsClock: Bool
    /// The sets of numbers it comes to.
    let rule: CronRule

    /// Reads an expression, and refuses one that could never fire.
    public init(_ text: String) throws(RecurrenceError) {
        let words = Word.split(text)
        guard let first = words.first else {
            throw .malformed(
                column: 1, field: nil, found: "nothing but blanks",
                expected: "five fields such as `0 9 * * 1-5`, or a macro such as @daily")
        }
        if first.scalars[0] == "@" {
            let macro = try CronMacro.named(words)
            try self.init(fields: Word.split(macro.fields), description: macro.name)
        } else {
            try CronExpression.refuseZone(first)
            let description = words.map { $0.text.uppercased() }.joined(separator: " ")
            try self.init(fields: words, description: description)
        }
    }

    private init(fields words: [Word], description: String) throws(RecurrenceError) {
        try CronExpression.refuseCount(of: words)
        let withSeconds = words.count == 6
        var rule = CronRule()
        var followsClock = false
        var needsBoth = false
        for field in CronField.allCases where withSeconds || field != .seconds {
            let word = words[field.rawValue - (withSeconds ? 0 : 1)]
            let values = try FieldReader.read(word, as: field)
            rule.take(values, of: field)
            switch field {
            case .seconds, .minute:
                followsClock = followsClock || values.everyOne || values.openStep
            case .hour: followsClock = followsClock || values.everyOne
            case .dayOfMonth, .weekday: needsBoth = needsBoth || values.unrestricted
            case .month: break
            }
        }
        rule.days.needsBoth = needsBoth
        guard rule.hasDays else {
            throw .neverFires(
                column: words[words.count - 3].column,
                days: words.suffix(3).map { $0.text.uppercased() }.joined(separator: " "))
        }
        self.rule = rule
        self.followsClock = followsClock
        self.description = description
    }

    private static func refuseZone(_ word: Word) throws(RecurrenceError) {
        for prefix in ["CRON_TZ=", "TZ="] where word.text.uppercased().hasPrefix(prefix) {
            let zone = word.shown(prefix.count..<word.scalars.count)
            throw .malformed(
                column: word.column, field: nil, found: "`\(word.shown)` sets a time zone",
                expected: "the fields alone, and the zone \(zone.isEmpty ? "" : "\(zone) ")apart")
        }
    }

    private static func refuseCount(of words: [Word]) throws(RecurrenceError) {
        let expected =
            "5 fields (minute, hour, day of month, month, weekday), or 6 with seconds first"
        if words.count < 5 {
            let found = words.count == 1 ? "only 1 field" : "only \(words.count) fields"
            let column = words[words.count - 1].end
            throw .malformed(column: column, field: nil, found: found, expected: expected)
        }
        if words.count == 7 {
            throw .malformed(
                column: words[6].column, field: nil,
                found: "a seventh field, `\(words[6].shown)`, the year, which is not kept",
                expected: "6 fields, and the start and end of the schedule apart")
        }
        if words.count > 7 {
            throw .malformed(
                column: words[6].column, field: nil, found: "\(words.count) fields",
                expected: expected)
        }
    }
}

extension CronRule {
    /// Takes over what one field says.
    fileprivate mutating func take(_ values: FieldValues, of field: CronField) {
        switch field {
        case .seconds: seconds = values.numbers
        case .minute: minutes = values.numbers
        case .hour: hours = values.numbers
        case .month: months = values.numbers
        case .dayOfMonth:
            days.days = UInt32(truncatingIfNeeded: values.numbers)
            days.daysFromLast = values.daysFromLast
            days.nearestWorkday = values.nearestWorkday
            days.lastWorkday = values.lastWorkday
        case .weekday:
            let sunday = values.numbers >> 7
            days.weekdays =
                ((values.numbers | sunday) & 127) * DayRule.eachWeek | values.nthWeekdays
            days.lastWeekdays = values.lastWeekdays
        }
    }
}

/// The names that stand for whole expressions.
private enum CronMacro {
    private static let all = [
        (name: "@yearly", fields: "0 0 1 1 *"), (name: "@annually", fields: "0 0 1 1 *"),
        (name: "@monthly", fields: "0 0 1 * *"), (name: "@weekly", fields: "0 0 * * 0"),
        (name: "@daily", fields: "0 0 * * *"), (name: "@midnight", fields: "0 0 * * *"),
        (name: "@hourly", fields: "0 * * * *"),
    ]

    /// The macro that a text of these words names.
    static func named(_ words: [Word]) throws(RecurrenceError) -> (name: String, fields: String) {
        let name = words[0].text.lowercased()
        let names = all.map(\.name)
        func fault(_ column: Int, _ found: String, _ expected: String) -> RecurrenceError {
            .malformed(column: column, field: nil, found: found, expected: expected)
        }
        if name == "@reboot" {
            throw fault(words[0].column, "@reboot names no time", "a schedule of times")
        }
        if name == "@every" {
            throw fault(
                words[0].column, "@every is an interval, not a cron expression",
                "fields, or a macro such as @hourly")
        }
        guard let macro = all.first(where: { $0.name == name }) else {
            let hint = nearest(to: name, among: names + ["@every"]).map { "\($0), perhaps" }
            throw fault(
                words[0].column, "there is no macro \(words[0].shown)",
                hint ?? "one of \(names.joined(separator: ", ")), @every")
        }
        if words.count > 1 {
            throw fault(words[1].column, "`\(words[1].shown)` after \(name)", "\(name) alone")
        }
        return macro
    }
}
