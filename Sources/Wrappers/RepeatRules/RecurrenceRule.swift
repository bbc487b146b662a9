import ErrandGregorian

/// A recurrence rule by days: an RRULE of RFC 5545, section 3.3.10.
///
/// All parts about days are supported except BYWEEKNO. Parts about times of the day are not: the
/// time is a separate setting.
package struct RecurrenceRule: Sendable, Hashable {
    enum Frequency: String, Sendable, CaseIterable {
        case daily = "DAILY"
        case weekly = "WEEKLY"
        case monthly = "MONTHLY"
        case yearly = "YEARLY"
    }

    /// A day of the week: each, or the nth of a month or year.
    struct NamedDay: Sendable, Hashable {
        /// The day of the week, from 1 for Monday to 7 for Sunday.
        var weekday: Int
        /// The ordinal: 0 for each, negative from the end.
        var ordinal = 0

        static let names = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]

        var text: String { (ordinal == 0 ? "" : "\(ordinal)") + Self.names[weekday - 1] }
    }

    var frequency = Frequency.daily
    var interval = 1
    var count: Int?
    /// The last possible day.
    var until: CivilDate?
    var weekStart = 1
    var months: [Int] = []
    var monthDays: [Int] = []
    var yearDays: [Int] = []
    var days: [NamedDay] = []
    var positions: [Int] = []

    /// Parses a rule without its name, such as `FREQ=WEEKLY;INTERVAL=2;BYDAY=TU`.
    package init(_ text: String) throws(RecurrenceRuleError) {
        var reader = RecurrenceRuleReader()
        self = try reader.read(text)
    }

    /// Creates an empty rule for the reader.
    init() {}
}
