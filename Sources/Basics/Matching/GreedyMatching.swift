extension MatchingInstance {
    /// Takes the best edge that still fits, again and again: at least half of the optimum.
    ///
    /// Of equal scores the mission with the lesser id comes first, then the shopper.
    package func matchedGreedily() -> Solution {
        var taken = [Bool](repeating: false, count: score.count)
        complete(&taken)
        return Solution(
            of: self, taken: taken, bound: min(boundByMissions(), boundByShoppers()),
            isCutShort: false)
    }

    /// Fills what is free of slots and capacity, the best edges first, those of score 0 as well.
    func complete(_ taken: inout [Bool]) {
        var (slots, capacity) = (usableSlots, usableCapacity)
        for edge in taken.indices where taken[edge] {
            slots[Int(edgeMission[edge])] -= 1
            capacity[Int(edgeShopper[edge])] -= 1
        }
        func fits(_ edge: Int) -> Bool {
            slots[Int(edgeMission[edge])] > 0 && capacity[Int(edgeShopper[edge])] > 0
        }
        var free: [(score: Int64, edge: Int32)] = []
        for edge in taken.indices where !taken[edge] && score[edge] >= 0 && fits(edge) {
            free.append((score[edge], Int32(edge)))
        }
        free.sort { $0.score == $1.score ? $0.edge < $1.edge : $0.score > $1.score }
        for (_, edge) in free where fits(Int(edge)) {
            taken[Int(edge)] = true
            slots[Int(edgeMission[Int(edge)])] -= 1
            capacity[Int(edgeShopper[Int(edge)])] -= 1
        }
    }
}
