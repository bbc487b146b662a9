import ErrandCommand
import ErrandGregorian
import ErrandLedger
import ErrandRecurrence
import ErrandTerminal

/// `errand household stats`: who has done what, as a bar graph needs it.
enum HouseholdStatsCommand {
    static let all = [stats]

    /// A day such as `2026-11-01`.
    private static let dayFormat = ValueFormat<CivilDate>(
        "DAY", expected: "a day such as 2026-11-01"
    ) { text in
        let parts = text.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 3, text.utf8.count == 10, let year = parts[0], let month = parts[1],
            let day = parts[2], (1...9_999).contains(year), (1...12).contains(month),
            (1...CivilDate.days(inMonth: month, of: year)).contains(day)
        else { return nil }
        return CivilDate(year: year, month: month, day: day)
    }
    private static let from = Option<CivilDate?>.value(
        "from", dayFormat, help: "From this day on (default: the last 12 periods)")
    private static let until = Option<CivilDate?>.value(
        "until", dayFormat, help: "Until this day, which is not among them (default: tomorrow)")
    private static let period = Option<ChoreStatistics.Period>.value(
        "by", .choice(of: ChoreStatistics.Period.self, "PERIOD"), default: .week,
        help: "A line for each person and day, week (from Monday), month or year")

    private static let stats = Command(
        "household", "stats", effect: .looks,
        summary: "Count what each has done of a group's chores, by weeks or other periods",
        discussion: """
            A line for each period and person who lived there in it, with 0 for those who had no \
            turn: what a bar graph needs. A turn belongs to the day that it was due on, by the \
            clocks of the group, and to who had it in the end: who steps in has done it, for others.
            """,
        examples: [
            .init("errand household stats 12", "the last 12 weeks"),
            .init(
                "errand household stats 12 --from 2026-01-01 --until 2027-01-01 --by month -ojson",
                "a year for a graph"),
        ],
        options: [from, until, period], arguments: [HouseholdWords.id]
    ) { invocation in
        let (id, session) = (invocation[HouseholdWords.id], try invocation.session())
        let group = try await HouseholdWords.group(id, session)
        let end: CivilDate
        if let until = invocation[until] {
            end = until
        } else {
            let today = try HouseholdWords.today(group.zone, invocation)
            end = CivilDate(daysSince1970: today.daysSince1970 + 1)
        }
        let begin = invocation[from] ?? start(of: 12, invocation[period], before: end)
        guard begin < end else {
            throw CommandFailure(
                exit: .usage,
                message: "--from \(begin.isoText): expected a day before \(end.isoText)",
                hint: "--until is the first day that does not count")
        }
        let periods = try await ChoreRows(session: session).statistics(
            of: Int64(id), from: begin.isoText, until: end.isoText, by: invocation[period])
        try invocation.output.list(
            periods.map(HouseholdWords.record),
            empty: "nobody of group \(id) had a turn from \(begin.isoText) until \(end.isoText)")
        return .done
    }

    /// The first day of the period that comes some periods before another's.
    static func start(
        of count: Int, _ period: ChoreStatistics.Period, before end: CivilDate
    ) -> CivilDate {
        let last = CivilDate(daysSince1970: end.daysSince1970 - 1)
        switch period {
        case .day: return CivilDate(daysSince1970: end.daysSince1970 - count)
        case .week:
            let monday = last.daysSince1970 - (last.weekday + 6) % 7
            return CivilDate(daysSince1970: monday - 7 * (count - 1))
        case .month:
            let months = last.year * 12 + last.month - count
            return CivilDate(year: months / 12, month: months % 12 + 1, day: 1)
        case .year: return CivilDate(year: max(last.year - count + 1, 1), month: 1, day: 1)
        }
    }
}
