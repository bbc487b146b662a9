/// The segments of a zone: those of its file one by one, then those of a rule for ever.
final class ZoneTable: Sendable {
    /// Where each segment of the file begins, ascending; the first is `Int.min`.
    private let starts: [Int]
    private let offsets: [Int]
    /// Where the last of them ends and the rule's next one begins.
    private let end: Int
    private let rule: PosixRule?

    /// A table of segments that touch and cover all time.
    init(segments: [ZoneSegment]) {
        starts = segments.map(\.start)
        offsets = segments.map(\.offset)
        end = segments.last?.end ?? .max
        rule = nil
    }

    /// A table of what a file says.
    ///
    /// - Parameters:
    ///   - initial: the offset before the first transition.
    ///   - transitions: from when on which offset holds, ascending.
    ///   - rule: what holds from the last of them on; nil to stay with its offset.
    init(initial: Int, transitions: [(time: Int, offset: Int)], rule: PosixRule?) {
        var builder = Builder(offset: initial)
        for transition in transitions.dropLast() {
            builder.add(transition.offset, from: transition.time)
        }
        // The rule speaks from the last transition on, even if that one changed nothing. The part
        // of the rule's segment that lies after it joins the table, so that what follows begins
        // at a transition of the rule and needs no look at the table.
        let last = transitions.last?.time ?? .min
        if let rule {
            let first = rule.segment(at: last)
            builder.add(first.offset, from: last)
            end = first.end
            self.rule = first.end == .max ? nil : rule
        } else {
            if let transition = transitions.last { builder.add(transition.offset, from: last) }
            end = .max
            self.rule = nil
        }
        starts = builder.starts
        offsets = builder.offsets
    }

    /// Collects segments, joining those that do not differ.
    private struct Builder {
        var starts = [Int.min]
        var offsets: [Int]

        init(offset: Int) { offsets = [offset] }

        mutating func add(_ offset: Int, from start: Int) {
            let last = offsets.count - 1
            // Old files begin with a transition at the beginning of time.
            if start == .min {
                offsets[last] = offset
            } else if offset != offsets[last], start != .max {
                starts.append(start)
                offsets.append(offset)
            }
        }
    }

    /// The segment that a second lies in.
    func segment(at second: Int) -> ZoneSegment {
        if second >= end, let rule { return rule.segment(at: second) }
        // The last that begins at or before the second lies in low..<high.
        var low = 0
        var high = starts.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if starts[middle] <= second { low = middle } else { high = middle }
        }
        return ZoneSegment(
            start: starts[low], end: high < starts.count ? starts[high] : end,
            offset: offsets[low])
    }
}
