/// What one field of a cron expression names.
struct FieldValues {
    /// Bit `n`: the number `n`.
    var numbers: UInt64 = 0
    /// Bit `n`: the day `n` days before the month's last.
    var daysFromLast: UInt32 = 0
    /// The day that a `W` follows, or 0.
    var nearestWorkday: UInt8 = 0
    /// Whether `LW` stands there.
    var lastWorkday = false
    /// Bit `w`: an `L` follows weekday `w`.
    var lastWeekdays: UInt8 = 0
    /// Bit `7 (n − 1) + w`: `w#n` stands there.
    var nthWeekdays: UInt64 = 0
    /// Whether the field begins with `*`, or is `?`.
    var unrestricted = false
    /// Whether some step runs to the end: `a/n`.
    var openStep = false
    /// Whether the field begins with `*` or names all of its values.
    var everyOne = false
}

extension CronField {
    /// The least and the greatest number.
    var range: ClosedRange<Int> {
        switch self {
        case .seconds, .minute: 0...59
        case .hour: 0...23
        case .dayOfMonth: 1...31
        case .month: 1...12
        case .weekday: 0...7
        }
    }

    /// The numbers that `*` and an open step cover: Sunday counts once.
    var distinct: ClosedRange<Int> { self == .weekday ? 0...6 : range }

    /// The names of the numbers, from the least on.
    var names: [String] {
        switch self {
        case .month:
            ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
        case .weekday: ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
        default: []
        }
    }

    /// What a value may be, for messages.
    var expected: String {
        let numbers = "\(range.lowerBound) to \(range.upperBound)"
        guard let first = names.first, let last = names.last else { return numbers }
        return "\(numbers), or \(first) to \(last)"
    }
}
