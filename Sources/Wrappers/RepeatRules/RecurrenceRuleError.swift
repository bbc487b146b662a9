/// Why a text is no rule by which something repeats, with what to do about it.
package enum RecurrenceRuleError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A part that is not `NAME=VALUE`, or stands there twice; the part as it was given.
    case malformed(String)
    /// No part of that name is known.
    case unknown(String)
    /// A part is known and not taken, because things repeat by days; why, and what to use.
    case refused(part: String, instead: String)
    /// A value of a part that cannot be; what is expected.
    case value(part: String, found: String, expected: String)
    /// Parts that exclude each other, or that need another; in words.
    case conflict(String)
    /// The rule names no day in so many years after its start, as 30 February.
    case empty(years: Int)
    /// libical failed; its own words.
    case library(String)

    /// One line that says what is wrong and what to do.
    package var description: String {
        switch self {
        case .malformed(let part):
            "`\(part)`: expected each part once, as NAME=VALUE, with `;` between parts, "
                + "such as FREQ=WEEKLY;INTERVAL=2;BYDAY=TU"
        case .unknown(let part):
            "\(part): expected FREQ, INTERVAL, COUNT, UNTIL, WKST, BYMONTH, BYMONTHDAY, "
                + "BYYEARDAY, BYDAY or BYSETPOS"
        case .refused(let part, let instead): "\(part) is not taken: \(instead)"
        case .value(let part, let found, let expected):
            "\(part)=\(found): expected \(expected)"
        case .conflict(let what): what
        case .empty(let years):
            "no day in \(years) years is as the rule says: expected days that there are, for the "
                + "last of each month BYMONTHDAY=-1"
        case .library(let words): "libical: \(words)"
        }
    }
}
