/// Numbers that look random and are the same for the same names, in whatever order they are asked
/// for: so two ways to assign have the same luck (SplitMix64: Steele, Lea and Flood, 2014).
struct Chance: Sendable {
    let seed: UInt64

    /// What a number is asked for.
    enum Purpose: UInt64 {
        case place = 1, size, skill, travel, window, accept, perform, approve, branch
    }

    /// From 0 up to 1, without 1.
    func share(_ purpose: Purpose, _ numbers: Int64...) -> Double {
        var state = Self.mixed(seed &+ purpose.rawValue &* 0x9e37_79b9_7f4a_7c15)
        for number in numbers { state = Self.mixed(state ^ UInt64(bitPattern: number)) }
        return Double(state >> 11) / 9_007_199_254_740_992
    }

    /// From one whole number to another, both of them possible.
    func number(_ range: ClosedRange<Int>, _ purpose: Purpose, _ numbers: Int64...) -> Int {
        var state = Self.mixed(seed &+ purpose.rawValue &* 0xd1b5_4a32_d192_ed03)
        for number in numbers { state = Self.mixed(state ^ UInt64(bitPattern: number)) }
        return range.lowerBound + Int(state % UInt64(range.count))
    }

    private static func mixed(_ value: UInt64) -> UInt64 {
        var mixed = value &+ 0x9e37_79b9_7f4a_7c15
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}

/// The people and branches of a simulated year.
struct Town: Sendable {
    /// Somewhere in a city; kilometres from its centre.
    struct Place: Sendable {
        var city: Int
        var x: Double
        var y: Double

        /// In metres; nil to another city.
        func distance(to other: Place) -> Double? {
            guard city == other.city else { return nil }
            let (dx, dy) = (x - other.x, y - other.y)
            return (dx * dx + dy * dy).squareRoot() * 1_000
        }
    }

    /// What a shopper is like.
    struct Shopper: Sendable {
        var home: Place
        /// In metres.
        var radius: Double
        var capacity: Int
        /// How likely they take what they are offered, do what they took, and do it well.
        var acceptance: Double
        var reliability: Double
        var skill: Double
        /// In minor units.
        var expectedPay: Int64
    }

    /// Their ids are their places in the list, from 1.
    let shoppers: [Shopper]
    let branches: [Place]
    let missionsPerDay: Int

    init(_ size: Simulation.Size, seed: UInt64) {
        let chance = Chance(seed: seed)
        let cities = max(size.cities, 1)
        // Three numbers of one mean lie about the middle: most live near the centre.
        func offset(_ kind: Int64, _ id: Int64, _ axis: Int64, spread: Double) -> Double {
            let sum = (0..<3).reduce(0.0) {
                $0 + chance.share(.place, kind, id, axis, Int64($1))
            }
            return (sum - 1.5) * spread
        }
        func place(_ kind: Int64, _ id: Int64, spread: Double) -> Place {
            Place(
                city: Int(id) % cities, x: offset(kind, id, 0, spread: spread),
                y: offset(kind, id, 1, spread: spread))
        }
        shoppers = (1...Int64(max(size.shoppers, 1))).map { id in
            Shopper(
                home: place(1, id, spread: 12),
                radius: 3_000 + 12_000 * chance.share(.travel, id),
                capacity: chance.number(1...3, .size, id),
                acceptance: 0.3 + 0.6 * chance.share(.accept, id),
                reliability: 0.85 + 0.15 * chance.share(.perform, id),
                skill: 0.7 + 0.3 * chance.share(.skill, id),
                expectedPay: Int64(chance.number(10...30, .size, id, 1)) * 100)
        }
        branches = (0..<Int64(max(size.branches, 1))).map { place(2, $0, spread: 8) }
        missionsPerDay = max(size.missionsPerDay, 0)
    }
}
