/// A month of surveys that never was: how many are given, answered and missed, and what they cost.
///
/// Pure: the same size and seed give the same month. Each day people buy, scan receipts, answer
/// surveys and redeem coupons; at night surveys expire, and answers are sampled for review.
package struct Simulation: Sendable {
    /// How large the city is.
    package struct Size: Equatable, Sendable {
        package var days = 30
        package var establishments = 10
        package var branches = 40
        package var people = 1_000

        package init() {}
    }

    /// What happened in a week, or in the whole month.
    package struct Counts: Equatable, Sendable {
        /// Invitations by receipts.
        package var given = 0
        /// Receipts that were refused: used, too old or too many.
        package var refused = 0
        package var reminded = 0
        package var completed = 0
        package var expired = 0
        /// The people's shares, in minor units.
        package var rewards = 0
        package var coupons = 0
        package var redeemed = 0
        package var badges = 0
        /// Answers that went to review, and those of them that were bad.
        package var reviewed = 0
        package var rejected = 0
        /// People with two bad answers in a row.
        package var flags = 0

        package init() {}

        package static func + (one: Counts, other: Counts) -> Counts {
            var sum = one
            sum.given += other.given
            sum.refused += other.refused
            sum.reminded += other.reminded
            sum.completed += other.completed
            sum.expired += other.expired
            sum.rewards += other.rewards
            sum.coupons += other.coupons
            sum.redeemed += other.redeemed
            sum.badges += other.badges
            sum.reviewed += other.reviewed
            sum.rejected += other.rejected
            sum.flags += other.flags
            return sum
        }
    }

    /// What came of a month.
    package struct Outcome: Equatable, Sendable {
        package let weeks: [Counts]
        /// Invitations that can still be answered at the end.
        package let open: Int

        package var total: Counts { weeks.reduce(Counts(), +) }
    }

    private let size: Size
    private let seed: UInt64

    package init(size: Size = Size(), seed: UInt64) {
        self.size = size
        self.seed = seed
    }

    /// Returns the month, week by week.
    package func month() -> Outcome {
        let luck = Luck(seed: seed)
        var month = Month(City(size, luck), luck)
        var weeks: [Counts] = []
        for day in 0..<size.days {
            if day % 7 == 0 { weeks.append(Counts()) }
            weeks[weeks.count - 1] = weeks[weeks.count - 1] + month.live(day)
        }
        return Outcome(weeks: weeks, open: month.openCount)
    }
}
