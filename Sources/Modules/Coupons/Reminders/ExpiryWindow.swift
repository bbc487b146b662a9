import FoundationEssentials
package import ErrandPostgres
import Errand
package import ErrandRecurrence

/// What the people of one time zone are told of now: coupons whose last day there is so near.
package struct ExpiryWindow: Sendable, Equatable {
    /// The name of the zone, as people have it.
    package var zone: String
    /// How many days the last day is ahead of the present one.
    package var daysLeft: Int
    /// The last day, as `2026-11-20`.
    package var lastDay: String
    /// It is the last day of coupons that expire later than this.
    package var after: Instant
    /// They expire no later than this: at midnight a day has ended, and the next not begun.
    package var through: Instant
    /// The end of the present day, when it is too late to tell.
    package var until: Instant
    /// What clocks show now, in seconds since midnight.
    package var secondOfDay: Int
}

extension ExpiryWindow {
    /// How many days ahead people are told, the nearest first.
    package static let distances = [1, 3]
    /// From then on nobody is told who should have been told before, in seconds since midnight.
    ///
    /// Each is told in the first run at or after their own time, which after an outage is late.
    package static let late = 21 * 3_600

    /// The windows of a zone at a time.
    ///
    /// - Parameters:
    ///   - due: the time that the run is for.
    ///   - now: the clock; of a day that is over by now nobody is told.
    package static func all(
        of zone: Zone, named name: String, due: Instant, now: Instant
    ) -> [ExpiryWindow] {
        let second = due.secondRoundedDown
        let time = LocalTime(second, in: zone)
        let until = Instant(unixSeconds: LocalDay(of: second, in: zone).seconds.upperBound)
        guard until > now else { return [] }
        return distances.map { distance in
            let day = LocalDay(of: second, adding: distance, in: zone)
            return ExpiryWindow(
                zone: name, daysLeft: distance, lastDay: day.date,
                after: Instant(unixSeconds: day.seconds.lowerBound),
                through: Instant(unixSeconds: day.seconds.upperBound), until: until,
                secondOfDay: time.secondOfDay)
        }
    }
}
