/// A day of the proleptic Gregorian calendar, without a time zone.
///
/// Day numbers are counted from 1970-01-01. The arithmetic is valid for every year that an `Int` of
/// seconds can represent.
@frozen
public struct CivilDate: Sendable, Hashable, Comparable {
    /// The year; 0 is 1 BC.
    public var year: Int
    /// The month, 1 to 12.
    public var month: Int
    /// The day, from 1 to the length of the month.
    public var day: Int

    /// Creates a day from its parts, which must be valid.
    @inlinable
    public init(year: Int, month: Int, day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }

    /// Creates the day that is `days` after 1970-01-01.
    ///
    /// Years are counted from March, so that the leap day is the last of its year.
    @inlinable
    public init(daysSince1970 days: Int) {
        let shifted = days + 719_468
        let era = shifted.dividedDown(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// The days since 1970-01-01.
    @inlinable
    public var daysSince1970: Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted.dividedDown(by: 400)
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// The day of the week, from 0 for Sunday to 6 for Saturday.
    @inlinable
    public var weekday: Int {
        let sinceSunday = (daysSince1970 + 4) % 7
        return sinceSunday < 0 ? sinceSunday + 7 : sinceSunday
    }

    /// Returns whether a year is a leap year.
    @inlinable
    public static func isLeap(_ year: Int) -> Bool {
        year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    }

    /// Returns the number of days of a month.
    @inlinable
    public static func days(inMonth month: Int, of year: Int) -> Int {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Orders by time.
    @inlinable
    public static func < (left: Self, right: Self) -> Bool {
        (left.year, left.month, left.day) < (right.year, right.month, right.day)
    }
}

extension Int {
    /// Returns the quotient rounded towards minus infinity; the divisor must be positive.
    @inlinable
    public func dividedDown(by divisor: Int) -> Int {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
