extension MatchingInstance {
    /// The matching with the largest total score.
    ///
    /// Each slot is looked for among all edges of its mission: meant for missions of few slots.
    /// - Parameter isOver: asked for each slot; once it says so, the search ends, what is free is
    ///   filled greedily, and the bound is that of the prices found so far. Never worse than
    ///   ``matchedGreedily()``.
    package func solved(until isOver: () -> Bool = { false }) -> Solution {
        var search = ShortestPaths(self)
        let isCutShort = !search.run(until: isOver)
        var taken = search.taken
        complete(&taken)
        var bound = self.bound(prices: search.prices)
        guard isCutShort else {
            return Solution(of: self, taken: taken, bound: bound, isCutShort: false)
        }
        bound = min(bound, boundByMissions(), boundByShoppers())
        let solution = Solution(of: self, taken: taken, bound: bound, isCutShort: true)
        var greedy = [Bool](repeating: false, count: score.count)
        complete(&greedy)
        let other = Solution(of: self, taken: greedy, bound: bound, isCutShort: true)
        return other.totalScore > solution.totalScore ? other : solution
    }
}

/// Successive shortest paths for the maximum-weight b-matching, one slot after the other.
///
/// All the while there is a price u >= 0 of each mission's slots and v >= 0 of each shopper, with
/// score - u - v <= 0 for an edge that is not taken and >= 0 for one that is; what is not full has
/// the price 0. Such a matching is the best one for the slots that were added so far. To add a
/// slot, the cheapest way is looked for to give it a shopper: one who is free, or one who is taken
/// from another mission, which then looks for another in turn, or does without. A way's length is
/// what it costs in total score, over the prices: never negative, so Dijkstra's algorithm finds
/// it; then prices follow the distances (successive shortest paths: Ahuja, Magnanti and Orlin,
/// Network Flows, section 9.7). Nothing is looked at that is farther than the best end found so
/// far, so a search sees the neighbourhood of one mission and never leaves its component.
///
/// It always begins from nothing: prices of an earlier run would need a matching that fits them,
/// and half a million edges take less than a second.
struct ShortestPaths: ~Copyable {
    private static let none = Int64.max

    private let instance: MatchingInstance
    /// Nodes are the shoppers, then the missions.
    private let firstMission: Int
    /// Of each node: v of a shopper, u of a mission.
    private var price: [Int64]
    /// Where its shopper holds an edge; -1 for one that is not taken.
    private var place: [Int32]
    /// The edges that shoppers hold, each shopper's in a row of their capacity.
    private var held: [Int32]
    private let firstHeld: [Int32]
    private var load: [Int32]

    // Of one search; distances of the nodes that were reached are set back after it.
    private var distance: [Int64]
    /// The edge over which a node was reached.
    private var cameBy: [Int32]
    private var reached: [Int32] = []
    /// Nodes at the distance that the search has come to: no need of the heap.
    private var level: [Int32] = []
    private var heap = DistanceHeap()
    /// How long the shortest way is that was found so far, and the node where it ends.
    private var best: Int64 = 0
    private var end = 0

    init(_ instance: MatchingInstance) {
        self.instance = instance
        firstMission = instance.shoppers.count
        let nodes = firstMission + instance.missions.count
        price = [Int64](repeating: 0, count: nodes)
        distance = [Int64](repeating: Self.none, count: nodes)
        cameBy = [Int32](repeating: -1, count: nodes)
        place = [Int32](repeating: -1, count: instance.score.count)
        var (starts, start): ([Int32], Int32) = ([], 0)
        for capacity in instance.usableCapacity {
            starts.append(start)
            start += capacity
        }
        firstHeld = starts
        held = [Int32](repeating: -1, count: Int(start))
        load = [Int32](repeating: 0, count: firstMission)
    }

    /// Which edges are taken.
    var taken: [Bool] { place.map { $0 >= 0 } }
    /// The prices of the shoppers.
    var prices: [Int64] { Array(price[..<firstMission]) }

    /// Adds all slots; false if time was over before.
    mutating func run(until isOver: () -> Bool) -> Bool {
        for mission in instance.missions.indices {
            let node = firstMission + mission
            price[node] = bestGain(of: mission)
            for _ in 0..<instance.usableSlots[mission] {
                // What more slots would be worth is known: nothing.
                guard price[node] > 0 else { break }
                if isOver() { return false }
                search(from: node)
                follow(to: node)
                settlePrices()
            }
        }
        return true
    }

