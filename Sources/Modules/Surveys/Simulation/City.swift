/// The establishments and people of a simulated month.
struct City: Sendable {
    /// An establishment with its survey.
    struct Shop: Sendable {
        /// In minor units.
        var cut: Int
        var minutes: Int
        var ratings: Int
        var expiresDays: Int
        /// How long its coupon is valid; nil for no coupon.
        var couponDays: Int?
    }

    /// What a person is like.
    struct Person: Sendable {
        /// Purchases on an average day, how likely they scan a receipt, and answer on a day.
        var visits: Double
        var scans: Double
        var answers: Double
        /// Answers without reading.
        var isCareless: Bool
        /// The branches that they go to most of the time.
        var favourites: [Int]
    }

    let shops: [Shop]
    /// The establishment of each branch.
    let shopOfBranch: [Int]
    let people: [Person]

    init(_ size: Simulation.Size, _ luck: Luck) {
        let shops = (0..<max(size.establishments, 1)).map { id in
            Shop(
                cut: luck.number(2...12, .trade, id, 0) * 25,
                minutes: luck.number(2...10, .trade, id, 1),
                ratings: luck.number(2...8, .trade, id, 2),
                expiresDays: luck.number(7...14, .trade, id, 3),
                couponDays: luck.share(.trade, id, 4) < 0.7
                    ? luck.number(14...30, .trade, id, 5) : nil)
        }
        let branches = max(size.branches, shops.count)
        // Each establishment has one at least.
        shopOfBranch = (0..<branches).map {
            $0 < shops.count ? $0 : luck.number(0...(shops.count - 1), .branch, $0)
        }
        people = (0..<max(size.people, 1)).map { id in
            Person(
                visits: 0.05 + 0.9 * luck.share(.taste, id, 0),
                scans: 0.1 + 0.8 * luck.share(.taste, id, 1),
                answers: 0.03 + 0.25 * luck.share(.taste, id, 2),
                isCareless: luck.share(.taste, id, 3) < 0.06,
                favourites: (0..<3).map { luck.number(0...(branches - 1), .taste, id, 4, $0) })
        }
        self.shops = shops
    }
}
