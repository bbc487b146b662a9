/// A month as it goes, day by day.
struct Month {
    private let city: City
    private let luck: Luck
    private var counts = Simulation.Counts()

    /// A survey that waits for its person.
    private struct Invitation {
        var shop: Int
        /// The last day on which it can be answered.
        var lastDay: Int
        /// The number of the receipt, the name of its luck.
        var receipt: Int
    }

    /// What one person has.
    private struct Pocket {
        var open: [Invitation] = []
        /// Establishment and last day of each coupon.
        var coupons: [(shop: Int, lastDay: Int)] = []
        var done = 0
        var used = 0
        var doneAt: [Int: Int] = [:]
        /// Bad answers in a row.
        var bad = 0
    }

    private var pockets: [Pocket]
    private var lastReceipt = 0

    // As surveys and badges have them.
    private static let scansPerDay = 10
    private static let scansPerBranch = 3
    private static let reminders = [3, 1]
    private static let levels: Set = [1, 10, 25, 50, 100]
    private static let regularLevels: Set = [3, 5, 10, 25]
    private static let sampled = 0.1

    init(_ city: City, _ luck: Luck) {
        self.city = city
        self.luck = luck
        pockets = [Pocket](repeating: Pocket(), count: city.people.count)
    }

    var openCount: Int { pockets.reduce(0) { $0 + $1.open.count } }

    /// Lives one day and returns what happened in it.
    mutating func live(_ day: Int) -> Simulation.Counts {
        counts = Simulation.Counts()
        for id in city.people.indices {
            shop(id, on: day)
            answer(id, on: day)
            // At night.
            counts.expired += pockets[id].open.count { $0.lastDay == day }
            pockets[id].open.removeAll { $0.lastDay == day }
            pockets[id].coupons.removeAll { $0.lastDay == day }
        }
        return counts
    }

    // MARK: Purchases

    private mutating func shop(_ id: Int, on day: Int) {
        let person = city.people[id]
        var scans: [Int: Int] = [:]
        // A feast in the neighbourhood makes days of many purchases.
        let most = luck.share(.visit, id, day, -1) < 0.003 ? 14 : 2
        for visit in 0..<most where luck.share(.visit, id, day, visit) < person.visits {
            let branch =
                luck.share(.branch, id, day, visit) < 0.8
                ? person.favourites[luck.number(0...2, .branch, id, day, visit, 1)]
                : luck.number(0...(city.shopOfBranch.count - 1), .branch, id, day, visit, 2)
            redeem(id, at: city.shopOfBranch[branch], on: day, visit)
            guard luck.share(.scan, id, day, visit) < person.scans else { continue }
            scan(id, at: branch, on: day, &scans, visit)
        }
    }

    private mutating func scan(
        _ id: Int, at branch: Int, on day: Int, _ scans: inout [Int: Int], _ visit: Int
    ) {
        let shop = city.shops[city.shopOfBranch[branch]]
        // Some find the receipt in a pocket, weeks later.
        let isOld = luck.share(.again, id, day, visit) < 0.02
        let isTooMany =
            scans[branch, default: 0] >= Self.scansPerBranch
            || scans.values.reduce(0, +) >= Self.scansPerDay
        guard !isOld, !isTooMany else {
            counts.refused += 1
            return
        }
        scans[branch, default: 0] += 1
        lastReceipt += 1
        counts.given += 1
        pockets[id].open.append(
            Invitation(
                shop: city.shopOfBranch[branch], lastDay: day + shop.expiresDays,
                receipt: lastReceipt))
        // Some try the same receipt twice.
        if luck.share(.again, id, day, visit, 1) < 0.01 { counts.refused += 1 }
    }

    private mutating func redeem(_ id: Int, at shop: Int, on day: Int, _ visit: Int) {
        guard let place = pockets[id].coupons.firstIndex(where: { $0.shop == shop }),
            luck.share(.redeem, id, day, visit) < 0.5
        else { return }
        pockets[id].coupons.remove(at: place)
        pockets[id].used += 1
        counts.redeemed += 1
        if Self.levels.contains(pockets[id].used) { counts.badges += 1 }
    }

    // MARK: Answers

    private mutating func answer(_ id: Int, on day: Int) {
        let open = pockets[id].open
        guard !open.isEmpty else { return }
        // Those with the same last day are in one notice.
        let ending = Set(open.map { $0.lastDay - day }).intersection(Self.reminders)
        counts.reminded += ending.count
        var left: [Invitation] = []
        for invitation in open {
            let isReminded = ending.contains(invitation.lastDay - day)
            let likely = city.people[id].answers + (isReminded ? 0.25 : 0)
            guard luck.share(.answer, invitation.receipt, day) < likely else {
                left.append(invitation)
                continue
            }
            complete(invitation, id, on: day)
        }
        pockets[id].open = left
    }

    private mutating func complete(_ invitation: Invitation, _ id: Int, on day: Int) {
        let shop = city.shops[invitation.shop]
        counts.completed += 1
        counts.rewards += shop.cut
        if let days = shop.couponDays {
            counts.coupons += 1
            pockets[id].coupons.append((invitation.shop, day + days))
        }
        pockets[id].done += 1
        pockets[id].doneAt[invitation.shop, default: 0] += 1
        if Self.levels.contains(pockets[id].done) { counts.badges += 1 }
        if Self.regularLevels.contains(pockets[id].doneAt[invitation.shop] ?? 0) {
            counts.badges += 1
        }
        review(invitation, id, shop)
    }

    /// A sample, and all answers that look careless, are reviewed.
    private mutating func review(_ invitation: Invitation, _ id: Int, _ shop: City.Shop) {
        let receipt = invitation.receipt
        let isCareless = city.people[id].isCareless
        let isFast = luck.share(.care, receipt) < (isCareless ? 0.6 : 0.01)
        let isEqual =
            shop.ratings >= 5 && luck.share(.care, receipt, 1) < (isCareless ? 0.5 : 0.03)
        let isShort = luck.share(.text, receipt) < (isCareless ? 0.4 : 0.01)
        let isFlagged = isFast || isEqual || isShort
        guard isFlagged || luck.share(.review, receipt) < Self.sampled else { return }
        counts.reviewed += 1
        let bad = isFlagged ? (isCareless ? 0.8 : 0.15) : (isCareless ? 0.3 : 0.01)
        guard luck.share(.review, receipt, 1) < bad else {
            pockets[id].bad = 0
            return
        }
        counts.rejected += 1
        pockets[id].bad += 1
        if pockets[id].bad == 2 { counts.flags += 1 }
    }
}
