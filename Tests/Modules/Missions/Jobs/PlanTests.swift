import ErrandMissions
import ErrandTestServices
import Testing

@Suite("Plans of offers") struct PlanTests {
    private func mission(
        _ id: Int64, branch: Int64 = 0, days: ClosedRange<Int32> = 10...10, rest: Int32 = 90,
        slots: Int64 = 1, hours: Double = 400
    ) -> OpenMission {
        OpenMission(
            id: id, branch: branch == 0 ? id : branch, firstDay: days.lowerBound,
            dueDay: days.upperBound, restDays: rest, freeSlots: slots, radius: 10_000, pay: 1_000,
            hoursLeft: hours)
    }

    private func question(
        _ missions: [OpenMission], shoppers: [Int64: Int],
        _ pairs: [(mission: Int64, shopper: Int64, distance: Double)],
        held: [DayKey: Int] = [:]
    ) -> AssignmentQuestion {
        var question = AssignmentQuestion()
        question.missions = missions
        for (id, capacity) in shoppers {
            question.shoppers[id] = ShopperFacts(id: id, radius: 10_000, dailyCapacity: capacity)
        }
        question.candidates = pairs.map {
            Candidate(mission: $0.mission, shopper: $0.shopper, distance: $0.distance)
        }
        question.held = held
        return question
    }

    private func pairs(_ plan: AssignmentPlan) -> [[Int64]] {
        plan.pairs.map { [$0.mission, $0.shopper] }
    }

    @Test func `as many slots as can be are filled, then by the parts`() throws {
        // Greedy gives mission 1 to shopper 7, who alone can do mission 2.
        let asked = question(
            [mission(1), mission(2)], shoppers: [7: 1, 8: 1],
            [(1, 7, 0), (1, 8, 9_000), (2, 7, 5_000)])
        let plan = try asked.answered()
        #expect(pairs(plan) == [[1, 8], [2, 7]])
        #expect(plan.unfilled.isEmpty && plan.isOptimal && !plan.isCutShort)
        #expect(plan.totalScore == plan.pairs.reduce(0) { $0 + $1.score })
        #expect(plan.pairs.map(\.distance) == [9_000, 5_000])
        let greedy = try asked.answered(greedily: true)
        #expect(pairs(greedy) == [[1, 7]])
        #expect(greedy.unfilled.map(\.mission) == [2])
        #expect(greedy.unfilled.map(\.reason) == ["all_taken"])
        let late = try asked.answered(until: { true })
        #expect(late.isCutShort && late.bound >= plan.totalScore)
    }

    @Test func `of two missions the one that ends sooner is filled`() throws {
        let plan = try question(
            [mission(1, hours: 100), mission(2, hours: 99)], shoppers: [7: 1],
            [(1, 7, 0), (2, 7, 9_999)]
        ).answered()
        #expect(pairs(plan) == [[2, 7]])
    }

    @Test func `capacity is that of a day, without what is held`() throws {
        let missions = [mission(1), mission(2), mission(3, days: 11...11), mission(4)]
        let all = missions.map { (mission: $0.id, shopper: Int64(7), distance: 100.0) }
        let free = try question(missions, shoppers: [7: 2], all).answered()
        #expect(free.pairs.count == 3 && pairs(free).contains([3, 7]))
        let held = try question(
            missions, shoppers: [7: 2], all,
            held: [DayKey(shopper: 7, day: 10): 1, DayKey(shopper: 7, day: 11): 5]
        ).answered()
        #expect(held.pairs.count == 1 && !pairs(held).contains([3, 7]))
    }

    @Test func `two missions at a branch go to two people, or far enough apart to one`() throws {
        let near = [mission(1, branch: 5, days: 10...12), mission(2, branch: 5, days: 90...91)]
        let both: [(mission: Int64, shopper: Int64, distance: Double)] = [(1, 7, 0), (2, 7, 0)]
        let one = try question(near, shoppers: [7: 9], both).answered()
        #expect(one.pairs.count == 1)
        #expect(one.unfilled.map(\.slots) == [1])
        #expect(one.bound > one.totalScore)
        let two = try question(near, shoppers: [7: 9, 8: 9], both + [(2, 8, 9_000)]).answered()
        #expect(pairs(two) == [[1, 7], [2, 8]])
        let far = [mission(1, branch: 5, days: 10...12), mission(2, branch: 5, days: 102...103)]
        #expect(try question(far, shoppers: [7: 9], both).answered().pairs.count == 2)
        let other = [mission(1, branch: 5), mission(2, branch: 6)]
        #expect(try question(other, shoppers: [7: 9], both).answered().pairs.count == 2)
    }

