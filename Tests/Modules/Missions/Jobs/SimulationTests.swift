import ErrandMissions
import Testing

@Suite("A simulated year") struct SimulationTests {
    private static let small: Simulation.Size = {
        var size = Simulation.Size()
        (size.days, size.cities, size.branches, size.shoppers) = (120, 2, 20, 60)
        size.missionsPerDay = 6
        return size
    }()

    @Test func `Gini coefficients are those of the textbook`() {
        for (counts, expected) in [
            ([], 0), ([0, 0, 0], 0), ([4, 4, 4], 0), ([0, 0, 0, 8], 0.75), ([1, 3], 0.25),
            ([3, 1], 0.25), ([1, 2, 3, 4, 5], 4.0 / 15),
        ] as [([Int], Double)] {
            #expect(abs(Simulation.gini(counts) - expected) < 1e-12, "\(counts)")
        }
    }

    @Test func `the same seed gives the same year, and another one another`() throws {
        let year = try Simulation(size: Self.small, seed: 7).year(by: .matching)
        #expect(try Simulation(size: Self.small, seed: 7).year(by: .matching) == year)
        #expect(try Simulation(size: Self.small, seed: 8).year(by: .matching) != year)
    }

    @Test func `what was offered is accounted for, and matching leaves no more free than greedy`()
        throws
    {
        for seed in 1...3 as ClosedRange<UInt64> {
            let simulation = Simulation(size: Self.small, seed: seed)
            let matching = try simulation.year(by: .matching)
            let greedy = try simulation.year(by: .greedy)
            // The same town and the same missions.
            #expect(matching.missions == greedy.missions && matching.missions > 300)
            for year in [matching, greedy] {
                #expect(year.completed + year.unfilled == year.missions)
                #expect(year.missed <= year.unfilled)
                #expect(year.offered >= year.completed + year.missed)
                #expect((0...1).contains(year.gini) && (0...1).contains(year.unfilledRate))
            }
            #expect(matching.unfilledRate <= greedy.unfilledRate + 0.01)
        }
    }

    @Test func `nothing happens where nobody is`() throws {
        var size = Self.small
        size.missionsPerDay = 0
        let year = try Simulation(size: size, seed: 1).year(by: .matching)
        #expect(year.missions == 0 && year.unfilledRate == 0 && year.gini == 0)
        #expect(year.without == 60)
    }
}
