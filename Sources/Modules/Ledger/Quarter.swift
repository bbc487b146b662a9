package import ErrandGregorian
package import ErrandPostgres
package import ErrandRecurrence

/// A quarter of a year, from its first local midnight up to the first of the next quarter.
package struct Quarter: Sendable, Hashable, Comparable, CustomStringConvertible {
    package let year: Int
    /// 1 to 4.
    package let number: Int

    /// - Parameter number: 1 to 4.
    package init(year: Int, number: Int) {
        precondition((1...4).contains(number), "a year has quarters 1 to 4")
        self.year = year
        self.number = number
    }

    /// The quarter of a day.
    package init(of day: CivilDate) {
        self.init(year: day.year, number: (day.month + 2) / 3)
    }

    /// The quarter of an instant in a time zone.
    package init(of instant: Instant, in zone: Zone) {
        self.init(of: LocalTime(instant.wholeSecond, in: zone).date)
    }

    /// Parses a text such as `2026-Q4`.
    package init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].count == 4, let year = Int(parts[0]), year >= 1970,
            parts[1].count == 2, parts[1].first == "Q", let number = Int(parts[1].dropFirst()),
            (1...4).contains(number)
        else { return nil }
        self.init(year: year, number: number)
    }

    /// Such as `2026-Q4`.
    package var description: String { "\(year)-Q\(number)" }

    package var next: Quarter {
        number == 4
            ? Quarter(year: year + 1, number: 1) : Quarter(year: year, number: number + 1)
    }

    package var previous: Quarter {
        number == 1
            ? Quarter(year: year - 1, number: 4) : Quarter(year: year, number: number - 1)
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.year, left.number) < (right.year, right.number)
    }

    /// The first day of the quarter.
    package var firstDay: CivilDate { CivilDate(year: year, month: 3 * number - 2, day: 1) }

    /// The start of the quarter in a time zone.
    package func start(in zone: Zone) -> Instant {
        // Noon in Greenwich is that day wherever offsets are below twelve hours; further east it
        // is the next one, and LocalDay counts back.
        let noon = firstDay.daysSince1970 * 86_400 + 43_200
        let off = firstDay.daysSince1970 - LocalTime(noon, in: zone).date.daysSince1970
        return Instant(wholeSecond: LocalDay(of: noon, adding: off, in: zone).seconds.lowerBound)
    }

    /// The end of the quarter in a time zone: rewards earned before belong to the quarter.
    package func cutOff(in zone: Zone) -> Instant { next.start(in: zone) }

    /// The pay date: a day in the month after the quarter, or the next banking day.
    ///
    /// - Parameter dayOfMonth: 1 to 28.
    package func payDate(dayOfMonth: Int = 15) -> CivilDate {
        let month = next.firstDay
        return BankingDays.onOrAfter(
            CivilDate(year: month.year, month: month.month, day: dayOfMonth))
    }
}

extension Quarter {
    /// The next pay date on or after a day.
    package static func nextPayDate(from day: CivilDate, dayOfMonth: Int = 15) -> CivilDate {
        var quarter = Quarter(of: day).previous
        while quarter.payDate(dayOfMonth: dayOfMonth) < day { quarter = quarter.next }
        return quarter.payDate(dayOfMonth: dayOfMonth)
    }
}

extension Instant {
    private static let unixEpoch = 946_684_800

    /// Seconds since 1970, rounded down.
    var wholeSecond: Int {
        Int(microseconds).dividedDown(by: 1_000_000) + Self.unixEpoch
    }

    fileprivate init(wholeSecond: Int) {
        self.init(microseconds: Int64(wholeSecond - Self.unixEpoch) * 1_000_000)
    }
}

extension CivilDate {
    /// ISO 8601, such as `2026-11-01`, for the years 1 to 9999.
    package var isoText: String {
        func padded(_ number: Int, _ width: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
    }
}