    /// What the first slot of a mission would gain at most, at the prices of the shoppers.
    private func bestGain(of mission: Int) -> Int64 {
        var gain: Int64 = 0
        for edge in instance.edges(of: mission) where instance.score[edge] > 0 {
            gain = max(gain, instance.score[edge] - price[Int(instance.edgeShopper[edge])])
        }
        return gain
    }

    // MARK: The shortest way

    private mutating func search(from root: Int) {
        heap.removeAll()
        level.removeAll(keepingCapacity: true)
        // The slot may also stay free.
        (best, end) = (price[root], root)
        distance[root] = 0
        reached.append(Int32(root))
        level.append(Int32(root))
        var now: Int64 = 0
        while true {
            if let node = level.popLast() {
                visit(Int(node), at: now)
            } else {
                guard let next = heap.popFirst(), next.distance < best else { return }
                // One that was reached over a shorter way meanwhile.
                guard distance[Int(next.node)] == next.distance else { continue }
                now = next.distance
                visit(Int(next.node), at: now)
            }
            if best == now { return }
        }
    }

    private mutating func visit(_ node: Int, at now: Int64) {
        if node < firstMission {
            visit(shopper: node, at: now)
        } else {
            visit(mission: node, at: now)
        }
    }

    /// A mission without a shopper takes another, at a loss.
    private mutating func visit(mission node: Int, at now: Int64) {
        let price = price[node]
        for edge in instance.edges(of: node - firstMission) {
            let score = instance.score[edge]
            guard score > 0, place[edge] < 0 else { continue }
            let shopper = Int(instance.edgeShopper[edge])
            let far = now + (price + self.price[shopper] - score)
            guard far < best, far < distance[shopper] else { continue }
            reach(shopper, over: edge, at: far)
            if load[shopper] < instance.usableCapacity[shopper] {
                (best, end) = (far, shopper)
            } else {
                wait(shopper, at: far, now)
            }
        }
    }

    /// A shopper who is full leaves one of the missions that they hold.
    private mutating func visit(shopper: Int, at now: Int64) {
        let start = Int(firstHeld[shopper])
        for place in start..<start + Int(load[shopper]) {
            let edge = Int(held[place])
            let node = firstMission + Int(instance.edgeMission[edge])
            let far = now + (instance.score[edge] - price[node] - price[shopper])
            guard far < best, far < distance[node] else { continue }
            reach(node, over: edge, at: far)
            // It may do without.
            if far + price[node] < best { (best, end) = (far + price[node], node) }
            if far < best { wait(node, at: far, now) }
        }
    }

    private mutating func reach(_ node: Int, over edge: Int, at far: Int64) {
        if distance[node] == Self.none { reached.append(Int32(node)) }
        distance[node] = far
        cameBy[node] = Int32(edge)
    }

    private mutating func wait(_ node: Int, at far: Int64, _ now: Int64) {
        if far == now { level.append(Int32(node)) } else { heap.insert(Int32(node), at: far) }
    }

    // MARK: What follows from it

    /// Changes the matching along the way that was found, from its end back to the root.
    private mutating func follow(to root: Int) {
        var node = end
        if node >= firstMission {
            guard node != root else { return }
            node = leave(node)
        }
        while true {
            let edge = Int(cameBy[node])
            hold(edge, by: node)
            let mission = firstMission + Int(instance.edgeMission[edge])
            guard mission != root else { return }
            node = leave(mission)
        }
    }

    /// Lets a mission's shopper on the way go; returns the shopper.
    private mutating func leave(_ mission: Int) -> Int {
        let edge = Int(cameBy[mission])
        let shopper = Int(instance.edgeShopper[edge])
        load[shopper] -= 1
        let last = Int(firstHeld[shopper] + load[shopper])
        let moved = held[last]
        held[Int(place[edge])] = moved
        place[Int(moved)] = place[edge]
        place[edge] = -1
        return shopper
    }

    private mutating func hold(_ edge: Int, by shopper: Int) {
        let free = firstHeld[shopper] + load[shopper]
        held[Int(free)] = Int32(edge)
        place[edge] = free
        load[shopper] += 1
    }

    /// Makes the way that was found cost nothing, and no other way less than nothing.
    private mutating func settlePrices() {
        for reached in reached {
            let node = Int(reached)
            let nearer = best - distance[node]
            distance[node] = Self.none
            guard nearer > 0 else { continue }
            price[node] += node < firstMission ? nearer : -nearer
        }
        reached.removeAll(keepingCapacity: true)
    }
}
