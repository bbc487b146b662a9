/// One of the fields of a cron expression, in the order in which they are written.
public enum CronField: Int, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// 0 to 59; left out in an expression of five fields, which means 0.
    case seconds
    /// 0 to 59.
    case minute
    /// 0 to 23.
    case hour
    /// 1 to 31, or counted from the end.
    case dayOfMonth
    /// 1 to 12, or a name.
    case month
    /// 0 to 7, from Sunday to Sunday, or a name.
    case weekday

    /// Its name in messages.
    public var description: String {
        switch self {
        case .seconds: "seconds"
        case .minute: "minute"
        case .hour: "hour"
        case .dayOfMonth: "day of month"
        case .month: "month"
        case .weekday: "weekday"
        }
    }
}

/// Why a text is not taken as a recurrence.
public enum RecurrenceError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The text cannot be read: where (columns count from 1), what stands there, what should.
    case malformed(column: Int, field: CronField?, found: String, expected: String)
    /// The text can be read, but names no day that exists in any year.
    case neverFires(column: Int, days: String)

    /// One line: the column, the field, what was found and what was expected.
    public var description: String {
        switch self {
        case .malformed(let column, let field, let found, let expected):
            let place = field.map { "column \(column), \($0)" } ?? "column \(column)"
            return "\(place): \(found); expected \(expected)"
        case .neverFires(let column, let days):
            return "column \(column): `\(days)` never fires, no year has such a day; "
                + "expected days that the months named have"
        }
    }
}
