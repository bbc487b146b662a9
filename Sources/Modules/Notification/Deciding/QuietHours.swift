import ErrandGregorian
import Errand
package import ErrandPostgres
package import ErrandRecurrence

/// A stretch of each day in which a person is left in peace, by the clocks of their zone.
///
/// Half-open, and over midnight where it begins later than it ends; empty where both are the same.
package struct QuietHours: Sendable, Equatable {
    /// Seconds since local midnight.
    package var from: Int
    package var until: Int

    package init(from: Int, until: Int) {
        self.from = from
        self.until = until
    }

    func contains(_ secondOfDay: Int) -> Bool {
        from <= until
            ? (from..<until).contains(secondOfDay) : secondOfDay >= from || secondOfDay < until
    }

    /// When those end in which a moment lies; nil when it lies in none.
    ///
    /// They end at the first moment at which the clocks show none of them: when an hour is left
    /// out with their end in it, that is the moment after it; when an hour comes twice, both count
    /// by what the clocks show.
    package func end(after now: Instant, in zone: Zone) -> Instant? {
        let start = now.secondRoundedDown
        guard contains(LocalTime(start, in: zone).secondOfDay) else { return nil }
        var second = start
        while true {
            let segment = zone.segment(at: second)
            let shown = LocalTime(second, in: zone).secondOfDay
            guard contains(shown) else { return Instant(unixSeconds: second) }
            let end = second + (until - shown + 86_399) % 86_400 + 1
            guard end >= segment.end else { return Instant(unixSeconds: end) }
            second = segment.end
        }
    }
}

extension Zone {
    /// The day that calendars show.
    func date(at now: Instant) -> CivilDate { LocalTime(now.secondRoundedDown, in: self).date }

    /// The first moment of a day at which clocks show a time, or a later one if they leave it out.
    func time(_ secondOfDay: Int, onDayOf now: Instant) -> Instant {
        let shown = date(at: now).daysSince1970 * 86_400 + secondOfDay
        // No offset is larger, ahead or behind (RFC 9636, section 3.2).
        var segment = segment(at: shown - 26 * 3_600)
        while shown - segment.offset >= segment.end { segment = self.segment(at: segment.end) }
        return Instant(unixSeconds: max(segment.start, shown - segment.offset))
    }
}
