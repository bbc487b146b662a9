import ErrandCommand
import ErrandTerminal

/// `errand mission simulate`: compares assignment methods over a simulated year.
enum MissionSimulateCommand {
    static let all = [simulate]

    private static func size(
        _ name: String, _ fallback: Int, _ range: ClosedRange<Int>, _ help: String
    ) -> Option<Int> {
        .integer(name, default: fallback, range: range, help: help)
    }
    private static let days = size("days", 365, 1...3_650, "Number of simulated days")
    private static let cities = size("cities", 3, 1...100, "Number of cities")
    private static let branches = size("branches", 60, 1...10_000, "Number of branches")
    private static let shoppers = size("shoppers", 240, 1...10_000, "Number of shoppers")
    private static let missions = size("missions", 24, 0...10_000, "Average missions per day")
    private static let seed = size("seed", 1, 0...Int.max, "Seed of the random numbers")

    private static let simulate = Command(
        "mission", "simulate", effect: .read,
        summary: "Simulate a year of missions with optimal and with greedy assignment",
        discussion: """
            Needs no server. Both methods get the same people, missions and random numbers. \
            unfilled_rate is the share of missions that nobody did. gini is the Gini coefficient \
            of completed missions per shopper: 0 if all have the same number, 1 if one shopper has \
            all of them. The same options give the same results.
            """,
        examples: [
            .init("errand mission simulate", "a year in three cities"),
            .init("errand mission simulate --shoppers 80 --seed 2", "a year with few shoppers"),
        ],
        options: [days, cities, branches, shoppers, missions, seed]
    ) { invocation in
        var size = Simulation.Size()
        size.days = invocation[days]
        size.cities = invocation[cities]
        size.branches = invocation[branches]
        size.shoppers = invocation[shoppers]
        size.missionsPerDay = invocation[missions]
        let simulation = Simulation(size: size, seed: UInt64(invocation[seed]))
        var records: [Record] = []
        for method in Simulation.Method.allCases {
            let year = try simulation.year(by: method)
            records.append(
                Record([
                    ("method", .text(method.rawValue)), ("missions", .int(year.missions)),
                    ("offered", .int(year.offered)), ("completed", .int(year.completed)),
                    ("missed", .int(year.missed)), ("unfilled", .int(year.unfilled)),
                    ("unfilled_rate", .number(year.unfilledRate, decimals: 4)),
                    ("gini", .number(year.gini, decimals: 4)),
                    ("without", .int(year.without)),
                ]))
        }
        try invocation.output.list(records)
        return .done
    }
}
