/// Which days of a month an expression names, by the month's length and the weekday of its first.
struct DayRule: Sendable, Hashable {
    /// Bit `d`: day `d`.
    var days: UInt32 = 0
    /// Bit `n`: the day `n` days before the last (`L`, `L-3`).
    var daysFromLast: UInt32 = 0
    /// The weekday, Monday to Friday, nearest to this day (`15W`); 0 when not asked for.
    var nearestWorkday: UInt8 = 0
    /// The last day from Monday to Friday (`LW`).
    var lastWorkday = false
    /// Bit `7 (n − 1) + w`: the `n`-th weekday `w` of the month; a plain weekday has all five.
    var weekdays: UInt64 = 0
    /// Bit `w`: the last weekday `w` of the month (`5L`).
    var lastWeekdays: UInt8 = 0
    /// Whether a day must match both fields, rather than one of them.
    var needsBoth = true

    /// One bit in each of five groups of seven.
    static let eachWeek: UInt64 = 0x1020_4081

    /// Bit `d`: day `d` of such a month matches; `first` is the weekday of its first day.
    func mask(length: Int, first: Int) -> UInt32 {
        let byDay = daysMask(length: length, first: first)
        let byWeekday = weekdaysMask(length: length, first: first)
        return needsBoth ? byDay & byWeekday : byDay | byWeekday
    }

    private func daysMask(length: Int, first: Int) -> UInt32 {
        var mask = days & Self.upTo(length)
        var counts = daysFromLast
        while counts != 0 {
            let back = counts.trailingZeroBitCount
            if back < length { mask |= 1 << UInt32(truncatingIfNeeded: length - back) }
            counts &= counts - 1
        }
        if nearestWorkday != 0, nearestWorkday <= length {
            mask |= 1 << workday(nearest: Int(nearestWorkday), length: length, first: first)
        }
        if lastWorkday { mask |= 1 << workday(nearest: length, length: length, first: first) }
        return mask
    }

    /// The weekday nearest to a day, within the month.
    private func workday(nearest day: Int, length: Int, first: Int) -> UInt32 {
        let found =
            switch (first + day - 1) % 7 {
            case 6: day > 1 ? day - 1 : day + 2
            case 0: day < length ? day + 1 : day - 2
            default: day
            }
        return UInt32(truncatingIfNeeded: found)
    }

    private func weekdaysMask(length: Int, first: Int) -> UInt32 {
        var mask = fromWeekdays(weekdays, first: first)
        if lastWeekdays != 0 {
            let lastWeek = ~Self.upTo(length - 7)
            mask |= fromWeekdays(UInt64(lastWeekdays) * Self.eachWeek, first: first) & lastWeek
        }
        return mask & Self.upTo(length)
    }

    /// Turns groups that begin on Sunday into weeks that begin with the month's first day.
    private func fromWeekdays(_ groups: UInt64, first: Int) -> UInt32 {
        let low = (UInt64(1) << (7 - first)) - 1
        let later = (groups >> first) & (low * Self.eachWeek)
        let earlier = (groups << (7 - first)) & ((127 - low) * Self.eachWeek)
        return UInt32(truncatingIfNeeded: (later | earlier) << 1)
    }

    /// The bits 1 to `day`.
    private static func upTo(_ day: Int) -> UInt32 {
        UInt32(truncatingIfNeeded: (UInt64(2) << day) - 2)
    }
}
