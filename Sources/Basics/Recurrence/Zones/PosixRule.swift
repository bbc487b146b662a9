import ErrandGregorian

/// What holds after the last transition of a zone's file: its footer, a TZ string of POSIX.
struct PosixRule: Sendable, Equatable {
    /// The offset of standard time, or of all time when nothing ever changes.
    let standard: Int
    /// When the clocks change; nil when they never do.
    let summer: SummerTime?

    /// The Gregorian calendar repeats itself, weekdays included, after this many seconds.
    private static let cycle = 146_097 * 86_400

    /// A zone whose clocks never change.
    init(standard: Int) {
        self.standard = standard
        summer = nil
    }

    /// A zone whose clocks change twice a year.
    init(summer: SummerTime) throws(PosixRuleProblem) {
        guard summer.beginsBeforeItEnds else { throw .endsBeforeItBegins }
        let isChanging = summer.offset != summer.standard && !summer.leavesNoStandardTime
        standard = isChanging ? summer.standard : summer.offset
        self.summer = isChanging ? summer : nil
    }

    /// The segment that a second lies in, were the rule valid for all time.
    func segment(at second: Int) -> ZoneSegment {
        guard let summer else { return ZoneSegment(start: .min, end: .max, offset: standard) }
        // Computed in the cycle that begins in 1970, where nothing overflows, then moved.
        var place = second % Self.cycle
        if place < 0 { place += Self.cycle }
        let found = summer.segment(at: place)
        let (start, isBeforeAll) = second.subtractingReportingOverflow(place - found.start)
        let (end, isAfterAll) = second.addingReportingOverflow(found.end - place)
        return ZoneSegment(
            start: isBeforeAll ? .min : start, end: isAfterAll ? .max : end,
            offset: found.offset)
    }
}

/// The part of each year in which a zone's clocks run with another offset than the standard one.
///
/// It is called summer time here whatever it is: Ireland's is in winter, and behind.
struct SummerTime: Sendable, Equatable {
    let standard: Int
    let offset: Int
    /// In standard time.
    let begin: YearlyMoment
    /// In summer time.
    let end: YearlyMoment
    /// Whether in some years one lasts until the next; most rules spare themselves a look.
    private let mayTouch: Bool

    init(standard: Int, offset: Int, begin: YearlyMoment, end: YearlyMoment) {
        self.standard = standard
        self.offset = offset
        self.begin = begin
        self.end = end
        mayTouch = Self.years.contains { year in
            let begun = begin.second(in: year) - standard
            let ends = [year, year + 1].lazy.map { end.second(in: $0) - offset }
            return ends.first { $0 > begun }.map { $0 >= begin.second(in: year + 1) - standard }
                ?? true
        }
    }

    /// The years of one cycle of the calendar.
    private static let years = 1970..<2370

    /// When the summer time of a year begins.
    private func begin(in year: Int) -> Int { begin.second(in: year) - standard }

    /// When the summer time that began in a year ends; in the south that is the next year.
    private func end(in year: Int) -> Int { end(in: year, begun: begin(in: year)) }

    private func end(in year: Int, begun begin: Int) -> Int {
        let end = self.end.second(in: year) - offset
        return begin < end ? end : self.end.second(in: year + 1) - offset
    }

    /// False when times far outside of their day have turned begin and end around.
    var beginsBeforeItEnds: Bool { Self.years.allSatisfy { begin(in: $0) < end(in: $0) } }

    /// Whether each year's summer time lasts until the next one's, as in `EST5EDT4,0/0,J365/25`.
    var leavesNoStandardTime: Bool { Self.years.allSatisfy { end(in: $0) >= begin(in: $0 + 1) } }

    /// The segment that a second of the years 1970 to 2369 lies in.
    ///
    /// Begins ascend from year to year, and so do ends.
    func segment(at second: Int) -> ZoneSegment {
        // Moments lie up to eight days outside of their year, hence the year after.
        var year = CivilDate(daysSince1970: second / 86_400).year
        var start = begin(in: year)
        var next = begin(in: year + 1)
        if next <= second { (year, start, next) = (year + 1, next, begin(in: year + 2)) }
        while start > second { (year, start, next) = (year - 1, begin(in: year - 1), start) }
        var finish = end(in: year, begun: start)
        guard second < finish else {
            return ZoneSegment(start: finish, end: next, offset: standard)
        }
        guard mayTouch else { return ZoneSegment(start: start, end: finish, offset: offset) }
        // Summer times that touch are one; it is known that not all do.
        var last = year
        while finish >= begin(in: last + 1) {
            last += 1
            finish = end(in: last)
        }
        while end(in: year - 1) >= begin(in: year) { year -= 1 }
        return ZoneSegment(start: begin(in: year), end: finish, offset: offset)
    }
}

/// A local time of each year, such as the second Sunday in March at 02:00.
struct YearlyMoment: Sendable, Equatable {
    /// How its day is named.
    enum Day: Sendable, Equatable {
        /// `Jn`, 1 to 365: 29 February is never counted.
        case withoutLeapDay(Int)
        /// `n`, 0 to 365: 29 February is counted.
        case sinceNewYear(Int)
        /// `Mm.w.d`: the wth of a weekday (0 is Sunday) in a month; the fifth is the last.
        case weekday(Int, week: Int, month: Int)
    }

    let day: Day
    /// Seconds after the beginning of that day, or before it.
    let time: Int

    /// Its seconds since 1970, local time taken for UTC.
    func second(in year: Int) -> Int { days(in: year) * 86_400 + time }

    private func days(in year: Int) -> Int {
        switch day {
        case .withoutLeapDay(let day):
            let isAfterLeapDay = day > 59 && CivilDate.isLeap(year)
            return newYear(of: year) + day - (isAfterLeapDay ? 0 : 1)
        case .sinceNewYear(let days):
            return newYear(of: year) + days
        case .weekday(let weekday, let week, let month):
            let first = CivilDate(year: year, month: month, day: 1).daysSince1970
            // 1970-01-01 was a Thursday.
            var ahead = (weekday - first - 4) % 7
            if ahead < 0 { ahead += 7 }
            ahead += 7 * (week - 1)
            return first
                + (ahead < CivilDate.days(inMonth: month, of: year) ? ahead : ahead - 7)
        }
    }

    private func newYear(of year: Int) -> Int {
        CivilDate(year: year, month: 1, day: 1).daysSince1970
    }
}
