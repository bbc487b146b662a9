import ErrandGregorian

/// The occurrences of a recurrence in a time zone.
///
/// They lie in the years 1 to 9999; a search gives up after 500 years without one, which only an
/// expression can bring about whose every local time falls into a gap that is skipped.
public struct Timetable: Sendable {
    /// What recurs.
    public let recurrence: Recurrence
    /// The zone of its local times.
    public let zone: Zone
    /// What becomes of local times that do not exist.
    public let gap: GapRule
    /// What becomes of local times that come twice.
    public let repeats: RepeatRule
    /// The second since 1970 UTC that `@every` counts from, in both directions.
    public let anchor: Int
    private let rule: CronRule

    /// A timetable; rules left out are those of Vixie cron.
    ///
    /// These are: an expression that follows the clock skips gaps and happens in both passes of
    /// a repeated hour; one of fixed times is shifted out of a gap, and happens the first time.
    public init(
        _ recurrence: Recurrence, in zone: Zone, gap: GapRule? = nil,
        repeats: RepeatRule? = nil, anchor: Int = 0
    ) {
        var followsClock = true
        var rule = CronRule()
        if case .cron(let expression) = recurrence {
            followsClock = expression.followsClock
            rule = expression.rule
        }
        self.recurrence = recurrence
        self.zone = zone
        self.gap = gap ?? (followsClock ? .skip : .shift)
        self.repeats = repeats ?? (followsClock ? .both : .first)
        self.anchor = anchor
        self.rule = rule
    }

    /// The first occurrence that comes after a second.
    public func next(after second: Int) -> Occurrence? {
        guard second < Self.years.upperBound else { return nil }
        let start = max(second + 1, Self.years.lowerBound)
        let found =
            switch recurrence {
            case .cron: walk.next(from: start)
            case .every(let seconds): interval(from: start, every: seconds, later: true)
            }
        return found.flatMap { Self.years.contains($0.at) ? $0 : nil }
    }

    /// The last occurrence that comes before a second; its `skippedLocal` is not looked for.
    public func previous(before second: Int) -> Occurrence? {
        guard second > Self.years.lowerBound else { return nil }
        let end = min(second - 1, Self.years.upperBound)
        let found =
            switch recurrence {
            case .cron: walk.previous(from: end)
            case .every(let seconds): interval(from: end, every: seconds, later: false)
            }
        return found.flatMap { Self.years.contains($0.at) ? $0 : nil }
    }

    private static let years = -62_135_596_800...253_402_300_799

    private var walk: ZoneWalk {
        ZoneWalk(rule: rule, zone: zone, gap: gap, repeats: repeats)
    }

    /// The instant of an interval at a second, or else the nearest on the side asked for.
    private func interval(from second: Int, every seconds: Int, later: Bool) -> Occurrence? {
        guard Interval.allowed.contains(seconds) else { return nil }
        let phase = anchor % seconds
        let before = (second - phase).dividedDown(by: seconds) * seconds + phase
        let at = later && before < second ? before + seconds : before
        return Occurrence(at: at, offset: zone.segment(at: at).offset)
    }
}
