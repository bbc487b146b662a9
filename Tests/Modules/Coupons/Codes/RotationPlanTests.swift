import ErrandCoupons
import Testing

@Suite("Plans of rotations") struct RotationPlanTests {
    /// Epochs of 30 s from a start on, all as they are made.
    private func epochs(_ starts: Int64...) -> [Epoch] {
        starts.map { Epoch(start: $0, slot: Int16($0 / 30 % 32), goodUntil: $0 + 60) }
    }

    private func plan(_ epochs: [Epoch], at now: Int64, ahead: Int = 2) -> RotationPlan {
        RotationPlan(epochs, now: now, period: 30, ahead: ahead)
    }

    @Test("the first one makes the present epoch and those ahead, on the clock's own steps")
    func first() {
        let plan = plan([], at: 1_000_000_017)
        #expect(plan.made.map(\.start) == [999_999_990, 1_000_000_020, 1_000_000_050])
        #expect(plan.made.map(\.slot) == [0, 1, 2])
        #expect(plan.made.map(\.goodUntil) == [1_000_000_050, 1_000_000_080, 1_000_000_110])
        #expect(plan.destroyed.isEmpty && plan.prolonged == nil)
    }

    @Test("nothing is done while there is enough")
    func enough() {
        let all = epochs(300, 330, 360)
        for now in Int64(300)..<330 { #expect(plan(all, at: now) == plan([], at: 0, ahead: 0)) }
    }

    @Test("each turn makes one, and destroys one when its grace is over")
    func turn() {
        let plan = plan(epochs(270, 300, 330, 360), at: 330)
        #expect(plan.made == [Epoch(start: 390, slot: 13, goodUntil: 450)])
        #expect(plan.destroyed == [270])
        #expect(plan.prolonged == nil)
    }

    @Test("the last one is kept, however old, until the next has had its grace")
    func late() throws {
        let plan = plan(epochs(270, 300), at: 1_000)
        #expect(plan.made.map(\.start) == [1_000, 1_030, 1_060])
        #expect(plan.destroyed == [270])
        // Whoever was shown a code before the turn has a period to use it.
        #expect(plan.prolonged == Epoch(start: 300, slot: 10, goodUntil: 1_030))
    }

    @Test("a new period holds from the next epoch on")
    func period() {
        let plan = RotationPlan(epochs(300, 330), now: 310, period: 60, ahead: 3)
        #expect(plan.made.map(\.start) == [390, 450])
        #expect(plan.prolonged == Epoch(start: 330, slot: 11, goodUntil: 450))
    }

    @Test("slots go round")
    func slots() {
        let last = Epoch(start: 330, slot: 31, goodUntil: 390)
        #expect(plan([last], at: 340).made.map(\.slot) == [0, 1])
    }

    @Test("after a leak nothing is left, and no slot of before means anything")
    func replacing() {
        let plan = RotationPlan(
            replacing: epochs(270, 300, 330, 360), now: 317, period: 30, ahead: 2)
        #expect(plan.made.map(\.start) == [317, 347, 377])
        #expect(plan.made.map(\.slot) == [13, 14, 15])
        #expect(plan.destroyed == [270, 300, 330, 360])
        #expect(plan.prolonged == nil)
        // No code of before names an epoch of now.
        let atOnce = RotationPlan(replacing: epochs(269, 270), now: 270, period: 30, ahead: 1)
        #expect(atOnce.made.map(\.start) == [268, 298])
    }

    @Test("a clock that was set back finds new epochs, and no code of a time to come")
    func setBack() {
        let plan = plan(epochs(300, 330, 360), at: 200)
        #expect(plan.made.map(\.start) == [200, 230, 260])
        #expect(plan.destroyed == [300, 330, 360])
        #expect(plan.prolonged == nil)
    }

    @Test("whenever it runs, one epoch is present, the next are there, and none is lost too early")
    func always() {
        var (epochs, now): ([Epoch], Int64) = ([], 1_000_000_000)
        var random = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            let plan = plan(epochs, at: now, ahead: 5)
            let (before, shown) = (epochs, epochs.last { $0.start <= now - 1 })
            epochs.removeAll { plan.destroyed.contains($0.start) }
            if let prolonged = plan.prolonged {
                epochs.removeAll { $0.start == prolonged.start }
                epochs = (epochs + [prolonged]).sorted { $0.start < $1.start }
            }
            epochs += plan.made
            #expect(epochs == epochs.sorted { $0.start < $1.start })
            #expect(Set(epochs.map(\.start)).count == epochs.count)
            #expect(epochs.contains { $0.start <= now })
            #expect(epochs.count { $0.start > now } >= 5)
            // What somebody was shown a second ago is taken for a period more.
            if let shown {
                let kept = epochs.first { $0.start == shown.start }
                let next = epochs.first { $0.start > shown.start }
                #expect(kept != nil, "\(before) \(now)")
                if let kept, let next, next.start <= now {
                    #expect(kept.goodUntil >= next.start + 30, "\(before) \(now)")
                    #expect(next.start >= now - 30)
                }
            }
            #expect(epochs.count <= 10)
            now += Int64.random(in: 1...(Bool.random() ? 40 : 1_000), using: &random)
        }
    }
}
