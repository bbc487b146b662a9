import ErrandCommand
import ErrandGregorian
import ErrandLedger
import ErrandRecurrence
import ErrandTerminal

/// `errand household stats`: chores done per person and period.
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
        "from", dayFormat, help: "First day (default: the start of the last 12 periods)")
    private static let until = Option<CivilDate?>.value(
        "until", dayFormat, help: "Day after the last one (default: tomorrow)")
    private static let period = Option<ChoreStatistics.Period>.value(
        "by", .choice(of: ChoreStatistics.Period.self, "PERIOD"), default: .week,
        help: "Length of a period: day, week (from Monday), month or year")

    private static let stats = Command(
        "household", "stats", effect: .read,
        summary: "Count the chores done by each member of a group, by week or other period",
        discussion: """
            Prints a line for each period and each person who lived in the group during it, with 0 \
            for people who had no turn. A turn counts on the day it was due, in the group's time \
            zone, and for its final assignee: a person who takes over a turn has done it, for \
            others.
            """,
        examples: [
            .init("errand household stats 12", "the last 12 weeks"),
            .init(
                "errand household stats 12 --from 2026-01-01 --until 2027-01-01 --by month -ojson",
                "one year by month, as JSON for a graph"),
        ],
        options: [from, until, period], arguments: [HouseholdFormatting.id]
    ) { invocation in
        let (id, session) = (invocation[HouseholdFormatting.id], try invocation.session())
        let group = try await HouseholdFormatting.group(id, session)
        let end: CivilDate
        if let until = invocation[until] {
            end = until
        } else {
            let today = try HouseholdFormatting.today(group.zone, invocation)
            end = CivilDate(daysSince1970: today.daysSince1970 + 1)
        }
        let begin = invocation[from] ?? start(of: 12, invocation[period], before: end)
        guard begin < end else {
            throw CommandFailure(
                exit: .usage,
                message: "--from \(begin.isoText): expected a day before \(end.isoText)",
                hint: "--until is the day after the last one that counts")
        }
        let periods = try await ChoreRows(session: session).statistics(
            of: Int64(id), from: begin.isoText, until: end.isoText, by: invocation[period])
        try invocation.output.list(
            periods.map(HouseholdFormatting.record),
            empty: "nobody in group \(id) had a turn from \(begin.isoText) until \(end.isoText)")
        return .done
    }

    /// The first day of the oldest of the `count` periods that end before `end`.
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
