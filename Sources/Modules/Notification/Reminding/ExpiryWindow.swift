import FoundationEssentials
package import ErrandPostgres
import Errand
package import ErrandRecurrence

/// The times of expiry to remind the people of one time zone of.
package struct ExpiryWindow: Sendable, Equatable {
    /// The name of the time zone, as stored for people.
    package var zone: String
    /// The number of days from today to the last day.
    package var daysLeft: Int
    /// The last day, as `2026-11-20`.
    package var lastDay: String
    /// The exclusive start of the window.
    package var after: Instant
    /// The inclusive end of the window: what expires at midnight ends with the day before.
    package var through: Instant
    /// The end of today, when the notice expires.
    package var until: Instant
    /// The local time, in seconds since midnight.
    package var secondOfDay: Int
}

extension ExpiryWindow {
    /// How many days ahead people are notified, nearest first.
    package static let distances = [1, 3]
    /// When late notices stop, in seconds since midnight.
    ///
    /// A person is notified by the first run at or after their notice time; after an outage that
    /// run is late.
    package static let late = 21 * 3_600

    /// Returns the windows of a zone at a time; none if the local day of `due` is over.
    ///
    /// - Parameters:
    ///   - due: the time of the scheduled occurrence.
    ///   - now: the current time.
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
