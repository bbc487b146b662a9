import ErrandMatching
import ErrandTestServices
import Testing

/// The rows of an instance, before they are checked; ids are places.
struct Rows {
    var slots: [Int64] = []
    var capacity: [Int64] = []
    var edges: [MatchingInstance.Edge] = []

    /// A complete graph, with each place of 1.
    init(scores: [[Int64]]) {
        slots = scores.map { _ in 1 }
        capacity = (scores.first ?? []).map { _ in 1 }
        for (mission, row) in scores.enumerated() {
            for (shopper, score) in row.enumerated() {
                edges.append(.init(mission: Int64(mission), shopper: Int64(shopper), score: score))
            }
        }
    }

    /// Rows by chance; each pair is an edge with a chance of `density` in 100.
    init(
        missions: Int, shoppers: Int, slots: ClosedRange<Int64>, capacity: ClosedRange<Int64>,
        density: Int, scores: ClosedRange<Int64>, unit: Int64 = 1, _ dice: inout SplitMix
    ) {
        for _ in 0..<missions { self.slots.append(dice.number(slots)) }
        for _ in 0..<shoppers { self.capacity.append(dice.number(capacity)) }
        for mission in 0..<missions {
            for shopper in 0..<shoppers where dice.number(1...100) <= density {
                edges.append(
                    .init(
                        mission: Int64(mission), shopper: Int64(shopper),
                        score: dice.number(scores) * unit))
            }
        }
    }

    var instance: MatchingInstance {
        get throws {
            try MatchingInstance(missions: missions, shoppers: shoppers, edges: edges)
        }
    }

    var missions: [MatchingInstance.Mission] {
        slots.enumerated().map { .init(id: Int64($0.offset), slots: $0.element) }
    }

    var shoppers: [MatchingInstance.Shopper] {
        capacity.enumerated().map { .init(id: Int64($0.offset), capacity: $0.element) }
    }

    /// Checks all that a solution must keep, whether it is the best or not.
    func check(_ solution: Solution, at place: SourceLocation = #_sourceLocation) {
        var (free, left) = (slots, capacity)
        var total: Int64 = 0
        var last: (Int64, Int64) = (-1, -1)
        for taken in solution.assignments {
            let edge = MatchingInstance.Edge(
                mission: taken.mission, shopper: taken.shopper, score: taken.score)
            #expect(edges.contains(edge) && edge.score >= 0, sourceLocation: place)
            // Each pair once, in order.
            #expect((taken.mission, taken.shopper) > last, sourceLocation: place)
            last = (taken.mission, taken.shopper)
            free[Int(taken.mission)] -= 1
            left[Int(taken.shopper)] -= 1
            total += taken.score
        }
        #expect(free.allSatisfy { $0 >= 0 } && left.allSatisfy { $0 >= 0 }, sourceLocation: place)
        #expect(solution.totalScore == total, sourceLocation: place)
        #expect(solution.bound >= total, sourceLocation: place)
        #expect(solution.isOptimal == (solution.bound == total), sourceLocation: place)
        for (mission, slots) in free.enumerated() {
            let told = solution.unfilled.filter { $0.mission == Int64(mission) }
            #expect(told.reduce(0) { $0 + $1.slots } == slots, sourceLocation: place)
        }
    }
}
