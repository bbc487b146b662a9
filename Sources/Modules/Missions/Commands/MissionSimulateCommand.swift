import ErrandCommand
import ErrandTerminal

/// `errand mission simulate`: what a way to assign does to people over a year.
enum MissionSimulateCommand {
    static let all = [simulate]

    private static func size(
        _ name: String, _ fallback: Int, _ range: ClosedRange<Int>, _ help: String
    ) -> Option<Int> {
        .integer(name, default: fallback, range: range, help: help)
    }
    private static let days = size("days", 365, 1...3_650, "How long it lasts")
    private static let cities = size("cities", 3, 1...100, "Cities far from each other")
    private static let branches = size("branches", 60, 1...10_000, "Where missions are")
    private static let shoppers = size("shoppers", 240, 1...10_000, "Who does them")
    private static let missions = size("missions", 24, 0...10_000, "Opened on an average day")
    private static let seed = size("seed", 1, 0...Int.max, "Another one, another year")

    private static let simulate = Command(
        "mission", "simulate", effect: .looks,
        summary: "Play a year of missions, with the best offers and with greedy ones",
        discussion: """
            Needs no server. Both years have the same town, the same missions and the same luck. \
            unfilled_rate is the share of missions that nobody did; gini says how unevenly \
            completed missions are spread over shoppers: 0 when all have the same number, 1 when \
            one has them all. The same options give the same years.
            """,
        examples: [
            .init("errand mission simulate", "a year of three cities"),
            .init("errand mission simulate --shoppers 80 --seed 2", "too few shoppers"),
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
