import ErrandRecurrence

/// A stretch of time in a zone, looked at minute by minute (or second by second).
struct OracleSpan {
    let zone: Zone
    let start: Int
    let end: Int
    /// 60 or 1.
    let step: Int
    /// The first instant looked at, well before `start`: a repeat or a gap is always seen whole.
    private let first: Int
    /// The local time of each instant.
    private var locals: [Int] = []
    /// The least local time seen; what follows is indexed by steps from it.
    private var least: Int
    /// The index of the first instant with a local time, of the last, and how many have it.
    private var firstPass: [Int32] = []
    private var lastPass: [Int32] = []
    private var passes: [UInt8] = []
    /// For each local time, the index of the first instant that is past it or at it.
    private var reached: [Int32] = []

    init(zone: Zone, start: Int, end: Int, step: Int, margin: Int) {
        (self.zone, self.start, self.end, self.step) = (zone, start, end, step)
        first = start - margin
        locals.reserveCapacity((end - start + 2 * margin) / step)
        for second in stride(from: first, to: end + margin, by: step) {
            locals.append(second + zone.segment(at: second).offset)
        }
        least = locals.min() ?? 0
        let count = ((locals.max() ?? 0) - least) / step + 1
        firstPass = Array(repeating: -1, count: count)
        lastPass = firstPass
        reached = firstPass
        passes = Array(repeating: 0, count: count)
        var past = 0
        for (index, local) in locals.enumerated() {
            let slot = (local - least) / step
            if firstPass[slot] < 0 { firstPass[slot] = Int32(index) }
            lastPass[slot] = Int32(index)
            passes[slot] += 1
            while past <= slot {
                reached[past] = Int32(index)
                past += 1
            }
        }
    }

    /// Every occurrence of an expression, by looking at every local time there is or is not.
    func occurrences(
        of expression: OracleExpression, gap: GapRule, repeats: RepeatRule
    ) -> [Occurrence] {
        let minutes = (0...59).map(expression.allows(minute:))
        let hours = (0...23).map(expression.allows(hour:))
        let seconds = (0...59).map(expression.allows(second:))
        var found: [Int32: ClockChange?] = [:]
        var skipped: [(index: Int32, local: Int)] = []
        var slot = 0
        var allowed = (day: -1, matches: false)
        while slot < passes.count {
            let local = least + slot * step
            let day = local / 86_400
            if day != allowed.day { allowed = (day, expression.allows(OracleDay.all[day])) }
            let time = local % 86_400
            if !allowed.matches {
                slot += (86_400 - time + step - 1) / step
                continue
            }
            if hours[time / 3_600], minutes[time / 60 % 60], seconds[time % 60] {
                if passes[slot] == 0 {
                    let index = reached[slot]
                    if gap == .skip {
                        skipped.append((index, local))
                    } else if case .movedFromGap? = found[index] ?? nil {
                        // One stands in for all.
                    } else {
                        found[index] = .some(.movedFromGap(local: local))
                    }
                } else {
                    take(slot, repeats, into: &found)
                }
            }
            slot += 1
        }
        return listed(found, skipped)
    }

    private func take(_ slot: Int, _ repeats: RepeatRule, into found: inout [Int32: ClockChange?]) {
        func set(_ index: Int32, _ change: ClockChange?) {
            if found[index] == nil { found[index] = .some(change) }
        }
        if passes[slot] == 1 { return set(firstPass[slot], nil) }
        switch repeats {
        case .first: set(firstPass[slot], .onlyOneOfTwo)
        case .last: set(lastPass[slot], .onlyOneOfTwo)
        case .both:
            let local = locals[Int(firstPass[slot])]
            for index in firstPass[slot]...lastPass[slot] where locals[Int(index)] == local {
                set(index, index == firstPass[slot] ? .firstOfTwo : .secondOfTwo)
            }
        }
    }

    private func listed(
        _ found: [Int32: ClockChange?], _ skipped: [(index: Int32, local: Int)]
    ) -> [Occurrence] {
        var last = start - 1
        var list: [Occurrence] = []
        for (index, change) in found.sorted(by: { $0.key < $1.key }) {
            let at = first + Int(index) * step
            guard start <= at, at < end else { continue }
            let dropped = skipped.first {
                let gap = first + Int($0.index) * step
                return last < gap && gap <= at
            }
            let offset = locals[Int(index)] - at
            list.append(
                Occurrence(at: at, offset: offset, change: change, skippedLocal: dropped?.local))
            last = at
        }
        return list
    }
}
