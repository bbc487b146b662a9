import ErrandGregorian

/// Parses the parts of a rule, each of which may occur once.
struct RecurrenceRuleReader {
    private var rule = RecurrenceRule()
    private var seen: Set<String> = []

    mutating func read(_ text: String) throws(RecurrenceRuleError) -> RecurrenceRule {
        for part in text.split(separator: ";", omittingEmptySubsequences: false) {
            let sides = part.split(separator: "=", omittingEmptySubsequences: false)
            guard sides.count == 2, !sides[1].isEmpty,
                seen.insert(String(sides[0])).inserted
            else { throw .malformed(String(part.prefix(60))) }
            try take(String(sides[0]), String(sides[1]))
        }
        try check()
        return rule
    }

    private mutating func take(_ name: String, _ value: String) throws(RecurrenceRuleError) {
        switch name {
        case "FREQ": rule.frequency = try frequency(value)
        case "INTERVAL": rule.interval = try number(name, value, in: 1...1_000)
        case "COUNT": rule.count = try number(name, value, in: 1...10_000)
        case "UNTIL": rule.until = try day(value)
        case "WKST": rule.weekStart = try weekday(name, value[...])
        case "BYMONTH": rule.months = try list(name, value, in: 1...12)
        case "BYMONTHDAY": rule.monthDays = try list(name, value, in: 1...31, bothWays: true)
        case "BYYEARDAY": rule.yearDays = try list(name, value, in: 1...366, bothWays: true)
        case "BYSETPOS": rule.positions = try list(name, value, in: 1...366, bothWays: true)
        case "BYDAY":
            var days: [RecurrenceRule.NamedDay] = []
            for word in value.split(separator: ",", omittingEmptySubsequences: false) {
                let day = try namedDay(word)
                if !days.contains(day) { days.append(day) }
            }
            rule.days = days
        case "BYHOUR", "BYMINUTE", "BYSECOND":
            throw .refused(
                part: name, instead: "rules are by days; set the time of day separately")
        case "BYWEEKNO":
            // libical 3.0 confuses days of other weeks with those of the requested week.
            throw .refused(part: name, instead: "use BYMONTH, BYDAY or BYYEARDAY")
        case "RSCALE", "SKIP":
            throw .refused(
                part: name,
                instead: "for the 31st or the last day of a shorter month, use "
                    + "BYMONTHDAY=28,29,30,31;BYSETPOS=-1")
        default: throw .unknown(String(name.prefix(60)))
        }
    }

    private func frequency(_ value: String) throws(RecurrenceRuleError) -> RecurrenceRule.Frequency
    {
        if let known = RecurrenceRule.Frequency(rawValue: value) { return known }
        if ["SECONDLY", "MINUTELY", "HOURLY"].contains(value) {
            throw .refused(part: "FREQ=\(value)", instead: "use FREQ=DAILY or a longer period")
        }
        throw .value(
            part: "FREQ", found: String(value.prefix(60)),
            expected: "DAILY, WEEKLY, MONTHLY or YEARLY")
    }

    private func number(
        _ part: String, _ text: String, in range: ClosedRange<Int>, bothWays: Bool = false
    ) throws(RecurrenceRuleError) -> Int {
        let digits = text.drop { $0 == "-" || $0 == "+" }
        if text.count - digits.count <= 1, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = Int(text),
            range.contains(bothWays ? Int(clamping: number.magnitude) : number)
        {
            return number
        }
        let reverse = bothWays ? ", or from the end -1 to -\(range.upperBound)" : ""
        throw .value(
            part: part, found: String(text.prefix(60)),
            expected: "\(range.lowerBound) to \(range.upperBound)\(reverse)")
    }

    private func list(
        _ part: String, _ text: String, in range: ClosedRange<Int>, bothWays: Bool = false
    ) throws(RecurrenceRuleError) -> [Int] {
        var numbers: [Int] = []
        for word in text.split(separator: ",", omittingEmptySubsequences: false) {
            let number = try number(part, String(word), in: range, bothWays: bothWays)
            if !numbers.contains(number) { numbers.append(number) }
        }
        return numbers.sorted()
    }

    private func weekday(
        _ part: String, _ text: Substring
    ) throws(RecurrenceRuleError) -> Int {
        guard let index = RecurrenceRule.NamedDay.names.firstIndex(of: String(text)) else {
            throw .value(
                part: part, found: String(text.prefix(60)),
                expected: "days of the week: MO, TU, WE, TH, FR, SA, SU; of a month or year also "
                    + "such as 2TU or -1FR")
        }
        return index + 1
    }

    private func namedDay(_ word: Substring) throws(RecurrenceRuleError) -> RecurrenceRule.NamedDay
    {
        let day = try weekday("BYDAY", word.suffix(2))
        let ordinal = word.dropLast(2)
        guard !ordinal.isEmpty else { return .init(weekday: day) }
        return .init(
            weekday: day,
            ordinal: try number("BYDAY", String(ordinal), in: 1...53, bothWays: true))
    }

    /// Parses a day such as `20261231`; times are refused, because rules are by days.
    private func day(_ text: String) throws(RecurrenceRuleError) -> CivilDate {
        let digits = text.utf8.map { Int($0) - 0x30 }
        if digits.count == 8, digits.allSatisfy({ (0...9).contains($0) }) {
            let number = digits.reduce(0) { $0 * 10 + $1 }
            let (year, month, day) = (number / 10_000, number / 100 % 100, number % 100)
            if year > 0, (1...12).contains(month), day > 0,
                day <= CivilDate.days(inMonth: month, of: year)
            {
                return CivilDate(year: year, month: month, day: day)
            }
        }
        throw .value(
            part: "UNTIL", found: String(text.prefix(60)),
            expected: "the last day without a time, such as 20261231")
    }

    /// Checks the parts against each other (RFC 5545, section 3.3.10).
    private func check() throws(RecurrenceRuleError) {
        guard seen.contains("FREQ") else {
            throw .conflict("FREQ is missing: add FREQ=DAILY, WEEKLY, MONTHLY or YEARLY")
        }
        if rule.count != nil, rule.until != nil {
            throw .conflict("COUNT and UNTIL exclude each other: remove one of them")
        }
        let isLong = rule.frequency == .monthly || rule.frequency == .yearly
        if !isLong, rule.days.contains(where: { $0.ordinal != 0 }) {
            throw .conflict("BYDAY: an nth day needs FREQ=MONTHLY or FREQ=YEARLY")
        }
        if rule.frequency == .monthly, let far = rule.days.first(where: { abs($0.ordinal) > 5 }) {
            throw .conflict("BYDAY=\(far.text): a month has at most five of each weekday")
        }
        if rule.frequency == .weekly, !rule.monthDays.isEmpty {
            throw .conflict("BYMONTHDAY does not go with FREQ=WEEKLY: use FREQ=DAILY or MONTHLY")
        }
        if rule.frequency != .yearly, !rule.yearDays.isEmpty {
            throw .conflict("BYYEARDAY needs FREQ=YEARLY")
        }
        let isNarrowed =
            !(rule.days.isEmpty && rule.monthDays.isEmpty && rule.yearDays.isEmpty
            && rule.months.isEmpty)
        if !rule.positions.isEmpty, !isNarrowed {
            throw .conflict("BYSETPOS needs another part such as BYDAY, from which it selects days")
        }
    }
}
