import ErrandMissions
import Testing

@Suite("Scores") struct ScoreTests {
    /// Somebody whose parts are all in the middle.
    private static let middle: PairFacts = {
        var facts = PairFacts()
        (facts.reviewed, facts.good) = (12, 9)
        (facts.distance, facts.reach) = (2_500, 10_000)
        (facts.pay, facts.expectedPay) = (1_500, 2_000)
        facts.daysWaiting = 14
        (facts.completed, facts.missed) = (6, 1)
        facts.hoursLeft = 48
        return facts
    }()

    private func part(
        _ name: Score.Part.Name, _ change: (inout PairFacts) -> Void,
        weights: ScoreWeights = ScoreWeights()
    ) throws -> Int64 {
        var facts = Self.middle
        change(&facts)
        let parts = Score.parts(facts, weights)
        return try #require(parts.first { $0.name == name }).points
    }

    @Test func `the parts are computed by hand, and add up`() {
        let parts = Score.parts(Self.middle, ScoreWeights())
        #expect(parts.map(\.name) == Score.Part.Name.allCases)
        // (9 + 5.6) / 20; 3/4; 3/4; 1/2; (6 + 3.6) / (6 + 2 + 4).
        #expect(
            parts.map(\.points) == [1_000_000_000_000, 288_000_000_000, 292, 150, 113, 75, 80])
        let sum = parts.reduce(0) { $0 + $1.points }
        #expect(Score(Self.middle, ScoreWeights()).points == sum)
        #expect(sum == 1_288_000_000_710)
        for part in parts {
            #expect((0...part.limit).contains(part.points))
            #expect(part.sentence.first?.isUppercase == false && !part.sentence.hasSuffix("."))
        }
        #expect(parts[2].sentence.contains("9 of 12 answers were good"))
        #expect(parts[3].sentence == "2500 m away, of 10000 m at most")
        var lost = Self.middle
        lost.distance = .infinity
        #expect(Score.parts(lost, ScoreWeights())[3].points == 0)
        #expect(Score.parts(lost, ScoreWeights())[3].sentence.contains("not known"))
    }

    @Test func `quality begins in the middle, and follows what was reviewed`() throws {
        func quality(_ good: Int, _ reviewed: Int) throws -> Int64 {
            try part(.quality) { ($0.good, $0.reviewed) = (good, reviewed) }
        }
        #expect(try quality(0, 0) == 280)
        #expect(try quality(1, 1) < quality(9, 10))
        #expect(try quality(100, 100) < 400)
        #expect(try quality(90, 100) > quality(9, 10))
        #expect(try quality(0, 1_000) < 3)
    }

    @Test func `nearness, pay and waiting are cut at their ends`() throws {
        for (distance, points) in [(0.0, 200), (5_000, 100), (10_000, 0), (20_000, 0)] {
            #expect(try part(.nearness) { $0.distance = distance } == Int64(points))
        }
        #expect(try part(.nearness) { $0.reach = 0 } == 0)
        for (pay, expected, points) in [
            (1_000, 2_000, 75), (2_000, 2_000, 150), (9_000, 2_000, 150), (1, nil, 150),
        ] as [(Int64, Int64?, Int64)] {
            #expect(try part(.pay) { ($0.pay, $0.expectedPay) = (pay, expected) } == points)
        }
        for (days, points) in [(-1.0, 0), (0, 0), (7, 38), (28, 150), (400, 150)] {
            #expect(try part(.waiting) { $0.daysWaiting = days } == Int64(points))
        }
        for (hours, step) in [(-3.0, 336), (0, 336), (1.5, 335), (335.9, 1), (336, 0), (9e9, 0)] {
            #expect(try part(.urgency) { $0.hoursLeft = hours } == Int64(step) * Score.urgencyStep)
        }
    }

    @Test func `a missed mission counts twice`() throws {
        func reliability(_ completed: Int, _ missed: Int) throws -> Int64 {
            try part(.reliability) { ($0.completed, $0.missed) = (completed, missed) }
        }
        #expect(try reliability(0, 0) == 90)
        #expect(try reliability(10, 0) == 97)
        #expect(try reliability(10, 1) == 85)
        #expect(try reliability(0, 100) < 3)
    }

    @Test func `no facts, however strange, leave the range or stop the program`() {
        let wild: [Double] = [.nan, .infinity, -.infinity, -1e300, 1e300, 0]
        for value in wild {
            var facts = PairFacts()
            (facts.distance, facts.reach) = (value, value)
            (facts.daysWaiting, facts.hoursLeft) = (value, value)
            (facts.pay, facts.expectedPay) = (.max, 0)
            (facts.completed, facts.missed) = (Int.max / 4, Int.max / 4)
            let weights = ScoreWeights(quality: .max, nearness: -5)
            #expect(weights.quality == ScoreWeights.limit && weights.nearness == 0)
            let parts = Score.parts(facts, weights)
            for part in parts { #expect((0...part.limit).contains(part.points)) }
            #expect(parts.reduce(0) { $0 + $1.points } == Score(facts, weights).points)
        }
    }

    @Test func `a slot comes before urgency, and urgency before all parts`() {
        // The most that the parts of one pair can be, with the largest weights.
        let parts = 5 * ScoreWeights.limit
        #expect(Score.covering / parts >= 200_000)
        #expect(Score.urgencyStep / parts >= 200)
        #expect(Score.urgencyHours * Score.urgencyStep < Score.covering)
        let most = Score.covering + Score.urgencyHours * Score.urgencyStep + parts
        // As MatchingInstance asks for it.
        #expect(most <= Int64.max / (2 * 3_000_000))
    }
}
