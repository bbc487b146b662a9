package import ErrandGregorian
import Errand
package import ErrandPostgres
package import ErrandRecurrence

/// The last day of a month in a zone, with the notices about balances.
package struct MonthEnd: Sendable, Equatable {
    package var day: CivilDate
    /// The time of the notices.
    package var at: Instant

    /// Seconds since midnight at which that is: in the morning, when it is the same day for people
    /// who are some zones away, and before the usual time for automatic notices.
    static let timeOfDay = 8 * 3_600

    /// That of the month that a moment lies in, and those of the next ones.
    ///
    /// - Parameter back: the number of earlier months to include.
    package static func next(
        _ count: Int, from now: Instant, in zone: Zone, back: Int = 0
    ) -> [MonthEnd] {
        let today = zone.day(of: now)
        return (-back..<count).map { ahead in
            let months = today.year * 12 + today.month - 1 + ahead
            let (year, month) = (months / 12, months % 12 + 1)
            let day = CivilDate(
                year: year, month: month, day: CivilDate.days(inMonth: month, of: year))
            let second = zone.firstSecond(of: timeOfDay, onDay: day.daysSince1970)
            return MonthEnd(day: day, at: Instant(unixSeconds: second))
        }
    }

    private static let write = "SELECT household.set_month_end($1, $2::date, $3)"

    /// Writes down those of this month, the next three, and the last one: a group that comes to a
    /// zone which had none may not have been notified of it.
    static func plan(_ zone: Zone, now: Instant, in transaction: Transaction) async throws {
        _ = try await transaction.pipeline(
            next(4, from: now, in: zone, back: 1).map { end in
                Statement(write, [.text(zone.name), .text(end.day.sql), .timestamp(end.at)])
            })
    }
}
