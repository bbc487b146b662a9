package import ErrandMatching

/// A year of missions that never was, to see what assignments do to people over time: the same
/// town, the same missions and the same luck for each way to assign.
///
/// Pure: the same seed gives the same year. Places are kilometres on a plane; cities are far from
/// each other. Each day missions are opened, those that are open are assigned, offers are answered,
/// and what was accepted is done or missed on its last day.
package struct Simulation: Sendable {
    /// How large the year is.
    package struct Size: Equatable, Sendable {
        package var days = 365
        package var cities = 3
        package var branches = 60
        package var shoppers = 240
        /// On an average day.
        package var missionsPerDay = 24

        package init() {}
    }

    /// How missions are given away.
    package enum Method: String, CaseIterable, Sendable {
        /// The largest total score.
        case matching
        /// The best score that fits, again and again.
        case greedy
    }

    /// What came of a year.
    package struct Outcome: Equatable, Sendable {
        package let method: Method
        package let missions: Int
        package let offered: Int
        package let completed: Int
        package let missed: Int
        /// Missions that nobody did.
        package let unfilled: Int
        /// Of the completed missions of each shopper: 0 when all have the same, up to 1.
        package let gini: Double
        /// Shoppers who got none all year.
        package let without: Int

        /// Of all missions that ended within the year.
        package var unfilledRate: Double {
            missions == 0 ? 0 : Double(unfilled) / Double(missions)
        }
    }

    private let town: Town
    private let size: Size
    private let seed: UInt64

    package init(size: Size = Size(), seed: UInt64) {
        self.size = size
        self.seed = seed
        town = Town(size, seed: seed)
    }

    /// The year with one way to assign.
    package func year(by method: Method) throws(MatchingError) -> Outcome {
        var year = Year(town, days: size.days, seed: seed)
        for day in 0..<Int32(size.days) { try year.live(day, by: method) }
        let done = year.done.sorted()
        return Outcome(
            method: method, missions: year.ended, offered: year.offered,
            completed: done.reduce(0, +), missed: year.missedCount, unfilled: year.unfilled,
            gini: Self.gini(done), without: done.count { $0 == 0 })
    }

    /// The Gini coefficient of counts: half the mean difference of two of them, by their mean.
    ///
    /// 0 for no counts, and where all are 0.
    package static func gini(_ counts: [Int]) -> Double {
        let sum = counts.reduce(0, +)
        guard sum > 0 else { return 0 }
        let number = counts.count
        var weighted = 0
        for (place, count) in counts.sorted().enumerated() {
            weighted += (2 * (place + 1) - number - 1) * count
        }
        return Double(weighted) / (Double(number) * Double(sum))
    }
}
