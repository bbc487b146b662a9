import ErrandGregorian
import Errand
package import ErrandPostgres
package import ErrandRecurrence

/// The daily period in which a person gets no notices, in local time.
///
/// Half-open. Spans midnight if it begins later than it ends; empty if both are the same.
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

    /// Returns the end of the quiet hours that contain a moment; nil if none do.
    ///
    /// The end is the first moment whose local time is outside of them. If a time zone skips the
    /// hour of the end, it is the moment after the gap. If an hour occurs twice, both count.
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
    /// Returns the local date.
    func date(at now: Instant) -> CivilDate { LocalTime(now.secondRoundedDown, in: self).date }

    /// Returns the first moment of a day at or after a local time, which the zone may skip.
    func time(_ secondOfDay: Int, onDayOf now: Instant) -> Instant {
        let shown = date(at: now).daysSince1970 * 86_400 + secondOfDay
        // No offset is larger, ahead or behind (RFC 9636, section 3.2).
        var segment = segment(at: shown - 26 * 3_600)
        while shown - segment.offset >= segment.end { segment = self.segment(at: segment.end) }
        return Instant(unixSeconds: max(segment.start, shown - segment.offset))
    }
}
