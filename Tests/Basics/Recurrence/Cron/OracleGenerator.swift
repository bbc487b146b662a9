import ErrandRecurrence
import ErrandTestServices

extension SplitMix {
    /// True once in `n` times.
    mutating func once(in n: Int) -> Bool { Int.random(in: 0..<n, using: &self) == 0 }
}

extension Zone {
    /// A zone whose clocks change several times within hours, every few weeks from 2005 to 2037.
    static func wild(seed: UInt64) -> Zone {
        var random = SplitMix(seed: seed)
        var changes: [(at: Int, minutes: Int)] = []
        var at = second(2005, 1, 1)
        while at < second(2037, 1, 1) {
            at = (at / 86_400 + random.number(5...20)) * 86_400
            for _ in 0..<random.number(2...6) {
                at += random.number(1...8) * 900
                changes.append((at, random.number(-12...12) * 15))
            }
        }
        return made("Test/Wild", 0, changes)
    }
}

extension OracleExpression {
    /// A random expression; hours are drawn towards those in which clocks change.
    static func random(withSeconds: Bool, using random: inout SplitMix) -> OracleExpression {
        var hours = plain(0...23, using: &random)
        if random.once(in: 2) { hours = [.value(random.number(0...4))] }
        if random.once(in: 6) { hours = [.range(random.number(0...2), random.number(2...6))] }
        return OracleExpression(
            seconds: withSeconds ? plain(0...59, using: &random) : nil,
            minutes: random.once(in: 3)
                ? [.value(random.number(0...3) * 15)] : plain(0...59, using: &random),
            hours: hours, days: dayOfMonth(using: &random),
            months: random.once(in: 4) ? plain(1...12, using: &random) : [.star],
            weekdays: weekday(using: &random), spelling: random.next())
    }

    private static func plain(_ range: ClosedRange<Int>, using random: inout SplitMix)
        -> [OracleItem]
    {
        if random.once(in: 4) { return [.star] }
        let count = random.once(in: 3) ? random.number(2...3) : 1
        return (0..<count).map { _ in item(range, using: &random) }
    }

    private static func item(_ range: ClosedRange<Int>, using random: inout SplitMix) -> OracleItem
    {
        let most = range.upperBound - range.lowerBound
        let (one, two) = (random.number(range), random.number(range))
        let step = random.once(in: 3) ? random.number(1...most) : random.number(1...min(most, 15))
        switch random.number(0...8) {
        case 0...3: return .value(one)
        case 4: return .starStep(step)
        case 5: return .range(min(one, two), max(one, two))
        case 6: return .rangeStep(min(one, two), max(one, two), step)
        case 7: return .openStep(one, step)
        default: return random.once(in: 4) ? .star : .value(two)
        }
    }

    private static func dayOfMonth(using random: inout SplitMix) -> [OracleItem] {
        switch random.number(0...11) {
        case 0...4: return [.star]
        case 5: return [.question]
        case 6: return [.nearestWorkday(random.number(1...31))]
        case 7: return [.lastWorkday]
        case 8:
            let back = random.once(in: 2) ? 0 : random.number(1...30)
            let last = OracleItem.daysFromLast(back)
            return random.once(in: 2) ? [last] : [last, item(1...31, using: &random)]
        default: return plain(1...31, using: &random)
        }
    }

    private static func weekday(using random: inout SplitMix) -> [OracleItem] {
        switch random.number(0...9) {
        case 0...4: return [.star]
        case 5: return [.question]
        case 6: return [.lastWeekday(random.number(0...7))]
        case 7:
            let nth = OracleItem.nthWeekday(random.number(0...7), random.number(1...5))
            return random.once(in: 2) ? [nth] : [item(0...7, using: &random), nth]
        default: return plain(0...7, using: &random)
        }
    }

    /// All expressions that are one step simpler, to find the smallest that still fails.
    var simpler: [OracleExpression] {
        let fields: [WritableKeyPath<OracleExpression, [OracleItem]>] = [
            \.minutes, \.hours, \.days, \.months, \.weekdays,
        ]
        var all: [OracleExpression] = []
        for field in fields where self[keyPath: field] != [.star] {
            var other = self
            other[keyPath: field] = [.star]
            all.append(other)
            let items = self[keyPath: field]
            for index in items.indices where items.count > 1 {
                other[keyPath: field] = items
                other[keyPath: field].remove(at: index)
                all.append(other)
            }
        }
        return all
    }
}
