import ErrandGregorian

/// When something repeats by days: an RRULE of RFC 5545, section 3.3.10.
///
/// All parts that speak of days are taken but BYWEEKNO. Times of the day are not: what repeats
/// here has a day, and its time is said elsewhere.
package struct RecurrenceRule: Sendable, Hashable {
    enum Frequency: String, Sendable, CaseIterable {
        case daily = "DAILY"
        case weekly = "WEEKLY"
        case monthly = "MONTHLY"
        case yearly = "YEARLY"
    }

    /// A day of the week, each or the nth of a month or year; from the end below 0.
    struct NamedDay: Sendable, Hashable {
        /// 1 is Monday, 7 is Sunday.
        var weekday: Int
        /// 0 for each.
        var ordinal = 0

        static let names = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]

        var text: String { (ordinal == 0 ? "" : "\(ordinal)") + Self.names[weekday - 1] }
    }

    var frequency = Frequency.daily
    var interval = 1
    var count: Int?
    /// The last day on which it may be.
    var until: CivilDate?
    var weekStart = 1
    var months: [Int] = []
    var monthDays: [Int] = []
    var yearDays: [Int] = []
    var days: [NamedDay] = []
    var positions: [Int] = []

    /// Reads a rule without its name, such as `FREQ=WEEKLY;INTERVAL=2;BYDAY=TU`.
    package init(_ text: String) throws(RecurrenceRuleError) {
        var reader = RecurrenceRuleReader()
        self = try reader.read(text)
    }

    /// For the reader, who fills it.
    init() {}
}
