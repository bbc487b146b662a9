/// The search for local times along the segments of a zone.
///
/// Within a segment local time runs as evenly as UTC, so a matching local time found by
/// arithmetic is a matching instant. What is left are the ends of segments: local times that no
/// segment has (a gap), and those that several have (a repeat).
struct ZoneWalk {
    let rule: CronRule
    let zone: Zone
    let gap: GapRule
    let repeats: RepeatRule

    /// No offset is larger, ahead or behind (RFC 9636, section 3.2).
    private static let largestOffset = 26 * 3_600
    /// How long a search goes on: past a whole cycle of the calendar.
    private static let horizon = 500 * 366 * 86_400
    /// Beyond every year that is asked about, and far from where `Int` overflows.
    private static let farAway = 1 << 60

    /// The first occurrence that is not before a second.
    func next(from second: Int) -> Occurrence? {
        var start = second
        var skipped: Int?
        while start <= second + Self.horizon {
            let segment = segment(at: start)
            if segment.start == start, let missing = missing(before: segment) {
                if gap == .shift { return moved(missing, to: segment) }
                skipped = skipped ?? missing
            }
            if var found = firstMatch(from: start, in: segment) {
                found.skippedLocal = skipped
                return found
            }
            // No instant from `start` on has an earlier local time than this search begins with.
            let far = rule.next(from: start - Self.largestOffset) - Self.largestOffset
            start = max(segment.end, far)
        }
        return nil
    }

    /// The last occurrence that is not after a second.
    func previous(from second: Int) -> Occurrence? {
        var end = second
        while end >= second - Self.horizon {
            let segment = segment(at: end)
            let found = lastMatch(until: end, in: segment)
            if let found, found.at > segment.start { return found }
            if gap == .shift, let missing = missing(before: segment) {
                return moved(missing, to: segment)
            }
            if let found { return found }
            let far = rule.previous(from: end + Self.largestOffset) + Self.largestOffset
            end = min(segment.start - 1, far)
        }
        return nil
    }

    private func moved(_ local: Int, to segment: ZoneSegment) -> Occurrence {
        Occurrence(
            at: segment.start, offset: segment.offset, change: .movedFromGap(local: local))
    }

    private func segment(at second: Int) -> ZoneSegment {
        var segment = zone.segment(at: second)
        segment.start = max(segment.start, -Self.farAway)
        segment.end = min(segment.end, Self.farAway)
        return segment
    }

    // MARK: Within a segment

    /// The first match in a segment, from a second on, that the rule for repeats lets happen.
    private func firstMatch(from second: Int, in segment: ZoneSegment) -> Occurrence? {
        var local = rule.next(from: second + segment.offset)
        while local < segment.localEnd {
            guard let pass = passInstead(of: local, in: segment) else {
                return occurrence(at: local, in: segment)
            }
            local = rule.next(from: pass.localEnd)
        }
        return nil
    }

    /// The last match in a segment, up to a second, that the rule for repeats lets happen.
    private func lastMatch(until second: Int, in segment: ZoneSegment) -> Occurrence? {
        var local = rule.previous(from: second + segment.offset)
        while local >= segment.localStart {
            guard let pass = passInstead(of: local, in: segment) else {
                return occurrence(at: local, in: segment)
            }
            local = rule.previous(from: pass.localStart - 1)
        }
        return nil
    }

    private func occurrence(at local: Int, in segment: ZoneSegment) -> Occurrence {
        let again = laterPass(of: local, than: segment) != nil
        let before = earlierPass(of: local, than: segment) != nil
        let change: ClockChange? =
            switch (before, again) {
            case (false, false): nil
            case _ where repeats != .both: .onlyOneOfTwo
            case (false, true): .firstOfTwo
            case (true, _): .secondOfTwo
            }
        return Occurrence(at: local - segment.offset, offset: segment.offset, change: change)
    }

    // MARK: Where segments meet

    /// Another segment that has a local time, and in which it happens instead of in this one.
    private func passInstead(of local: Int, in segment: ZoneSegment) -> ZoneSegment? {
        switch repeats {
        case .both: nil
        case .first: earlierPass(of: local, than: segment)
        case .last: laterPass(of: local, than: segment)
        }
    }

    /// An earlier segment that has a local time too.
    private func earlierPass(of local: Int, than segment: ZoneSegment) -> ZoneSegment? {
        var start = segment.start
        while start + Self.largestOffset > local, start > -Self.farAway {
            let other = self.segment(at: start - 1)
            if other.has(local) { return other }
            start = other.start
        }
        return nil
    }

    /// A later segment that has a local time too.
    private func laterPass(of local: Int, than segment: ZoneSegment) -> ZoneSegment? {
        var end = segment.end
        while end - Self.largestOffset <= local, end < Self.farAway {
            let other = self.segment(at: end)
            if other.has(local) { return other }
            end = other.end
        }
        return nil
    }

    /// The first matching local time that the clocks leap over as a segment begins.
    private func missing(before segment: ZoneSegment) -> Int? {
        guard segment.start > -Self.farAway else { return nil }
        let before = self.segment(at: segment.start - 1)
        guard before.offset < segment.offset else { return nil }
        var local = rule.next(from: before.localEnd)
        while local < segment.localStart {
            guard let known = latestTold(local, around: segment) else { return local }
            local = rule.next(from: known)
        }
        return nil
    }

    /// When a local time in the gap before a segment exists elsewhere, or lay in an earlier gap:
    /// the local time up to which that holds.
    private func latestTold(_ local: Int, around segment: ZoneSegment) -> Int? {
        if let later = laterPass(of: local, than: segment) { return later.localEnd }
        var start = segment.start
        while start + Self.largestOffset > local, start > -Self.farAway {
            let earlier = self.segment(at: start - 1)
            if earlier.localEnd > local { return earlier.localEnd }
            start = earlier.start
        }
        return nil
    }
}

extension ZoneSegment {
    /// The local time at its start.
    fileprivate var localStart: Int { start + offset }

    /// The local time at its end.
    fileprivate var localEnd: Int { end + offset }

    /// Whether clocks show a local time in it.
    fileprivate func has(_ local: Int) -> Bool { localStart <= local && local < localEnd }
}
