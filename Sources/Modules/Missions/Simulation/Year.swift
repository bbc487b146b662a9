import ErrandMatching

/// A year as it goes, day by day.
struct Year {
    private let town: Town
    private let chance: Chance
    private let days: Int

    private var open: [OpenMission] = []
    private var facts: [Int64: ShopperFacts]
    private var lastOffer: [Int32]
    /// Who accepted which mission: done or missed on its last day.
    private var accepted: [Int64: (mission: OpenMission, shopper: Int64)] = [:]
    private var held: [DayKey: Int] = [:]
    /// Pairs that came to nothing, which are not tried again.
    private var refused: Set<PairSearch.Key> = []
    /// Until which day a shopper may not be at a branch; the branch's place in `mission`.
    private var barred: [PairSearch.Key: Int32] = [:]
    private var lastMission: Int64 = 0

    /// Completed missions of each shopper.
    private(set) var done: [Int]
    private(set) var offered = 0
    private(set) var missedCount = 0
    private(set) var ended = 0
    private(set) var unfilled = 0

    private static let restDays: Int32 = 90

    init(_ town: Town, days: Int, seed: UInt64) {
        self.town = town
        self.days = days
        chance = Chance(seed: seed)
        done = [Int](repeating: 0, count: town.shoppers.count)
        lastOffer = [Int32](repeating: 0, count: town.shoppers.count)
        facts = [:]
        for (place, shopper) in town.shoppers.enumerated() {
            let id = Int64(place + 1)
            var fact = ShopperFacts(
                id: id, radius: shopper.radius, dailyCapacity: shopper.capacity)
            // Hired shoppers have reviewed answers.
            fact.reviewed = 20
            fact.good = Int((20 * shopper.skill).rounded())
            fact.expectedPay = shopper.expectedPay
            facts[id] = fact
        }
    }

    /// One day: missions open, are offered and answered; those that end are done or not.
    mutating func live(
        _ day: Int32, by method: Simulation.Method
    ) throws(MatchingError) {
        openMissions(day)
        let plan = try question(day).answered(greedily: method == .greedy)
        for pair in plan.pairs { answer(pair, on: day) }
        end(day)
    }

    // MARK: Missions

    private mutating func openMissions(_ day: Int32) {
        let most = 2 * town.missionsPerDay
        for number in 0..<Int64(chance.number(0...most, .window, Int64(day))) {
            lastMission += 1
            // By its day and number: the same mission in whatever year it is.
            let name = Int64(day) * 100_000 + number
            let length = Int32(chance.number(2...13, .window, name, 1))
            // One that ends after the year would count for nothing.
            guard day + length < Int32(days) else { continue }
            open.append(
                OpenMission(
                    id: lastMission,
                    branch: Int64(
                        chance.number(0...(town.branches.count - 1), .branch, name)),
                    firstDay: day, dueDay: day + length, restDays: Self.restDays, freeSlots: 1,
                    radius: 20_000, pay: Int64(chance.number(12...30, .window, name, 2)) * 100,
                    hoursLeft: 0))
        }
    }

    private mutating func question(_ day: Int32) -> AssignmentQuestion {
        var question = AssignmentQuestion()
        for var mission in open {
            mission.hoursLeft = Double(mission.dueDay - day) * 24 + 24
            question.missions.append(mission)
            let branch = town.branches[Int(mission.branch)]
            for (place, shopper) in town.shoppers.enumerated() {
                let id = Int64(place + 1)
                guard let distance = shopper.home.distance(to: branch),
                    distance <= min(shopper.radius, mission.radius),
                    !refused.contains(.init(mission: mission.id, shopper: id)),
                    mission.firstDay > barred[.init(mission: mission.branch, shopper: id)] ?? -1
                else { continue }
                question.candidates.append(
                    Candidate(mission: mission.id, shopper: id, distance: distance))
            }
        }
        for (id, fact) in facts {
            var fact = fact
            fact.daysWaiting = Double(day - lastOffer[Int(id) - 1])
            question.shoppers[id] = fact
        }
        question.held = held
        return question
    }

    // MARK: People

    /// A shopper takes the offer, or not; the farther away it is, the less likely.
    private mutating func answer(_ pair: AssignmentPlan.Pair, on day: Int32) {
        offered += 1
        let shopper = town.shoppers[Int(pair.shopper) - 1]
        lastOffer[Int(pair.shopper) - 1] = day
        let likely = shopper.acceptance * (1 - 0.4 * pair.distance / shopper.radius)
        guard let place = open.firstIndex(where: { $0.id == pair.mission }) else { return }
        guard chance.share(.accept, pair.mission, pair.shopper) < likely else {
            refused.insert(.init(mission: pair.mission, shopper: pair.shopper))
            return
        }
        let mission = open.remove(at: place)
        accepted[mission.id] = (mission, pair.shopper)
        held[DayKey(shopper: pair.shopper, day: mission.dueDay), default: 0] += 1
        barred[.init(mission: mission.branch, shopper: pair.shopper)] =
            mission.dueDay + Self.restDays - 1
    }

    private mutating func end(_ day: Int32) {
        for (id, (mission, shopper)) in accepted.sorted(by: { $0.key < $1.key })
        where mission.dueDay == day {
            accepted[id] = nil
            held[DayKey(shopper: shopper, day: day)] = nil
            ended += 1
            perform(id, by: shopper)
        }
        let over = open.count { $0.dueDay == day }
        ended += over
        unfilled += over
        open.removeAll { $0.dueDay == day }
    }

    private mutating func perform(_ mission: Int64, by shopper: Int64) {
        let person = town.shoppers[Int(shopper) - 1]
        guard chance.share(.perform, mission, shopper) < person.reliability else {
            facts[shopper]?.missed += 1
            missedCount += 1
            unfilled += 1
            return
        }
        done[Int(shopper) - 1] += 1
        facts[shopper]?.completed += 1
        facts[shopper]?.reviewed += 1
        if chance.share(.approve, mission, shopper) < person.skill { facts[shopper]?.good += 1 }
    }
}
