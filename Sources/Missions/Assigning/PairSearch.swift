import Matching

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
        var (edges, distances) = ([MatchingInstance.Edge](), [Key: Double]())
        edges.reserveCapacity(known.count)
        distances.reserveCapacity(known.count)
        for candidate in known {
            guard let mission = missions[candidate.mission],
                let shopper = question.shoppers[candidate.shopper],
                let place = places[node(candidate)]
            else { continue }
            let facts = AssignmentQuestion.facts(mission, shopper, distance: candidate.distance)
            edges.append(
                .init(
                    mission: mission.id, shopper: place,
                    score: Score(facts, question.weights).points))
            distances[Key(mission: mission.id, shopper: shopper.id)] = candidate.distance
        }
        self.missions = missions
        self.nodes = nodes
        self.edges = edges
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

    /// The best matching without the pairs that are closed.
    func solution(
        _ closed: Set<Key>, greedily isGreedy: Bool, until isOver: () -> Bool
    ) throws(MatchingError) -> Solution {
        let open =
            closed.isEmpty
            ? edges
            : edges.filter {
                !closed.contains(Key(mission: $0.mission, shopper: shopper($0.shopper)))
            }
        let instance = try MatchingInstance(missions: rows, shoppers: days, edges: open)
        return isGreedy ? instance.matchedGreedily() : instance.solved(until: isOver)
    }

    /// The pairs that cannot stand beside better ones of the same shopper at the same branch.
    func tooSoon(_ solution: Solution) -> [Key] {
        var visits: [Key: [Solution.Assignment]] = [:]
        for assignment in solution.assignments {
            guard let mission = missions[assignment.mission] else { continue }
            let key = Key(mission: mission.branch, shopper: shopper(assignment.shopper))
            visits[key, default: []].append(assignment)
        }
        var tooSoon: [Key] = []
        for (key, several) in visits where several.count > 1 {
            var kept: [OpenMission] = []
            let best = several.sorted { ($1.score, $0.mission) < ($0.score, $1.mission) }
            for assignment in best {
                guard let mission = missions[assignment.mission] else { continue }
                if kept.contains(where: { $0.excludes(mission) }) {
                    tooSoon.append(Key(mission: mission.id, shopper: key.shopper))
                } else {
                    kept.append(mission)
                }
            }
        }
        return tooSoon
    }

    /// The solution in terms of missions and shoppers.
    func plan(_ solution: Solution, without tooSoon: Set<Key>) -> AssignmentPlan {
        var plan = AssignmentPlan()
        var dropped: [Int64: Int64] = [:]
        for assignment in solution.assignments {
            let key = Key(mission: assignment.mission, shopper: shopper(assignment.shopper))
            guard !tooSoon.contains(key) else {
                dropped[key.mission, default: 0] += 1
                continue
            }
            plan.pairs.append(
                .init(
                    mission: key.mission, shopper: key.shopper, score: assignment.score,
                    distance: distances[key] ?? 0))
            plan.totalScore += assignment.score
        }
        plan.unfilled = solution.unfilled.map {
            .init(mission: $0.mission, reason: $0.reason.rawValue, slots: $0.slots)
        }
        plan.unfilled += dropped.map {
            .init(mission: $0, reason: AssignmentPlan.rests, slots: $1)
        }
        plan.unfilled.sort { ($0.mission, $0.reason) < ($1.mission, $1.reason) }
        plan.missions = rows.count
        plan.slots = rows.reduce(0) { $0 + $1.slots }
        plan.shoppers = shoppers
        plan.candidates = edges.count
        return plan
    }
}
