/// Numbers that look random and are the same for the same names, in whatever order they are asked
/// for (SplitMix64: Steele, Lea and Flood, 2014).
struct Luck: Sendable {
    let seed: UInt64

    /// What a number is asked for.
    enum Purpose: UInt64 {
        case trade = 1, taste, visit, branch, scan, again, answer, care, text, review, redeem
    }

    /// From 0 up to 1, without 1.
    func share(_ purpose: Purpose, _ numbers: Int...) -> Double {
        Double(state(purpose, numbers) >> 11) / 9_007_199_254_740_992
    }

    /// From one whole number to another, both of them possible.
    func number(_ range: ClosedRange<Int>, _ purpose: Purpose, _ numbers: Int...) -> Int {
        range.lowerBound + Int(state(purpose, numbers) % UInt64(range.count))
    }

    private func state(_ purpose: Purpose, _ numbers: [Int]) -> UInt64 {
        numbers.reduce(Self.mixed(seed &+ purpose.rawValue &* 0x9e37_79b9_7f4a_7c15)) {
            Self.mixed($0 ^ UInt64(truncatingIfNeeded: $1))
        }
    }

    private static func mixed(_ value: UInt64) -> UInt64 {
        var mixed = value &+ 0x9e37_79b9_7f4a_7c15
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