    @Test func `what three rounds leave is given to those who may go there`() throws {
        // Each round closes one of them to a shopper, and the next shopper takes all of them.
        let missions = (1...6).map { mission($0, branch: 5) }
        var all: [(mission: Int64, shopper: Int64, distance: Double)] = []
        for shopper in 7...12 as ClosedRange<Int64> {
            for id in 1...6 as ClosedRange<Int64> {
                all.append((id, shopper, Double(shopper) * 500))
            }
        }
        let everybody = Dictionary(
            uniqueKeysWithValues: (7...12 as ClosedRange<Int64>).map { ($0, 9) })
        let plan = try question(missions, shoppers: everybody, all).answered()
        #expect(Set(plan.pairs.map(\.shopper)).count == 6)
        #expect(plan.pairs.count == 6 && plan.unfilled.isEmpty)
        let few = try question(
            missions, shoppers: everybody.filter { $0.key < 9 }, all.filter { $0.shopper < 9 }
        ).answered()
        #expect(few.pairs.count == 2)
        #expect(Set(few.unfilled.map(\.reason)) == ["rests"])
        #expect(few.unfilled.reduce(0) { $0 + $1.slots } == 4)
    }

    /// By an own reading of the rules, on random questions.
    @Test func `no plan breaks a rule, and greedy never beats it`() throws {
        var random = SplitMix(seed: 1)
        for _ in 0..<300 {
            let (missions, shoppers, pairs) = town(&random)
            var held: [DayKey: Int] = [:]
            for id in shoppers.keys.sorted() where random.number(0...3) == 0 {
                held[DayKey(shopper: id, day: 10)] = 1
            }
            let asked = question(missions, shoppers: shoppers, pairs, held: held)
            let plan = try asked.answered()
            #expect(try asked.answered() == plan)
            var shuffled = asked
            shuffled.candidates.shuffle(using: &random)
            shuffled.missions.shuffle(using: &random)
            #expect(try shuffled.answered() == plan)
            let greedy = try asked.answered(greedily: true)
            for each in [plan, greedy] {
                expectRules(each, missions, shoppers, pairs, held)
                #expect(each.totalScore <= plan.bound)
            }
            #expect(greedy.totalScore <= plan.totalScore)
        }
    }

    private typealias Pair = (mission: Int64, shopper: Int64, distance: Double)

    private func town(_ random: inout SplitMix) -> ([OpenMission], [Int64: Int], [Pair]) {
        let missions = (1...random.number(1...8 as ClosedRange<Int64>)).map { id in
            let first = random.number(10...40 as ClosedRange<Int32>)
            return mission(
                id, branch: random.number(1...6),
                days: first...(first + random.number(0...9)), rest: random.number(0...30),
                slots: random.number(1...3), hours: Double(random.number(1...400)))
        }
        var shoppers: [Int64: Int] = [:]
        for id in 101...random.number(101...108 as ClosedRange<Int64>) {
            shoppers[id] = random.number(0...2)
        }
        var pairs: [Pair] = []
        for mission in missions {
            for id in shoppers.keys.sorted() where random.number(0...1) == 0 {
                pairs.append((mission.id, id, Double(random.number(0...10_000))))
            }
        }
        return (missions, shoppers, pairs)
    }

    private func expectRules(
        _ plan: AssignmentPlan, _ missions: [OpenMission], _ shoppers: [Int64: Int],
        _ pairs: [Pair], _ held: [DayKey: Int]
    ) {
        let known = Set(pairs.map { [$0.mission, $0.shopper] })
        #expect(Set(self.pairs(plan)).count == plan.pairs.count)
        for mission in missions {
            let mine = plan.pairs.count { $0.mission == mission.id }
            let free = plan.unfilled.filter { $0.mission == mission.id }.reduce(0) { $0 + $1.slots }
            #expect(Int64(mine) + free == mission.freeSlots)
        }
        for (id, capacity) in shoppers {
            let mine = missions.filter { mission in
                plan.pairs.contains { $0.shopper == id && $0.mission == mission.id }
            }
            for day in Set(mine.map(\.dueDay)) {
                let count = mine.count { $0.dueDay == day }
                #expect(count + (held[DayKey(shopper: id, day: day)] ?? 0) <= capacity)
            }
            for one in mine {
                #expect(known.contains([one.id, id]))
                for other in mine where other.id != one.id && other.branch == one.branch {
                    let (early, late) = one.firstDay <= other.firstDay ? (one, other) : (other, one)
                    #expect(late.firstDay > early.dueDay)
                    #expect(late.firstDay >= early.dueDay + early.restDays)
                }
            }
        }
    }
}
