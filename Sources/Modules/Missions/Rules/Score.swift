/// How much the parts of a score count, in points; they are columns of `missions.rules`.
package struct ScoreWeights: Equatable, Sendable {
    package var quality: Int64
    package var nearness: Int64
    package var pay: Int64
    package var waiting: Int64
    package var reliability: Int64

    /// The most that each may be, by a check of the table: the ranges of a score rely on it.
    package static let limit: Int64 = 1_000_000

    /// The weights that a new database has; any other is cut to 0...``limit``.
    package init(
        quality: Int64 = 400, nearness: Int64 = 200, pay: Int64 = 150, waiting: Int64 = 150,
        reliability: Int64 = 100
    ) {
        func cut(_ weight: Int64) -> Int64 { min(max(weight, 0), Self.limit) }
        self.quality = cut(quality)
        self.nearness = cut(nearness)
        self.pay = cut(pay)
        self.waiting = cut(waiting)
        self.reliability = cut(reliability)
    }
}

/// What is known of a shopper and a mission when one is weighed for the other.
///
/// Age, sex, origin and name are not among it, and never will be.
package struct PairFacts: Equatable, Sendable {
    /// Reviewed answers, and those of them that are good.
    package var reviewed = 0
    package var good = 0
    /// In metres, from where the shopper sets out to the branch; infinite where that is not known.
    package var distance: Double = 0
    /// In metres: the shorter of how far the shopper travels and the mission's radius.
    package var reach: Double = 1
    /// What the mission pays, in minor units.
    package var pay: Int64 = 0
    /// What the shopper expects; nil for anything.
    package var expectedPay: Int64?
    /// Days since the last mission was offered or, before the first, since the shopper was hired.
    package var daysWaiting: Double = 0
    /// Of the missions that they have accepted.
    package var completed = 0
    package var missed = 0
    /// Until the mission ends.
    package var hoursLeft: Double = 0

    package init() {}
}

