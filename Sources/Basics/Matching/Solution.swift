/// Who takes which mission, and how good that is.
package struct Solution: Equatable, Sendable {
    /// One slot of a mission, and the shopper who takes it.
    package struct Assignment: Equatable, Sendable {
        package let mission: Int64
        package let shopper: Int64
        package let score: Int64
    }

    /// Why a slot stays free.
    package enum Reason: String, CaseIterable, Sendable {
        /// The mission has fewer edges than slots.
        case noCandidates = "no_candidates"
        /// Those who could take it have no capacity left.
        case allTaken = "all_taken"
        /// Only edges of negative score are left.
        case notWorthIt = "not_worth_it"
    }

    /// Free slots of a mission that are so for one reason.
    package struct Unfilled: Equatable, Sendable {
        package let mission: Int64
        package let reason: Reason
        package let slots: Int64
    }

    /// By the ids of mission and shopper.
    package let assignments: [Assignment]
    /// By the id of the mission.
    package let unfilled: [Unfilled]
    /// The sum of the assignments' scores.
    package let totalScore: Int64
    /// No matching has a larger total: the value of a feasible solution of the dual problem.
    package let bound: Int64
    /// Whether the search ended before it was through.
    package let isCutShort: Bool

    /// Whether the bound proves that nothing better exists.
    package var isOptimal: Bool { totalScore == bound }

    init(of instance: MatchingInstance, taken: [Bool], bound: Int64, isCutShort: Bool) {
        var assignments: [Assignment] = []
        var load = [Int32](repeating: 0, count: instance.shoppers.count)
        var total: Int64 = 0
        for edge in taken.indices where taken[edge] {
            let shopper = Int(instance.edgeShopper[edge])
            load[shopper] += 1
            total += instance.score[edge]
            assignments.append(
                Assignment(
                    mission: instance.missions[Int(instance.edgeMission[edge])].id,
                    shopper: instance.shoppers[shopper].id, score: instance.score[edge]))
        }
        self.assignments = assignments
        totalScore = total
        self.bound = bound
        self.isCutShort = isCutShort
        unfilled = instance.missions.indices.flatMap { mission in
            Self.unfilled(mission, of: instance, taken)
        }
    }

    /// Each free slot is counted once: against a candidate who is taken as long as there is one,
    /// then against one who is not worth it.
    private static func unfilled(
        _ mission: Int, of instance: MatchingInstance, _ taken: [Bool]
    ) -> [Unfilled] {
        var free = instance.missions[mission].slots
        var (busy, unworthy): (Int64, Int64) = (0, 0)
        for edge in instance.edges(of: mission) {
            if taken[edge] {
                free -= 1
            } else if instance.score[edge] < 0 {
                unworthy += 1
            } else {
                busy += 1
            }
        }
        var found: [Unfilled] = []
        for (reason, candidates) in [
            (Reason.allTaken, busy), (.notWorthIt, unworthy), (.noCandidates, Int64.max),
        ] where free > 0 && candidates > 0 {
            let slots = min(free, candidates)
            found.append(
                Unfilled(mission: instance.missions[mission].id, reason: reason, slots: slots))
            free -= slots
        }
        return found
    }
}
