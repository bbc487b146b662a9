import ErrandSurveys
import Testing

@Suite("A simulated month of surveys") struct SurveySimulationTests {
    private static let small: Simulation.Size = {
        var size = Simulation.Size()
        (size.establishments, size.branches, size.people) = (4, 10, 200)
        return size
    }()

    @Test func `the same seed gives the same month, and another one another`() {
        let month = Simulation(size: Self.small, seed: 7).month()
        #expect(Simulation(size: Self.small, seed: 7).month() == month)
        #expect(Simulation(size: Self.small, seed: 8).month() != month)
    }

    @Test func `every invitation is completed, expired or open at the end`() {
        for seed in 1...5 as ClosedRange<UInt64> {
            let month = Simulation(size: Self.small, seed: seed).month()
            let total = month.total
            #expect(month.weeks.count == 5)
            #expect(total.given == total.completed + total.expired + month.open)
            #expect(total.given > 500 && total.completed > 100 && total.expired > 0)
            #expect(total.coupons <= total.completed && total.redeemed <= total.coupons)
            #expect(total.rejected <= total.reviewed && total.reviewed <= total.completed)
            #expect(total.reviewed * 20 >= total.completed, "a tenth is sampled")
            #expect(total.flags * 2 <= total.rejected)
            #expect(total.rewards >= total.completed * 50 && total.badges > 0)
        }
    }

    @Test func `a city of one, and no day at all`() {
        var size = Simulation.Size()
        (size.days, size.establishments, size.branches, size.people) = (1, 0, 0, 0)
        #expect(Simulation(size: size, seed: 1).month().weeks.count == 1)
        size.days = 0
        #expect(Simulation(size: size, seed: 1).month().weeks.isEmpty)
    }
}
