import ErrandMatching
import Testing

@Suite struct InstanceTests {
    private func refusal(
        missions: [(Int64, Int64)] = [(1, 1), (2, 1)],
        shoppers: [(Int64, Int64)] = [(7, 1), (8, 1)],
        edges: [(Int64, Int64, Int64)] = []
    ) -> MatchingError? {
        do throws(MatchingError) {
            _ = try MatchingInstance(
                missions: missions.map { .init(id: $0.0, slots: $0.1) },
                shoppers: shoppers.map { .init(id: $0.0, capacity: $0.1) },
                edges: edges.map { .init(mission: $0.0, shopper: $0.1, score: $0.2) })
            return nil
        } catch { return error }
    }

    @Test func `rows that contradict each other are refused`() {
        #expect(refusal() == nil)
        #expect(refusal(missions: [(1, 1), (2, 1), (1, 2)]) == .missionTwice(1))
        #expect(refusal(shoppers: [(8, 1), (8, 1)]) == .shopperTwice(8))
        #expect(
            refusal(edges: [(1, 7, 3), (2, 7, 3), (1, 7, 4)]) == .edgeTwice(mission: 1, shopper: 7))
        #expect(refusal(edges: [(3, 7, 1)]) == .unknownMission(3, shopper: 7))
        #expect(refusal(edges: [(1, 9, 1)]) == .unknownShopper(9, mission: 1))
    }

    @Test func `numbers out of range are refused`() {
        #expect(refusal(missions: [(1, -1)]) == .slots(-1, mission: 1))
        #expect(
            refusal(missions: [(1, 1_000_000_001)]) == .slots(1_000_000_001, mission: 1))
        #expect(refusal(shoppers: [(7, -2)]) == .capacity(-2, shopper: 7))
        #expect(refusal(shoppers: [(7, .max)]) == .capacity(.max, shopper: 7))
        #expect(refusal(missions: [(1, 1_000_000_000)], edges: [(1, 7, .min)]) == nil)
    }

    @Test func `scores whose sums might overflow are refused, with the limit`() {
        let limit = Int64.max / 4
        #expect(refusal(edges: [(1, 7, limit), (2, 8, limit)]) == nil)
        #expect(
            refusal(edges: [(1, 7, limit), (2, 8, limit + 1)])
                == .scoreTooLarge(limit + 1, mission: 2, shopper: 8, limit: limit))
        // Three slots can be filled: of six places, only as many count as have edges.
        let three: [(Int64, Int64, Int64)] = [(1, 7, 1), (1, 8, .max / 6 + 1), (2, 8, 1)]
        #expect(
            refusal(missions: [(1, 3), (2, 3)], edges: three)
                == .scoreTooLarge(.max / 6 + 1, mission: 1, shopper: 8, limit: .max / 6))
        #expect("\(refusal(edges: [(1, 7, .max)])!)".contains("\(limit)"))
    }
}
