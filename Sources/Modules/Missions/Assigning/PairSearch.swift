import ErrandMatching

/// The pairs of a question as a graph: missions on one side, the days of shoppers on the other.
///
/// A shopper has one node for each day on which a mission ends, with the capacity that is left of
/// that day.
struct PairSearch {
    /// A mission and a shopper.
    struct Key: Hashable {
        var mission: Int64
        var shopper: Int64
    }

    private let missions: [Int64: OpenMission]
    private let nodes: [DayKey]
    private let rows: [MatchingInstance.Mission]
    private let days: [MatchingInstance.Shopper]
    private let edges: [MatchingInstance.Edge]
    /// The best ones first.
    private let byScore: [MatchingInstance.Edge]
    private let scores: [Key: Int64]
    private let distances: [Key: Double]
    private let shoppers: Int

    init(_ question: AssignmentQuestion) {
        let missions = Dictionary(
            question.missions.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        let known = question.candidates.filter {
            missions[$0.mission] != nil && question.shoppers[$0.shopper] != nil
        }
        func node(_ candidate: Candidate) -> DayKey {
            DayKey(shopper: candidate.shopper, day: missions[candidate.mission]?.dueDay ?? 0)
        }
        let nodes = Set(known.map(node)).sorted()
        let places = Dictionary(uniqueKeysWithValues: nodes.enumerated().map { ($1, Int64($0)) })
        var edges: [MatchingInstance.Edge] = []
        var (scores, distances) = ([Key: Int64](), [Key: Double]())
        edges.reserveCapacity(known.count)
        scores.reserveCapacity(known.count)
        distances.reserveCapacity(known.count)
        for candidate in known {
            guard let mission = missions[candidate.mission],
                let shopper = question.shoppers[candidate.shopper],
                let place = places[node(candidate)]
            else { continue }
            let facts = AssignmentQuestion.facts(mission, shopper, distance: candidate.distance)
            let score = Score(facts, question.weights).points
            edges.append(.init(mission: mission.id, shopper: place, score: score))
            let key = Key(mission: mission.id, shopper: shopper.id)
            scores[key] = score
            distances[key] = candidate.distance
        }
        self.missions = missions
        self.nodes = nodes
        self.edges = edges
        byScore = edges.sorted {
            ($1.score, $0.mission, $0.shopper) < ($0.score, $1.mission, $1.shopper)
        }
        self.scores = scores
        self.distances = distances
        rows = question.missions.map { .init(id: $0.id, slots: $0.freeSlots) }
        days = nodes.enumerated().map { place, key in
            let capacity = question.shoppers[key.shopper]?.dailyCapacity ?? 0
            return .init(
                id: Int64(place), capacity: Int64(max(capacity - (question.held[key] ?? 0), 0)))
        }
        shoppers = Set(nodes.map(\.shopper)).count
    }

    private func shopper(_ node: Int64) -> Int64 { nodes[Int(node)].shopper }

    private func key(_ edge: MatchingInstance.Edge) -> Key {
        Key(mission: edge.mission, shopper: shopper(edge.shopper))
    }

    /// The best matching without the pairs that are closed.
    func solution(_ closed: Set<Key>, until isOver: () -> Bool) throws(MatchingError) -> Solution {
        let open = closed.isEmpty ? edges : edges.filter { !closed.contains(key($0)) }
        return try MatchingInstance(missions: rows, shoppers: days, edges: open)
            .solved(until: isOver)
    }

    /// The pairs of a solution, without those that cannot stand beside better ones of the same
    /// shopper at the same branch; and these.
    func apart(_ solution: Solution) -> (kept: [Key], tooSoon: [Key]) {
        let best = solution.assignments.sorted {
            ($1.score, $0.mission, $0.shopper) < ($0.score, $1.mission, $1.shopper)
        }
        var visits: [Key: [OpenMission]] = [:]
        var (kept, tooSoon) = ([Key](), [Key]())
        for assignment in best {
            guard let mission = missions[assignment.mission] else { continue }
            let key = Key(mission: mission.id, shopper: shopper(assignment.shopper))
            let place = Key(mission: mission.branch, shopper: key.shopper)
            if visits[place, default: []].contains(where: { $0.excludes(mission) }) {
                tooSoon.append(key)
            } else {
                visits[place, default: []].append(mission)
                kept.append(key)
            }
        }
        return (kept, tooSoon)
    }

    /// Adds the best pairs that fit beside those that are chosen, again and again.
    func filled(_ chosen: [Key]) -> [Key] {
        var state = Choice(self)
        for key in chosen { state.take(key) }
        for edge in byScore where state.fits(key(edge)) { state.take(key(edge)) }
        return state.pairs
    }

    func score(of pairs: [Key]) -> Int64 { pairs.reduce(0) { $0 + (scores[$1] ?? 0) } }

    /// Pairs that keep all rules, as they are chosen one by one.
    private struct Choice {
        private let search: PairSearch
        private(set) var pairs: [Key] = []
        private var taken: Set<Key> = []
        private var slots: [Int64: Int64]
        private var room: [DayKey: Int64]
        /// What a shopper was given at a branch.
        private var visits: [Key: [OpenMission]] = [:]

        init(_ search: PairSearch) {
            self.search = search
            slots = search.missions.mapValues(\.freeSlots)
            room = Dictionary(
                uniqueKeysWithValues: zip(search.nodes, search.days.map(\.capacity)))
        }

        enum Exclusion { case capacity, rest, taken }

        func fits(_ key: Key) -> Bool {
            slots[key.mission, default: 0] > 0 && exclusion(key) == nil
        }

        /// Why a pair does not fit, whether its mission is full or not.
        func exclusion(_ key: Key) -> Exclusion? {
            guard let mission = search.missions[key.mission], !taken.contains(key) else {
                return .taken
            }
            guard room[DayKey(shopper: key.shopper, day: mission.dueDay), default: 0] > 0 else {
                return .capacity
            }
            let place = Key(mission: mission.branch, shopper: key.shopper)
            return visits[place]?.contains { $0.excludes(mission) } == true ? .rest : nil
        }

        mutating func take(_ key: Key) {
            guard let mission = search.missions[key.mission] else { return }
            pairs.append(key)
            taken.insert(key)
            slots[key.mission, default: 0] -= 1
            room[DayKey(shopper: key.shopper, day: mission.dueDay), default: 0] -= 1
            let place = Key(mission: mission.branch, shopper: key.shopper)
            visits[place, default: []].append(mission)
        }
    }

    /// The plan of pairs that keep all rules.
    func plan(_ pairs: [Key]) -> AssignmentPlan {
        var choice = Choice(self)
        for key in pairs { choice.take(key) }
        var free = missions.mapValues(\.freeSlots)
        var plan = AssignmentPlan()
        for key in pairs.sorted(by: { ($0.mission, $0.shopper) < ($1.mission, $1.shopper) }) {
            free[key.mission, default: 0] -= 1
            plan.pairs.append(
                .init(
                    mission: key.mission, shopper: key.shopper, score: scores[key] ?? 0,
                    distance: distances[key] ?? 0))
        }
        plan.totalScore = score(of: pairs)
        var obstacles: [Int64: Set<String>] = [:]
        for edge in edges where free[edge.mission, default: 0] > 0 {
            switch choice.exclusion(key(edge)) {
            case .rest: obstacles[edge.mission, default: []].insert(AssignmentPlan.rests)
            case .capacity, .taken, nil:
                obstacles[edge.mission, default: []].insert(Solution.Reason.allTaken.rawValue)
            }
        }
        plan.unfilled = free.filter { $0.value > 0 }.map { mission, slots in
            let reasons = obstacles[mission, default: [Solution.Reason.noCandidates.rawValue]]
            let reason =
                reasons.contains(AssignmentPlan.rests)
                ? AssignmentPlan.rests : reasons.first ?? ""
            return .init(mission: mission, reason: reason, slots: slots)
        }.sorted { $0.mission < $1.mission }
        plan.missions = rows.count
        plan.slots = rows.reduce(0) { $0 + $1.slots }
        plan.shoppers = shoppers
        plan.candidates = edges.count
        return plan
    }
}
