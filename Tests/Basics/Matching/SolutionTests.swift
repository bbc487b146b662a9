import ErrandMatching
import ErrandTestServices
import Testing

@Suite struct SolutionTests {
    // MARK: Optima

    /// Costs of a generator that any language has.
    ///
    /// s becomes (1103515245 s + 12345) mod 2^31, from 12345; a cost is what stands above its 16
    /// lowest bits, modulo 1000. The optima are scipy's.
    private static func costs(_ rows: Int, _ columns: Int) -> [[Int64]] {
        var state: Int64 = 12_345
        return (0..<rows).map { _ in
            (0..<columns).map { _ in
                state = (1_103_515_245 * state + 12_345) % (1 << 31)
                return state / 65_536 % 1_000
            }
        }
    }

    @Test(
        arguments: [
            (5, 759, 3_409), (20, 1_321, 18_529), (50, 1_458, 48_141), (100, 1_530, 98_328),
            (200, 1_679, 198_340),
        ] as [(Int, Int64, Int64)])
    func `square tables have their known optima`(size: Int, least: Int64, most: Int64) throws {
        let costs = Self.costs(size, size)
        if size == 5 { #expect(costs[0] == [468, 988, 117, 498, 927]) }
        let largest = try Rows(scores: costs).instance.solved()
        #expect(largest.totalScore == most && largest.isOptimal)
        // Where all gains are positive, each row has its column: the least sum of the costs.
        let gains = costs.map { $0.map { 1_000 - $0 } }
        let smallest = try Rows(scores: gains).instance.solved()
        #expect(Int64(1_000 * size) - smallest.totalScore == least && smallest.isOptimal)
    }

    @Test func `a table with more columns than rows has its known optimum`() throws {
        let gains = Self.costs(50, 50)[..<30].map { $0.map { 1_000 - $0 } }
        let solution = try Rows(scores: gains).instance.solved()
        #expect(30_000 - solution.totalScore == 709 && solution.isOptimal)
    }

    /// The best of all sets of edges, by trying each.
    private static func best(of rows: Rows) -> Int64 {
        var (slots, capacity) = (rows.slots, rows.capacity)
        func best(from edge: Int) -> Int64 {
            guard edge < rows.edges.count else { return 0 }
            let without = best(from: edge + 1)
            let (mission, shopper) = (Int(rows.edges[edge].mission), Int(rows.edges[edge].shopper))
            guard slots[mission] > 0, capacity[shopper] > 0 else { return without }
            slots[mission] -= 1
            capacity[shopper] -= 1
            defer {
                slots[mission] += 1
                capacity[shopper] += 1
            }
            return max(without, best(from: edge + 1) + rows.edges[edge].score)
        }
        return best(from: 0)
    }

    @Test func `scores at the limit of 64 bits are added up exactly`() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var dice = SplitMix(seed: seed)
        for _ in 0..<200 {
            let rows = Rows(
                missions: 3, shoppers: 3, slots: 1...2, capacity: 1...2, density: 90,
                scores: (.max / 12 - 5)...(.max / 12), &dice)
            let solution = try rows.instance.solved()
            rows.check(solution)
            #expect(
                solution.isOptimal && solution.totalScore == Self.best(of: rows), "seed \(seed)")
        }
    }

    @Test func `another edge never lowers the optimum`() throws {
        var dice = SplitMix(seed: 7)
        var rows = Rows(
            missions: 20, shoppers: 20, slots: 1...2, capacity: 1...2, density: 40,
            scores: -100...1_000, &dice)
        let edges = rows.edges
        var before: Int64 = 0
        for count in edges.indices {
            rows.edges = Array(edges[...count])
            let total = try rows.instance.solved().totalScore
            #expect(total >= before)
            before = total
        }
    }

    // MARK: The same answer

    @Test func `the order of the rows does not matter`() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var dice = SplitMix(seed: seed)
        for _ in 0..<50 {
            // Few different scores: many matchings are equally good.
            let rows = Rows(
                missions: 12, shoppers: 10, slots: 0...3, capacity: 0...3, density: 40,
                scores: -1...2, &dice)
            let instance = try rows.instance
            let other = try MatchingInstance(
                missions: rows.missions.shuffled(using: &dice),
                shoppers: rows.shoppers.shuffled(using: &dice),
                edges: rows.edges.shuffled(using: &dice))
            #expect(other.solved() == instance.solved(), "seed \(seed)")
            #expect(other.matchedGreedily() == instance.matchedGreedily(), "seed \(seed)")
            #expect(other.solved { true } == instance.solved { true }, "seed \(seed)")
        }
    }

    @Test func `of equal scores the first ids win, and a score of 0 takes only what is free`()
        throws
    {
        let level = Rows(scores: [[5, 5], [5, 5]])
        let solution = try level.instance.solved()
        #expect(solution.assignments.map(\.shopper) == [0, 1])
        let zero = Rows(scores: [[0, 0, -1], [0, 3, -1]])
        let found = try zero.instance.solved()
        #expect(found.assignments.map(\.score) == [0, 3])
        #expect(found.assignments.map(\.shopper) == [0, 1])
        #expect(found.totalScore == 3 && found.isOptimal)
    }

    // MARK: Little time

    @Test func `without any time the answer is valid, no worse than greedy, and within its bound`()
        throws
    {
        let seed = UInt64.random(in: 0 ... .max)
        var dice = SplitMix(seed: seed)
        for _ in 0..<10 {
            let rows = Rows(
                missions: 60, shoppers: 40, slots: 0...3, capacity: 0...2, density: 20,
                scores: -100...1_000, &dice)
            let instance = try rows.instance
            let optimum = instance.solved()
            let greedy = instance.matchedGreedily()
            for questions in [0, 1, 2, 5, 10, 30, 60, 1_000] {
                var asked = 0
                let solution = instance.solved {
                    asked += 1
                    return asked > questions
                }
                rows.check(solution)
                #expect(solution.isCutShort == (asked > questions), "seed \(seed)")
                #expect(solution.totalScore <= optimum.totalScore, "seed \(seed)")
                #expect(solution.totalScore >= greedy.totalScore, "seed \(seed)")
                #expect(solution.bound >= optimum.totalScore, "seed \(seed)")
                #expect(solution.bound <= greedy.bound, "seed \(seed)")
            }
        }
    }

    // MARK: What stays free

    @Test func `free slots say why`() throws {
        var rows = Rows(scores: [[9, 8, -1], [7, 7, -5], [-1, -1, -1]])
        rows.slots = [3, 2, 1, 2]
        rows.capacity = [1, 2, 5]
        let solution = try rows.instance.solved()
        rows.check(solution)
        #expect(solution.totalScore == 24 && solution.isOptimal)
        #expect(solution.assignments.map(\.mission) == [0, 0, 1])
        #expect(
            solution.unfilled.map { "\($0.mission) \($0.reason.rawValue) \($0.slots)" } == [
                "0 not_worth_it 1", "1 all_taken 1", "2 not_worth_it 1", "3 no_candidates 2",
            ])
    }

    @Test func `of nothing comes nothing`() throws {
        let empty = try MatchingInstance(missions: [], shoppers: [], edges: [])
        for solution in [empty.solved(), empty.matchedGreedily()] {
            #expect(solution.assignments.isEmpty && solution.unfilled.isEmpty)
            #expect(solution.totalScore == 0 && solution.isOptimal)
        }
    }
}
