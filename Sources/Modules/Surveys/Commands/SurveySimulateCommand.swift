import ErrandCommand
import ErrandTerminal

/// `errand survey simulate`: a month of a city that never was.
enum SurveySimulateCommand {
    static let all = [simulate]

    private static func size(
        _ name: String, _ fallback: Int, _ range: ClosedRange<Int>, _ help: String
    ) -> Option<Int> {
        .integer(name, default: fallback, range: range, help: help)
    }
    private static let days = size("days", 30, 1...366, "Number of simulated days")
    private static let establishments = size(
        "establishments", 10, 1...1_000, "Number of establishments, each with a survey")
    private static let branches = size(
        "branches", 40, 1...10_000, "Number of branches; at least one per establishment")
    private static let people = size("people", 1_000, 1...100_000, "Number of people")
    private static let seed = size("seed", 1, 0...Int.max, "Seed of the random numbers")

    private static let simulate = Command(
        "survey", "simulate", effect: .read,
        summary: "Simulate a month of surveys in a city, week by week",
        discussion: """
            Needs no server. People buy, scan receipts, answer surveys and redeem coupons, with \
            the rules of the app: 10 scans a day, 3 of a branch, reminders 3 days and 1 day \
            before the end, 10 % of the answers and all that look careless to review. REWARDS is \
            the people's share in minor units. FLAGS are people with two bad answers in a row. \
            The last line is the whole month. The same options give the same results.
            """,
        examples: [
            .init("errand survey simulate", "a month of 1,000 people"),
            .init("errand survey simulate --people 200 --seed 2 -ojson", "for programs"),
        ],
        options: [days, establishments, branches, people, seed]
    ) { invocation in
        var size = Simulation.Size()
        size.days = invocation[days]
        size.establishments = invocation[establishments]
        size.branches = invocation[branches]
        size.people = invocation[people]
        let month = Simulation(size: size, seed: UInt64(invocation[seed])).month()
        var records = zip(1..., month.weeks).map { record(String($0), $1) }
        records.append(record("all", month.total))
        try invocation.output.list(records)
        invocation.output.note("open at the end: \(HumanFormat.count(month.open))")
        return .done
    }

    private static func record(_ week: String, _ counts: Simulation.Counts) -> Record {
        Record([
            ("week", .text(week)), ("given", .int(counts.given)),
            ("refused", .int(counts.refused)), ("reminders", .int(counts.reminded)),
            ("completed", .int(counts.completed)), ("expired", .int(counts.expired)),
            ("rewards", .int(counts.rewards)), ("coupons", .int(counts.coupons)),
            ("redeemed", .int(counts.redeemed)), ("badges", .int(counts.badges)),
            ("reviewed", .int(counts.reviewed)), ("rejected", .int(counts.rejected)),
            ("flags", .int(counts.flags)),
        ])
    }
}