/// What it is worth to send a shopper to a mission: whole points, with the parts they are made of.
///
/// A filled slot gets ``covering``, more than any chain of up to 200,000 shoppers who change places
/// for it can lose in all their other parts: so as many slots are filled as can be. Then comes
/// urgency, in steps of an hour that are each worth ``urgencyStep``: of two missions of which one
/// has to go without, the later one does. Then come the parts that have weights, by which one
/// shopper is better than another. All of it fits into 64 bits for three million slots.
package struct Score: Equatable, Sendable {
    /// One reason for a score.
    package struct Part: Equatable, Sendable {
        package enum Name: String, CaseIterable, Sendable {
            case covering, urgency, quality, nearness, pay, waiting, reliability
        }

        package let name: Name
        package let points: Int64
        /// The most that this part can be.
        package let limit: Int64
        /// Why, in a sentence for an operator.
        package let sentence: String
    }

    /// The points of each filled slot.
    package static let covering: Int64 = 1_000_000_000_000
    /// For each hour by which a mission ends sooner than ``urgencyHours`` from now.
    package static let urgencyStep: Int64 = 1_000_000_000
    /// Two weeks; what ends later can wait.
    package static let urgencyHours: Int64 = 336
    /// The number of days without a mission after which the preference stops growing.
    package static let waitingDays: Double = 28

    /// The assumption about new shoppers: this number of reviews with this share of
    /// good ones.
    ///
    /// Without it one good answer would beat a hundred, and new people would never
    /// catch up (a Bayesian mean; Wilson's bound, which begins at 0, decides who is hired at all).
    package static let priorReviews = 8.0
    package static let priorQuality = 0.7
    /// The same for missions, where a missed one counts twice: a slot was lost, and time with it.
    package static let priorMissions = 4.0
    package static let priorReliability = 0.9
    package static let missedWeight = 2.0

    package let points: Int64

    /// The score of a pair.
    package init(_ facts: PairFacts, _ weights: ScoreWeights) {
        var sum = Self.covering + Self.urgency(facts)
        for (share, weight) in Self.shares(facts, weights) { sum += Self.points(share, weight) }
        points = sum
    }

    /// The parts, the largest possible first; their sum is ``points``.
    package static func parts(_ facts: PairFacts, _ weights: ScoreWeights) -> [Part] {
        var parts = [
            Part(
                name: .covering, points: covering, limit: covering,
                sentence: "a slot that is filled counts more than who fills it"),
            Part(
                name: .urgency, points: urgency(facts), limit: urgencyHours * urgencyStep,
                sentence: "the mission ends in \(rounded(facts.hoursLeft)) hours"),
        ]
        let sentences = sentences(facts)
        for (place, (share, weight)) in shares(facts, weights).enumerated() {
            parts.append(
                Part(
                    name: Part.Name.allCases[place + 2], points: points(share, weight),
                    limit: weight, sentence: sentences[place]))
        }
        return parts
    }

    // MARK: The parts

    private static func urgency(_ facts: PairFacts) -> Int64 {
        let hours = facts.hoursLeft.isFinite ? max(facts.hoursLeft, 0) : Double(urgencyHours)
        return (urgencyHours - Int64(min(hours, Double(urgencyHours)))) * urgencyStep
    }

    /// Of each part with a weight how much of it is reached, in the order of their names.
    private static func shares(
        _ facts: PairFacts, _ weights: ScoreWeights
    ) -> [(share: Double, weight: Int64)] {
        [
            (quality(facts), weights.quality), (nearness(facts), weights.nearness),
            (pay(facts), weights.pay), (facts.daysWaiting / waitingDays, weights.waiting),
            (reliability(facts), weights.reliability),
        ]
    }

    private static func points(_ share: Double, _ weight: Int64) -> Int64 {
        // What is not a number is no ground for anything.
        let share = share.isNaN ? 0 : min(max(share, 0), 1)
        return Int64((share * Double(weight)).rounded())
    }

    private static func quality(_ facts: PairFacts) -> Double {
        (Double(facts.good) + priorQuality * priorReviews)
            / (Double(facts.reviewed) + priorReviews)
    }

    private static func nearness(_ facts: PairFacts) -> Double {
        facts.reach > 0 ? 1 - facts.distance / facts.reach : 0
    }

    private static func pay(_ facts: PairFacts) -> Double {
        guard let expected = facts.expectedPay, expected > 0 else { return 1 }
        return Double(facts.pay) / Double(expected)
    }

    private static func reliability(_ facts: PairFacts) -> Double {
        (Double(facts.completed) + priorReliability * priorMissions)
            / (Double(facts.completed) + missedWeight * Double(facts.missed) + priorMissions)
    }

    // MARK: Words

    private static func rounded(_ number: Double) -> Int64 {
        number.isFinite ? Int64(min(max(number, -1e15), 1e15).rounded()) : 0
    }

    private static func percent(_ share: Double) -> String { "\(rounded(share * 100)) %" }

    private static func sentences(_ facts: PairFacts) -> [String] {
        let expected = facts.expectedPay.map { "\($0)" }
        return [
            "\(facts.good) of \(facts.reviewed) answers were good; with what is assumed of "
                + "everybody that counts as \(percent(quality(facts)))",
            facts.distance.isFinite
                ? "\(rounded(facts.distance)) m away, of \(rounded(facts.reach)) m at most"
                : "it is not known where the shopper sets out from",
            expected.map { "pays \(facts.pay), where the shopper expects \($0), in minor units" }
                ?? "pays \(facts.pay) in minor units, and the shopper expects no certain pay",
            "has waited \(rounded(facts.daysWaiting)) days for a mission, of which "
                + "\(rounded(waitingDays)) count",
            "\(facts.completed) missions done and \(facts.missed) missed; with what is assumed of "
                + "everybody that counts as \(percent(reliability(facts)))",
        ]
    }
}
