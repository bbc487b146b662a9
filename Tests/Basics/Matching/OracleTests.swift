import Foundation
import ErrandMatching
import ErrandTestServices
import Testing

/// Our optima beside scipy's.
@Suite struct OracleTests {
    @Test func `three thousand small instances have the optimum that scipy finds`() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        var dice = SplitMix(seed: seed)
        let instances = (0..<3_000).map { Self.rows($0, &dice) }
        for (rows, optimum) in zip(instances, try await Self.optima(instances)) {
            let instance = try rows.instance
            let solution = instance.solved()
            rows.check(solution)
            #expect(solution.totalScore == optimum, "seed \(seed)")
            #expect(solution.isOptimal, "seed \(seed)")
            let greedy = instance.matchedGreedily()
            rows.check(greedy)
            #expect(greedy.totalScore <= optimum && greedy.bound >= optimum, "seed \(seed)")
            // At least half of it, counted so that nothing overflows.
            #expect(greedy.totalScore >= optimum - greedy.totalScore, "seed \(seed)")
            #expect(!solution.isCutShort && !greedy.isCutShort)
        }
    }

    @Test func `instances of hundreds have the optimum that scipy finds`() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        var dice = SplitMix(seed: seed)
        let instances = [(1, 30), (2, 8), (3, 3)].flatMap { capacity, density in
            (0..<4).map { number in
                Rows(
                    missions: 150, shoppers: number % 2 == 0 ? 200 : 60, slots: 0...3,
                    capacity: 0...Int64(capacity), density: density,
                    scores: -1_000...10_000, &dice)
            }
        }
        for (rows, optimum) in zip(instances, try await Self.optima(instances)) {
            let solution = try rows.instance.solved()
            rows.check(solution)
            #expect(solution.totalScore == optimum && solution.isOptimal, "seed \(seed)")
        }
    }

    /// One instance of each sort in turn: single places or several, scores that are often equal,
    /// often negative or huge, graphs that are nearly empty or complete.
    private static func rows(_ number: Int, _ dice: inout SplitMix) -> Rows {
        let single = number % 3 == 0
        let scores: ClosedRange<Int64> =
            switch number / 3 % 4 {
            case 0: -1...3
            case 1: -1_000...1_000
            case 2: 1...100_000
            default: -20...2
            }
        // 2 to the power of 38, times 100,000 and at most 48 slots.
        let unit: Int64 = number / 12 % 3 == 0 ? 1 << 38 : 1
        return Rows(
            missions: dice.number(0...8), shoppers: dice.number(0...8),
            slots: single ? 0...1 : 0...4, capacity: single ? 0...1 : 0...4,
            density: [15, 50, 100][number / 36 % 3], scores: scores, unit: unit, &dice)
    }

    private struct Question: Encodable {
        var slots: [Int64]
        var capacity: [Int64]
        var edges: [[Int64]]
    }

    private static func optima(_ instances: [Rows]) async throws -> [Int64] {
        let encoder = JSONEncoder()
        let questions = try instances.map { rows in
            let question = Question(
                slots: rows.slots, capacity: rows.capacity,
                edges: rows.edges.map { [$0.mission, $0.shopper, $0.score] })
            return String(decoding: try encoder.encode(question), as: UTF8.self)
        }
        let oracle = Checkout.simulators.appending(path: "oracles/matching_oracle.py").path
        let python = try #require(
            ProcessInfo.processInfo.environment["ERRAND_ORACLES"],
            "set it to what 'scripts/oracles' prints: a Python that has scipy")
        let program = try Program(
            "/usr/bin/env", [python, oracle], input: questions.joined(separator: "\n"))
        let end = try await program.end(within: .seconds(300))
        #expect(end == .exited(0), "\(program.errors.suffix(2_000))")
        let optima = program.output.split(separator: "\n").compactMap { Int64($0) }
        try #require(optima.count == instances.count)
        return optima
    }
}
