/// Upper bounds on the total score: values of feasible solutions of the dual problem.
///
/// With a price u >= 0 for a slot of a mission and v >= 0 for a place of a shopper, and for each
/// edge z = max(0, score - u - v), no matching gains more than the sum of slots * u, of capacity
/// * v and of z, whatever the prices are.
extension MatchingInstance {
    /// The least bound with these prices of the shoppers.
    ///
    /// The best u of a mission with n slots is the gain of its next best edge after n, or 0. Its
    /// slots and edges then come to the sum of its n largest positive gains, score - v.
    func bound(prices: [Int64]) -> Int64 {
        var bound: Int64 = 0
        for (shopper, capacity) in usableCapacity.enumerated() {
            bound += Int64(capacity) * prices[shopper]
        }
        var gains: [Int64] = []
        for mission in missions.indices {
            gains.removeAll(keepingCapacity: true)
            for edge in edges(of: mission) where score[edge] > 0 {
                let gain = score[edge] - prices[Int(edgeShopper[edge])]
                if gain > 0 { gains.append(gain) }
            }
            bound += Self.sum(ofLargest: Int(usableSlots[mission]), &gains)
        }
        return bound
    }

    /// The bound with all prices of shoppers 0: each mission gets whom it likes best.
    func boundByMissions() -> Int64 {
        bound(prices: [Int64](repeating: 0, count: shoppers.count))
    }

    /// The bound with all prices of missions 0: each shopper gets what suits them best.
    func boundByShoppers() -> Int64 {
        var gains = [[Int64]](repeating: [], count: shoppers.count)
        for edge in score.indices where score[edge] > 0 {
            // What a mission without slots offers is worth nothing.
            guard usableSlots[Int(edgeMission[edge])] > 0 else { continue }
            gains[Int(edgeShopper[edge])].append(score[edge])
        }
        var bound: Int64 = 0
        for shopper in gains.indices {
            let sum = Self.sum(ofLargest: Int(usableCapacity[shopper]), &gains[shopper])
            let (total, isTooLarge) = bound.addingReportingOverflow(sum)
            if isTooLarge { return .max }
            bound = total
        }
        return bound
    }

    private static func sum(ofLargest count: Int, _ gains: inout [Int64]) -> Int64 {
        if gains.count > count { gains.sort(by: >) }
        var sum: Int64 = 0
        for gain in gains.prefix(count) {
            let (total, isTooLarge) = sum.addingReportingOverflow(gain)
            if isTooLarge { return .max }
            sum = total
        }
        return sum
    }
}
