/// Missions with slots, shoppers with capacity, and what it is worth to bring two together: a
/// maximum-weight b-matching on a sparse bipartite graph, in which each edge is used at most once.
///
/// Rows are kept by their places, in the order of their ids, and edges by mission, then shopper:
/// what is computed does not depend on the order in which they were given.
package struct MatchingInstance: Sendable {
    /// A mission, and how many different shoppers it can have.
    package struct Mission: Equatable, Sendable {
        package var id: Int64
        package var slots: Int64

        /// A mission with its slots, 0 to ``countLimit``.
        package init(id: Int64, slots: Int64) {
            self.id = id
            self.slots = slots
        }
    }

    /// A shopper, and how many different missions they can take.
    package struct Shopper: Equatable, Sendable {
        package var id: Int64
        package var capacity: Int64

        /// A shopper with their capacity, 0 to ``countLimit``.
        package init(id: Int64, capacity: Int64) {
            self.id = id
            self.capacity = capacity
        }
    }

    /// That a shopper may take a slot of a mission, and the gain if they do.
    ///
    /// An edge of negative score is never used, one of score 0 only for a slot and a capacity
    /// that nothing better wants.
    package struct Edge: Equatable, Sendable {
        package var mission: Int64
        package var shopper: Int64
        package var score: Int64

        /// An edge between the mission and the shopper of these ids.
        package init(mission: Int64, shopper: Int64, score: Int64) {
            self.mission = mission
            self.shopper = shopper
            self.score = score
        }
    }

    /// The most slots of a mission, and the largest capacity.
    package static let countLimit: Int64 = 1_000_000_000
    /// The most rows of each sort: their places are numbers of 32 bits.
    private static let rowLimit = 1_000_000_000

    let missions: [Mission]
    let shoppers: [Shopper]
    /// Where the edges of each mission begin; one more at the end.
    let firstEdge: [Int32]
    let edgeMission: [Int32]
    let edgeShopper: [Int32]
    let score: [Int64]
    /// How many slots of a mission can be of use: not more than it has edges.
    let usableSlots: [Int32]
    /// How much of a shopper's capacity can be of use.
    let usableCapacity: [Int32]

    /// An instance of these rows, in any order.
    ///
    /// - Throws: when an id or an edge is there twice, an edge names what is not there, a number
    ///   of slots is negative, or a score is so large that a sum might not fit into 64 bits.
    package init(
        missions: [Mission], shoppers: [Shopper], edges: [Edge]
    ) throws(MatchingError) {
        guard max(missions.count, shoppers.count, edges.count) <= Self.rowLimit else {
            throw .tooManyRows(limit: Self.rowLimit)
        }
        let missions = missions.sorted { $0.id < $1.id }
        let shoppers = shoppers.sorted { $0.id < $1.id }
        try Self.check(missions, shoppers)
        let places = try Self.places(edges, missions.map(\.id), shoppers.map(\.id))
        let order = Self.ordered(places, missions.count, shoppers.count)
        self.missions = missions
        self.shoppers = shoppers
        edgeMission = order.map { places[Int($0)].mission }
        edgeShopper = order.map { places[Int($0)].shopper }
        score = order.map { edges[Int($0)].score }
        firstEdge = Self.starts(edgeMission, count: missions.count)
        var (slots, capacity) = ([Int32](), [Int32](repeating: 0, count: shoppers.count))
        for (place, mission) in missions.enumerated() {
            slots.append(min(Int32(mission.slots), firstEdge[place + 1] - firstEdge[place]))
        }
        for shopper in edgeShopper { capacity[Int(shopper)] += 1 }
        for (place, shopper) in shoppers.enumerated() {
            capacity[place] = min(Int32(shopper.capacity), capacity[place])
        }
        (usableSlots, usableCapacity) = (slots, capacity)
        try checkEdges()
    }

    /// The places of the edges of a mission.
    func edges(of mission: Int) -> Range<Int> {
        Int(firstEdge[mission])..<Int(firstEdge[mission + 1])
    }

    // MARK: Checks

    private static func check(
        _ missions: [Mission], _ shoppers: [Shopper]
    ) throws(MatchingError) {
        for (place, mission) in missions.enumerated() {
            guard (0...countLimit).contains(mission.slots) else {
                throw .slots(mission.slots, mission: mission.id)
            }
            if place > 0, missions[place - 1].id == mission.id { throw .missionTwice(mission.id) }
        }
        for (place, shopper) in shoppers.enumerated() {
            guard (0...countLimit).contains(shopper.capacity) else {
                throw .capacity(shopper.capacity, shopper: shopper.id)
            }
            if place > 0, shoppers[place - 1].id == shopper.id { throw .shopperTwice(shopper.id) }
        }
    }

    /// Distances of the search are sums of up to three scores, and the bound is at most twice the
    /// largest score for each slot of use: all of it has to fit.
    private func checkEdges() throws(MatchingError) {
        let slots = usableSlots.reduce(0) { $0 + Int64($1) }
        let limit = Int64.max / max(4, 2 * slots)
        for edge in score.indices {
            let (mission, shopper) = (Int(edgeMission[edge]), Int(edgeShopper[edge]))
            if edge > 0, edgeMission[edge - 1] == edgeMission[edge],
                edgeShopper[edge - 1] == edgeShopper[edge]
            {
                throw .edgeTwice(mission: missions[mission].id, shopper: shoppers[shopper].id)
            }
            guard score[edge] <= limit else {
                throw .scoreTooLarge(
                    score[edge], mission: missions[mission].id, shopper: shoppers[shopper].id,
                    limit: limit)
            }
        }
    }

    // MARK: Order

    private typealias Places = (mission: Int32, shopper: Int32)

    private static func places(
        _ edges: [Edge], _ missions: [Int64], _ shoppers: [Int64]
    ) throws(MatchingError) -> [Places] {
        var places: [Places] = []
        places.reserveCapacity(edges.count)
        for edge in edges {
            guard let mission = place(of: edge.mission, in: missions) else {
                throw .unknownMission(edge.mission, shopper: edge.shopper)
            }
            guard let shopper = place(of: edge.shopper, in: shoppers) else {
                throw .unknownShopper(edge.shopper, mission: edge.mission)
            }
            places.append((mission, shopper))
        }
        return places
    }

    private static func place(of id: Int64, in sorted: [Int64]) -> Int32? {
        var (low, high) = (0, sorted.count)
        while low < high {
            let middle = (low + high) / 2
            if sorted[middle] < id { low = middle + 1 } else { high = middle }
        }
        return low < sorted.count && sorted[low] == id ? Int32(low) : nil
    }

    /// The edges by mission, then shopper: sorted by counting, first by the lesser of both.
    private static func ordered(
        _ places: [Places], _ missions: Int, _ shoppers: Int
    ) -> [Int32] {
        func sorted(_ edges: [Int32], keys: [Int32], count: Int) -> [Int32] {
            var next = starts(keys, count: count)
            var result = [Int32](repeating: 0, count: edges.count)
            for edge in edges {
                let key = Int(keys[Int(edge)])
                result[Int(next[key])] = edge
                next[key] += 1
            }
            return result
        }
        let all = places.indices.map { Int32($0) }
        let byShopper = sorted(all, keys: places.map(\.shopper), count: shoppers)
        return sorted(byShopper, keys: places.map(\.mission), count: missions)
    }

    /// Where the rows of each key begin when they are sorted by it; one more at the end.
    private static func starts(_ keys: [Int32], count: Int) -> [Int32] {
        var starts = [Int32](repeating: 0, count: count + 1)
        for key in keys { starts[Int(key) + 1] += 1 }
        for place in 0..<count { starts[place + 1] += starts[place] }
        return starts
    }
}
