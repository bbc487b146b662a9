package import ErrandMatching

/// A mission that has free slots, as far as its assignment needs to know.
package struct OpenMission: Equatable, Sendable {
    package var id: Int64
    package var branch: Int64
    /// Days since some day, by the clocks of the branch: the first one of the mission, and the one
    /// for which it counts against capacity.
    package var firstDay: Int32
    package var dueDay: Int32
    package var restDays: Int32
    package var freeSlots: Int64
    /// In metres.
    package var radius: Double
    /// In minor units.
    package var pay: Int64
    package var hoursLeft: Double

    package init(
        id: Int64, branch: Int64, firstDay: Int32, dueDay: Int32, restDays: Int32, freeSlots: Int64,
        radius: Double, pay: Int64, hoursLeft: Double
    ) {
        self.id = id
        self.branch = branch
        self.firstDay = firstDay
        self.dueDay = dueDay
        self.restDays = restDays
        self.freeSlots = freeSlots
        self.radius = radius
        self.pay = pay
        self.hoursLeft = hoursLeft
    }

    /// Whether somebody who goes to the one may not go to the other: the same branch, too soon.
    func excludes(_ other: OpenMission) -> Bool {
        branch == other.branch && firstDay < other.freeFrom && other.firstDay < freeFrom
    }

    /// The first day on which who was sent here may come again; never the same day.
    private var freeFrom: Int32 { dueDay &+ max(restDays, 1) }
}

/// A shopper, as far as assignment needs to know.
package struct ShopperFacts: Equatable, Sendable {
    package var id: Int64
    package var reviewed = 0
    package var good = 0
    package var expectedPay: Int64?
    package var daysWaiting: Double = 0
    package var completed = 0
    package var missed = 0
    /// In metres.
    package var radius: Double
    package var dailyCapacity: Int

    package init(id: Int64, radius: Double, dailyCapacity: Int) {
        self.id = id
        self.radius = radius
        self.dailyCapacity = dailyCapacity
    }
}

/// A shopper who may take a mission, by all hard rules but capacity.
package struct Candidate: Equatable, Sendable {
    package var mission: Int64
    package var shopper: Int64
    /// In metres.
    package var distance: Double

    package init(mission: Int64, shopper: Int64, distance: Double) {
        self.mission = mission
        self.shopper = shopper
        self.distance = distance
    }
}

/// What missions a shopper holds on a day already.
package struct DayKey: Hashable, Comparable, Sendable {
    package var shopper: Int64
    package var day: Int32

    package init(shopper: Int64, day: Int32) {
        self.shopper = shopper
        self.day = day
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.shopper, left.day) < (right.shopper, right.day)
    }
}

/// Everything that an assignment is found from; the same gives the same.
package struct AssignmentQuestion: Sendable {
    package var missions: [OpenMission] = []
    package var candidates: [Candidate] = []
    package var shoppers: [Int64: ShopperFacts] = [:]
    package var held: [DayKey: Int] = [:]
    /// Whether there are more open missions, which end later: too many for one search.
    package var leavesOut = false
    package var weights = ScoreWeights()

    package init() {}

    /// The facts by which a shopper is weighed for a mission.
    package static func facts(
        _ mission: OpenMission, _ shopper: ShopperFacts, distance: Double
    ) -> PairFacts {
        var facts = PairFacts()
        (facts.reviewed, facts.good) = (shopper.reviewed, shopper.good)
        facts.distance = distance
        facts.reach = min(shopper.radius, mission.radius)
        (facts.pay, facts.expectedPay) = (mission.pay, shopper.expectedPay)
        facts.daysWaiting = shopper.daysWaiting
        (facts.completed, facts.missed) = (shopper.completed, shopper.missed)
        facts.hoursLeft = mission.hoursLeft
        return facts
    }
}

/// Who is to be offered what, and how good that is.
package struct AssignmentPlan: Equatable, Sendable {
    /// An offer to be made.
    package struct Pair: Equatable, Sendable {
        package let mission: Int64
        package let shopper: Int64
        package let score: Int64
        package let distance: Double
    }

    /// Free slots of one mission, and why they stay so.
    package struct Unfilled: Equatable, Sendable {
        package let mission: Int64
        /// A reason of ``Solution``, or ``AssignmentPlan/rests``.
        package let reason: String
        package let slots: Int64

        /// Whether others may be found once the offers of this plan are made.
        var isForNow: Bool { reason == Solution.Reason.allTaken.rawValue }
    }

    /// All who have time for the slot were at the branch, or will be, too soon.
    package static let rests = "rests"

    /// By mission, then shopper.
    package var pairs: [Pair] = []
    /// By mission.
    package var unfilled: [Unfilled] = []
    package var totalScore: Int64 = 0
    /// No offers that keep the rules are worth more.
    package var bound: Int64 = 0
    /// Whether the time was up before the search was through.
    package var isCutShort = false
    /// Whether missions that end later were not looked at, because there are too many.
    package var leavesOut = false
    package var missions = 0
    package var slots: Int64 = 0
    package var shoppers = 0
    package var candidates = 0

    package init() {}

    /// Whether the bound proves that nothing better exists.
    package var isOptimal: Bool { totalScore == bound }
}

extension AssignmentQuestion {
    /// How often a shopper's visits to one branch are taken apart by another search.
    private static let rounds = 3

    /// The best offers: a maximum-weight b-matching between missions and the days of shoppers.
    ///
    /// What a matching cannot say is that two missions at one branch may be too near in time for
    /// the same shopper. Where that happens the worse one is closed to them and the search is
    /// repeated, up to three times. What is left after each search is filled greedily, and the best
    /// of all these plans is taken.
    /// - Parameters:
    ///   - isGreedy: takes the best score that fits instead, again and again: to be compared with.
    ///   - isOver: asked now and then; true ends the search with the best so far.
    /// - Throws: when candidates contradict each other.
    package func answered(
        greedily isGreedy: Bool = false, until isOver: () -> Bool = { false }
    ) throws(MatchingError) -> AssignmentPlan {
        let search = PairSearch(self)
        if isGreedy {
            var plan = search.plan(search.filled([]))
            plan.bound = try max(search.solution([], until: { true }).bound, plan.totalScore)
            return plan
        }
        var closed: Set<PairSearch.Key> = []
        var best: [PairSearch.Key] = []
        var (bound, most) = (Int64.max, Int64.min)
        var isCutShort = false
        for round in 0...Self.rounds {
            let solution = try search.solution(closed, until: isOver)
            if round == 0 { bound = solution.bound }
            isCutShort = isCutShort || solution.isCutShort
            let (kept, tooSoon) = search.apart(solution)
            let filled = search.filled(kept)
            let score = search.score(of: filled)
            if score > most { (best, most) = (filled, score) }
            closed.formUnion(tooSoon)
            if tooSoon.isEmpty { break }
            if isOver() {
                isCutShort = true
                break
            }
        }
        // With two visits of one shopper to a branch, greedy may have found the better way.
        if !closed.isEmpty {
            let greedy = search.filled([])
            if search.score(of: greedy) > most { best = greedy }
        }
        var plan = search.plan(best)
        plan.bound = max(bound, plan.totalScore)
        plan.isCutShort = isCutShort
        return plan
    }
}
