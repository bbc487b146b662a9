import ErrandGregorian

/// One day of a zone's calendar, as a stretch of time.
public struct LocalDay: Sendable, Hashable {
    /// ISO 8601, such as `2026-11-01`.
    public let date: String
    /// Its seconds since 1970 UTC: 23 or 25 hours long when clocks change, and empty for a day
    /// that the zone's calendar leaves out.
    public let seconds: Range<Int>

    /// The day in which a second lies, or one some days later.
    public init(of second: Int, adding days: Int = 0, in zone: Zone) {
        let number = LocalTime(second, in: zone).date.daysSince1970 + days
        date = CivilDate(daysSince1970: number).text
        let start = zone.start(ofDay: number)
        seconds = start..<max(start, zone.start(ofDay: number + 1))
    }
}

extension Zone {
    /// The first second at which clocks show a day or a later one.
    ///
    /// Where clocks go back over midnight that is its first midnight, so that days tile all time.
    fileprivate func start(ofDay number: Int) -> Int { firstSecond(of: 0, onDay: number) }

    /// The first second since 1970 UTC at which clocks show a time of a day, or a later one where
    /// they leave it out.
    ///
    /// - Parameters:
    ///   - secondOfDay: since local midnight.
    ///   - number: days since 1970, as ``CivilDate/daysSince1970`` counts them.
    public func firstSecond(of secondOfDay: Int, onDay number: Int) -> Int {
        let shown = number * 86_400 + secondOfDay
        // No offset is larger, ahead or behind (RFC 9636, section 3.2).
        var segment = segment(at: shown - 26 * 3_600)
        while shown - segment.offset >= segment.end { segment = self.segment(at: segment.end) }
        return max(segment.start, shown - segment.offset)
    }
}
