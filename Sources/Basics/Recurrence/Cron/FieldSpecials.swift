/// The letters and signs beyond Vixie's: `L`, `W` and `#`.
extension FieldReader {
    /// Reads `L`, `L-3` or `LW`, if one of them comes next.
    mutating func readSpecialWord() throws(RecurrenceError) -> Bool {
        let start = index
        var end = index
        while end < word.scalars.count, word.scalars[end].isLetter { end += 1 }
        let letters = word.text(start..<end).uppercased()
        guard ["L", "W", "LW"].contains(letters) else { return false }
        if letters == "W" {
            throw fault(start, "`W` without a day before it", "a day and `W`, such as 15W, or LW")
        }
        guard field == .dayOfMonth else { throw lastOutOfPlace(start) }
        index = end
        if letters == "LW" {
            try refuseList("LW")
            values.lastWorkday = true
            return true
        }
        try readDaysFromLast()
        return true
    }

    private mutating func readDaysFromLast() throws(RecurrenceError) {
        var days = 0
        if take("-") {
            let start = index
            guard let number = readNumber() else {
                throw fault(start, "no number follows `L-`", "1 to 30")
            }
            guard 1...30 ~= number else {
                throw fault(
                    start, "L-\(word.shown(start..<index)) is no day of any month", "L-1 to L-30")
            }
            days = number
        }
        if next?.lowercase == "w" {
            throw fault(index, "`W` after a day counted from the last", "LW, or a day such as 15W")
        }
        try refuseStep(after: "L")
        values.daysFromLast |= 1 << UInt32(days)
    }

    /// Reads what may follow a number: `W`, `L` or `#`.
    mutating func readSuffix(of value: Int, from start: Int) throws(RecurrenceError) -> Bool {
        let place = index
        if take("w") {
            guard field == .dayOfMonth else {
                throw fault(place, "`W` stands only in the day of month", field.expected)
            }
            try refuseList("W")
            values.nearestWorkday = UInt8(value)
        } else if take("l") {
            guard field == .weekday else { throw lastOutOfPlace(place) }
            try refuseStep(after: "L")
            values.lastWeekdays |= 1 << UInt8(value % 7)
        } else if take("#") {
            try readNth(value % 7, sign: place)
        } else {
            return false
        }
        return true
    }

    private mutating func readNth(_ weekday: Int, sign: Int) throws(RecurrenceError) {
        guard field == .weekday else {
            throw fault(sign, "`#` stands only in the weekday", field.expected)
        }
        let start = index
        guard let count = readNumber() else {
            throw fault(start, "no number follows `#`", "which one of the month, 1 to 5")
        }
        guard 1...5 ~= count else {
            let found = "#\(word.shown(start..<index)) is no weekday of any month"
            throw fault(start, found, "1 for the first to 5 for the fifth")
        }
        try refuseStep(after: "#")
        values.nthWeekdays |= 1 << UInt64(7 * (count - 1) + weekday)
    }

    private func refuseStep(after sign: String) throws(RecurrenceError) {
        if next == "/" {
            throw fault(index, "a step after `\(sign)`, which is a single day", "`,` or the end")
        }
        if next == "-" {
            throw fault(index, "a range from `\(sign)`, which is a single day", "`,` or the end")
        }
    }

    /// `W` names one day and has the field for itself.
    private func refuseList(_ sign: String) throws(RecurrenceError) {
        if next == "-" { throw workdayInRange() }
        if word.scalars.contains(",") {
            throw fault(index - 1, "`\(sign)` in a list", "one day alone, such as 15W or LW")
        }
    }
}

/// What is wrong, in words.
extension FieldReader {
    /// The error at a character of the field.
    func fault(_ index: Int, _ found: String, _ expected: String) -> RecurrenceError {
        .malformed(column: word.column + index, field: field, found: found, expected: expected)
    }

    /// `W` beside a range.
    func workdayInRange() -> RecurrenceError {
        fault(index, "`W` with a range", "one day, such as 15W")
    }

    private func lastOutOfPlace(_ place: Int) -> RecurrenceError {
        switch field {
        case .weekday:
            fault(place, "`L` without a weekday before it", "a weekday and `L`, such as 5L or FRIL")
        case .dayOfMonth:
            fault(
                place, "`L` after a number", "L, L-3 or LW; the last weekday is 5L in the weekday")
        default:
            fault(place, "`L` stands only in the day of month and the weekday", field.expected)
        }
    }

    /// A place where a value should begin.
    func missingValue() -> RecurrenceError {
        switch next {
        case nil: fault(index, "nothing follows `,`", field.expected)
        case ",": fault(index, "nothing before `,`", field.expected)
        case "-": fault(index, "no number before `-`", field.expected)
        case "/": fault(index, "no value before `/`", "`*` or \(field.expected)")
        case "#": fault(index, "no weekday before `#`", field.expected)
        case "?": fault(index, "`?` in a list", "`?` alone or \(field.expected)")
        case let other?: unexpected(other)
        }
    }

    /// A character that cannot stand where it does.
    func unexpected(_ scalar: Unicode.Scalar) -> RecurrenceError {
        if scalar == "\u{2013}" || scalar == "\u{2212}" {
            return fault(index, "`\(scalar)` is not the minus sign of ASCII", "`-`")
        }
        let code = "U+\(String(scalar.value, radix: 16, uppercase: true))"
        let sign = scalar.isControl ? code : "`\(scalar)`" + (scalar.isASCII ? "" : " (\(code))")
        return fault(index, "unexpected \(sign)", "\(field.expected), or one of * , - /")
    }

    /// A range whose end comes before its start.
    func reversed(_ low: Int, _ high: Int, start: Int) -> RecurrenceError {
        func text(_ from: Int, _ to: Int) -> String { from == to ? "\(from)" : "\(from)-\(to)" }
        let range = field.distinct
        let first = text(low, max(low, range.upperBound))
        let second = text(range.lowerBound, high)
        return fault(
            start, "\(word.shown(start..<index)) runs backwards",
            "a rising range, or \(first),\(second)")
    }

    /// A word that is no name of this field.
    func unknown(_ name: String, at start: Int) -> RecurrenceError {
        for other in CronField.allCases where other.names.contains(name) {
            return fault(start, "\(name) is a \(other)", field.expected)
        }
        if field.names.isEmpty {
            return fault(
                start, "the name \(word.shown(start..<index))", "\(field.expected), no names")
        }
        let close =
            field.names.first { name.hasPrefix($0) } ?? nearest(to: name, among: field.names)
        let expected = close.map { "\($0), perhaps" } ?? field.expected
        return fault(start, "\(word.shown(start..<start + name.count)) is no \(field)", expected)
    }
}
