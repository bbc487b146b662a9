/// One item of a field, as a structure; the oracle evaluates it, the product reads its text.
enum OracleItem: Hashable {
    case star
    case question
    case starStep(Int)
    case value(Int)
    case range(Int, Int)
    case rangeStep(Int, Int, Int)
    case openStep(Int, Int)
    case daysFromLast(Int)
    case nearestWorkday(Int)
    case lastWorkday
    case lastWeekday(Int)
    case nthWeekday(Int, Int)
}

/// A day of the oracle's own calendar.
struct OracleDay {
    var year: Int
    var month: Int
    var day: Int
    var weekday: Int
    var length: Int

    /// Day by day from 1970-01-01 to the end of 2370, by counting only.
    static let all: [OracleDay] = {
        var days: [OracleDay] = []
        var weekday = 4
        for year in 1970...2370 {
            let leap = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0)
            let lengths = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
            for (index, length) in lengths.enumerated() {
                for day in 1...length {
                    days.append(
                        OracleDay(
                            year: year, month: index + 1, day: day, weekday: weekday,
                            length: length))
                    weekday = (weekday + 1) % 7
                }
            }
        }
        return days
    }()
}

/// A cron expression as a structure, evaluated without any sets of bits.
struct OracleExpression {
    var seconds: [OracleItem]?
    var minutes: [OracleItem]
    var hours: [OracleItem]
    var days: [OracleItem]
    var months: [OracleItem]
    var weekdays: [OracleItem]
    /// Chooses between names and numbers, capitals and small letters.
    var spelling: UInt64 = 0

    private static let monthNames = [
        "", "Jan", "feb", "MAR", "Apr", "may", "JUN", "Jul", "aug", "SEP", "Oct", "nov", "DEC",
    ]
    private static let weekdayNames = ["Sun", "mon", "TUE", "Wed", "thu", "FRI", "Sat"]

    /// The text that the product reads.
    var text: String {
        var fields = [minutes, hours, days, months, weekdays].enumerated().map { place, items in
            items.map { word($0, place: place) }.joined(separator: ",")
        }
        if let seconds {
            fields.insert(seconds.map { word($0, place: 0) }.joined(separator: ","), at: 0)
        }
        return fields.joined(separator: " ")
    }

    private func word(_ item: OracleItem, place: Int) -> String {
        func name(_ number: Int) -> String {
            let named = spelling >> UInt64((number + place) % 60) & 1 == 1
            if named, place == 3 { return Self.monthNames[number] }
            if named, place == 4, number < 7 { return Self.weekdayNames[number] }
            return "\(number)"
        }
        let letter = spelling & 1 == 0
        switch item {
        case .star: return "*"
        case .question: return "?"
        case .starStep(let step): return "*/\(step)"
        case .value(let value): return name(value)
        case .range(let low, let high): return "\(name(low))-\(name(high))"
        case .rangeStep(let low, let high, let step): return "\(name(low))-\(name(high))/\(step)"
        case .openStep(let low, let step): return "\(name(low))/\(step)"
        case .daysFromLast(0): return letter ? "L" : "l"
        case .daysFromLast(let back): return "L-\(back)"
        case .nearestWorkday(let day): return "\(day)\(letter ? "W" : "w")"
        case .lastWorkday: return letter ? "LW" : "lw"
        case .lastWeekday(let weekday): return "\(name(weekday))\(letter ? "L" : "l")"
        case .nthWeekday(let weekday, let count): return "\(name(weekday))#\(count)"
        }
    }

    // MARK: What it matches

    /// Whether a number of a plain field is named; `least` is what `*` begins with.
    private func names(_ items: [OracleItem], _ number: Int, least: Int) -> Bool {
        items.contains { item in
            switch item {
            case .star, .question: true
            case .starStep(let step): (number - least) % step == 0
            case .value(let value): number == value
            case .range(let low, let high): low <= number && number <= high
            case .rangeStep(let low, let high, let step):
                low <= number && number <= high && (number - low) % step == 0
            case .openStep(let low, let step): low <= number && (number - low) % step == 0
            default: false
            }
        }
    }

    /// Whether a second of a minute matches.
    func allows(second: Int) -> Bool { names(seconds ?? [.value(0)], second, least: 0) }

    /// Whether a minute of an hour matches.
    func allows(minute: Int) -> Bool { names(minutes, minute, least: 0) }

    /// Whether an hour of a day matches.
    func allows(hour: Int) -> Bool { names(hours, hour, least: 0) }

    /// Whether a day matches.
    func allows(_ day: OracleDay) -> Bool {
        guard names(months, day.month, least: 1) else { return false }
        let byDay = allowsDayOfMonth(day)
        let byWeekday = allowsWeekday(day)
        let free = [days[0], weekdays[0]].contains { item in
            switch item {
            case .star, .question, .starStep: true
            default: false
            }
        }
        return free ? byDay && byWeekday : byDay || byWeekday
    }

    private func allowsDayOfMonth(_ day: OracleDay) -> Bool {
        if names(days, day.day, least: 1) { return true }
        return days.contains { item in
            switch item {
            case .daysFromLast(let back): day.day + back == day.length
            case .nearestWorkday(let target): nearest(to: target, day) == day.day
            case .lastWorkday:
                workdays(day).last == day.day
            default: false
            }
        }
    }

    private func workdays(_ day: OracleDay) -> [Int] {
        (1...day.length).filter { other in
            let weekday = ((day.weekday + other - day.day) % 7 + 7) % 7
            return weekday != 0 && weekday != 6
        }
    }

    private func nearest(to target: Int, _ day: OracleDay) -> Int? {
        guard target <= day.length, abs(target - day.day) <= 2 else { return nil }
        return workdays(day).min { abs($0 - target) < abs($1 - target) }
    }

    private func allowsWeekday(_ day: OracleDay) -> Bool {
        if names(weekdays, day.weekday, least: 0) { return true }
        // Sunday is 7 too, where 7 is written; a step without an end stops at Saturday.
        let toSeven = weekdays.filter { item in
            switch item {
            case .openStep(let low, _): low == 7
            case .value, .range, .rangeStep: true
            default: false
            }
        }
        if day.weekday == 0, names(toSeven, 7, least: 0) { return true }
        return weekdays.contains { item in
            switch item {
            case .lastWeekday(let weekday):
                weekday % 7 == day.weekday && day.day + 7 > day.length
            case .nthWeekday(let weekday, let count):
                weekday % 7 == day.weekday && (day.day + 6) / 7 == count
            default: false
            }
        }
    }

    // MARK: Vixie's defaults

    /// Whether it follows the clock, told from the structure.
    var followsClock: Bool {
        func begins(_ items: [OracleItem]) -> Bool {
            switch items[0] {
            case .star, .starStep: true
            default: false
            }
        }
        func open(_ items: [OracleItem]) -> Bool {
            items.contains { if case .openStep = $0 { true } else { false } }
        }
        let short = [minutes, seconds ?? [.value(0)]]
        if short.contains(where: { begins($0) || open($0) }) || begins(hours) { return true }
        return (0...59).allSatisfy(allows(minute:)) || (0...59).allSatisfy(allows(second:))
            || (0...23).allSatisfy(allows(hour:))
    }
}
