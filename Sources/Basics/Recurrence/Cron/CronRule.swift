import ErrandGregorian

/// What a cron expression comes to: sets of numbers, in which the next local time is found fast.
///
/// A local time is given as the second since 1970 at which a clock in UTC would show it.
struct CronRule: Sendable, Hashable {
    /// Bit `n`: second `n` of a minute.
    var seconds: UInt64 = 1
    /// Bit `n`: minute `n` of an hour.
    var minutes: UInt64 = 0
    /// Bit `n`: hour `n` of a day.
    var hours: UInt64 = 0
    /// Bit `n`: month `n` of a year, from 1.
    var months: UInt64 = 0
    /// The days of a month.
    var days = DayRule()

    private static let day = 86_400

    /// The first matching local time that is not before `local`.
    ///
    /// The days must exist in some year, or this never ends; `CronExpression` refuses such.
    func next(from local: Int) -> Int {
        let today = local.dividedDown(by: Self.day)
        let found = nextDay(from: today)
        if found == today, let time = nextTime(from: local - today * Self.day) {
            return today * Self.day + time
        }
        let day = found == today ? nextDay(from: today + 1) : found
        return day * Self.day + (nextTime(from: 0) ?? 0)
    }

    /// The last matching local time that is not after `local`.
    func previous(from local: Int) -> Int {
        let today = local.dividedDown(by: Self.day)
        let found = previousDay(from: today)
        if found == today, let time = previousTime(from: local - today * Self.day) {
            return today * Self.day + time
        }
        let day = found == today ? previousDay(from: today - 1) : found
        return day * Self.day + (previousTime(from: Self.day - 1) ?? 0)
    }

    /// Whether some year has a day that matches; all years there are repeat after 400.
    var hasDays: Bool {
        for year in 2000..<2400 {
            for month in 1...12 where months.has(month) {
                let first = CivilDate(year: year, month: month, day: 1)
                if mask(of: first, number: first.daysSince1970) != 0 { return true }
            }
        }
        return false
    }

    /// The matching days of the month that begins on `first`, which has that day number.
    private func mask(of first: CivilDate, number: Int) -> UInt64 {
        let weekday = number + 4 - (number + 4).dividedDown(by: 7) * 7
        let length = CivilDate.days(inMonth: first.month, of: first.year)
        return UInt64(days.mask(length: length, first: weekday))
    }

    private func nextDay(from day: Int) -> Int {
        var date = CivilDate(daysSince1970: day)
        var first = day - date.day + 1
        while true {
            if months.has(date.month),
                let found = mask(of: date, number: first).lowest(from: date.day)
            {
                return first + found - 1
            }
            date.day = 1
            if let month = months.lowest(from: date.month + 1) {
                date.month = month
            } else {
                date.year += 1
                date.month = months.trailingZeroBitCount
            }
            first = date.daysSince1970
        }
    }

    private func previousDay(from day: Int) -> Int {
        var date = CivilDate(daysSince1970: day)
        var first = day - date.day + 1
        while true {
            if months.has(date.month),
                let found = mask(of: date, number: first).highest(upTo: date.day)
            {
                return first + found - 1
            }
            if let month = months.highest(upTo: date.month - 1) {
                date.month = month
            } else {
                date.year -= 1
                date.month = 63 - months.leadingZeroBitCount
            }
            date.day = 1
            first = date.daysSince1970
            date.day = 31
        }
    }

    /// The first time of day that is not before `time`.
    private func nextTime(from time: Int) -> Int? {
        let (hour, minute, second) = (time / 3_600, time / 60 % 60, time % 60)
        if hours.has(hour) {
            if minutes.has(minute), let found = seconds.lowest(from: second) {
                return hour * 3_600 + minute * 60 + found
            }
            if let found = minutes.lowest(from: minute + 1) {
                return hour * 3_600 + found * 60 + seconds.trailingZeroBitCount
            }
        }
        guard let found = hours.lowest(from: hour + 1) else { return nil }
        return found * 3_600 + minutes.trailingZeroBitCount * 60 + seconds.trailingZeroBitCount
    }

    /// The last time of day that is not after `time`.
    private func previousTime(from time: Int) -> Int? {
        let (hour, minute, second) = (time / 3_600, time / 60 % 60, time % 60)
        if hours.has(hour) {
            if minutes.has(minute), let found = seconds.highest(upTo: second) {
                return hour * 3_600 + minute * 60 + found
            }
            if let found = minutes.highest(upTo: minute - 1) {
                return hour * 3_600 + found * 60 + 63 - seconds.leadingZeroBitCount
            }
        }
        guard let found = hours.highest(upTo: hour - 1) else { return nil }
        return found * 3_600 + (63 - minutes.leadingZeroBitCount) * 60 + 63
            - seconds.leadingZeroBitCount
    }
}

extension UInt64 {
    /// Whether a bit is set.
    func has(_ bit: Int) -> Bool { (self >> bit) & 1 == 1 }

    /// The lowest bit set from `bit` on.
    func lowest(from bit: Int) -> Int? {
        let rest = (self >> bit) << bit
        return rest == 0 ? nil : rest.trailingZeroBitCount
    }

    /// The highest bit set up to `bit`, which may be -1.
    func highest(upTo bit: Int) -> Int? {
        let rest = self & ((2 << bit) &- 1)
        return rest == 0 ? nil : 63 - rest.leadingZeroBitCount
    }
}
