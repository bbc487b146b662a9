import Errand
import Foundation
import Testing

/// The waits between attempts, also by the numbers of a row that somebody wrote by hand.
@Suite("Backoff") struct BackoffTests {
    private static let month = Duration.seconds(30 * 86_400)

    @Test func `waits double up to the ceiling`() {
        let backoff = Backoff(base: 15, factor: 2, ceiling: 3_600, jitter: 0)
        let waits = (1...10).map { backoff.delay(after: $0, chance: 0.5) }
        #expect(
            waits == [15, 30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600].map { .seconds($0) })
        #expect(backoff.delay(after: 32_767, chance: 0.5) == .seconds(3_600))
        // Before the first failure, as after it.
        #expect(backoff.delay(after: 0, chance: 0.5) == .seconds(15))
        #expect(backoff.delay(after: .min, chance: 0.5) == .seconds(15))
    }

    @Test func `jitter shortens a wait by up to its share`() {
        let backoff = Backoff(base: 100, factor: 1, ceiling: 3_600, jitter: 0.25)
        #expect(backoff.delay(after: 5, chance: 0) == .seconds(100))
        #expect(backoff.delay(after: 5, chance: 1) == .seconds(75))
        let whole = Backoff(base: 100, factor: 1, ceiling: 3_600, jitter: 1)
        #expect(whole.delay(after: 1, chance: 1) == .zero)
    }

    /// Not finite, negative, or far too large.
    private static let extremes: [Double] = [
        .nan, .signalingNaN, .infinity, -.infinity, -1, -1e308, 0, .leastNonzeroMagnitude, 1,
        1e308, .greatestFiniteMagnitude,
    ]
    private static let attempts = Array(1...100) + [-1, 0, 32_767]

    /// The waits that are negative, or longer than 30 days.
    private func bad(_ backoffs: [Backoff], chances: [Double]) -> [String] {
        var bad: [String] = []
        for backoff in backoffs {
            for attempt in Self.attempts {
                for chance in chances {
                    let wait = backoff.delay(after: attempt, chance: chance)
                    if wait < .zero || wait > Self.month {
                        bad.append("\(backoff) \(attempt) \(chance): \(wait)")
                    }
                }
            }
        }
        return bad
    }

    @Test(arguments: ["base", "factor", "ceiling", "jitter"])
    func `an extreme number in one field gives 0 to 30 days`(_ field: String) {
        let backoffs = Self.extremes.map { value in
            var backoff = Backoff()
            switch field {
            case "base": backoff.base = value
            case "factor": backoff.factor = value
            case "ceiling": backoff.ceiling = value
            default: backoff.jitter = value
            }
            return backoff
        }
        #expect(bad(backoffs, chances: Self.extremes + [0.5]) == [])
    }

    @Test func `extreme numbers in all fields give 0 to 30 days`() {
        let few: [Double] = [.nan, .infinity, -.infinity, -1, 1, 1e308]
        var backoffs: [Backoff] = []
        for base in few {
            for factor in few {
                for ceiling in few {
                    backoffs += few.map {
                        Backoff(base: base, factor: factor, ceiling: ceiling, jitter: $0)
                    }
                }
            }
        }
        #expect(bad(backoffs, chances: [1]) == [])
    }

    @Test(arguments: [
        #"{"base": 1e308, "factor": 1e308, "ceiling": 1e308, "jitter": 1e308}"#,
        #"{"base": -1e308, "factor": -1e308, "ceiling": -1e308, "jitter": -1e308}"#,
        #"{"base": 1, "factor": 1e308, "ceiling": 1e308, "jitter": 0}"#,
    ])
    func `what is decoded from a row is bounded, too`(_ json: String) throws {
        let backoff = try JSONDecoder().decode(Backoff.self, from: Data(json.utf8))
        #expect(bad([backoff], chances: [0, 1]) == [])
    }
}
