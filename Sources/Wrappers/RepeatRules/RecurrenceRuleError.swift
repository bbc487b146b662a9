/// Why a text is not a valid recurrence rule, with the remedy.
package enum RecurrenceRuleError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A part is not `NAME=VALUE`, or is repeated.
    case malformed(String)
    /// The name of a part is unknown.
    case unknown(String)
    /// A part is not supported; `instead` is the reason or the alternative.
    case refused(part: String, instead: String)
    /// The value of a part is invalid.
    case value(part: String, found: String, expected: String)
    /// Parts exclude each other, or need another one.
    case conflict(String)
    /// The rule has no day within a number of years after its start, such as for 30 February.
    case empty(years: Int)
    /// libical failed; the text contains its message.
    case library(String)

    /// The message for people, on one line.
    package var description: String {
        switch self {
        case .malformed(let part):
            "`\(part)`: expected each part once, as NAME=VALUE, with `;` between parts, "
                + "such as FREQ=WEEKLY;INTERVAL=2;BYDAY=TU"
        case .unknown(let part):
            "\(part): expected FREQ, INTERVAL, COUNT, UNTIL, WKST, BYMONTH, BYMONTHDAY, "
                + "BYYEARDAY, BYDAY or BYSETPOS"
        case .refused(let part, let instead): "\(part) is not supported: \(instead)"
        case .value(let part, let found, let expected):
            "\(part)=\(found): expected \(expected)"
        case .conflict(let what): what
        case .empty(let years):
            "no day in \(years) years matches the rule: use days that exist, such as "
                + "BYMONTHDAY=-1 for the last day of each month"
        case .library(let words): "libical: \(words)"
        }
    }
}
