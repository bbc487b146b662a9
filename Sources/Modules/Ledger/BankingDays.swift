package import ErrandGregorian

/// Canadian banking days: Monday to Friday, except the holidays of Payments Canada's systems.
///
/// Provincial holidays, such as Family Day, and Easter Monday are banking days. A holiday on a
/// weekend is observed on the next day that is neither on a weekend nor a holiday.
package enum BankingDays {
    /// Returns the holidays of a year with the days of their observance, in order.
    ///
    /// The National Day for Truth and Reconciliation is included from 2021. New Year's Day is
    /// never observed in the previous year.
    package static func holidays(of year: Int) -> [(name: String, day: CivilDate)] {
        func day(_ month: Int, _ day: Int) -> Int {
            CivilDate(year: year, month: month, day: day).daysSince1970
        }
        var days: [(name: String, number: Int)] = [
            ("New Year's Day", day(1, 1)),
            ("Good Friday", easter(of: year).daysSince1970 - 2),
            // The Monday before 25 May.
            ("Victoria Day", monday(onOrBefore: day(5, 24))),
            ("Canada Day", day(7, 1)),
            ("Labour Day", monday(onOrBefore: day(9, 7))),
            ("National Day for Truth and Reconciliation", day(9, 30)),
            ("Thanksgiving", monday(onOrBefore: day(10, 14))),
            ("Remembrance Day", day(11, 11)),
            ("Christmas Day", day(12, 25)),
            ("Boxing Day", day(12, 26)),
        ]
        if year < 2021 { days.removeAll { $0.name.hasPrefix("National Day for Truth") } }
        let named = Set(days.map(\.number))
        var kept: Set<Int> = []
        return days.map { holiday in
            var number = holiday.number
            if isWeekend(number) {
                // Christmas on a Sunday is observed after Boxing Day on Monday.
                while isWeekend(number) || named.contains(number) || kept.contains(number) {
                    number += 1
                }
            }
            kept.insert(number)
            return (holiday.name, CivilDate(daysSince1970: number))
        }
    }

    /// The holiday observed on a day.
    package static func holiday(on day: CivilDate) -> String? {
        holidays(of: day.year).first { $0.day == day }?.name
    }

    /// Whether a day is a banking day.
    package static func contains(_ day: CivilDate) -> Bool {
        !isWeekend(day.daysSince1970) && holiday(on: day) == nil
    }

    /// The day itself if it is a banking day, otherwise the next banking day.
    package static func onOrAfter(_ day: CivilDate) -> CivilDate {
        var day = day
        while !contains(day) { day = CivilDate(daysSince1970: day.daysSince1970 + 1) }
        return day
    }

    /// Easter Sunday in the Gregorian calendar, by the anonymous algorithm (Jean Meeus,
    /// Astronomical Algorithms, chapter 8).
    package static func easter(of year: Int) -> CivilDate {
        let golden = year % 19
        let (century, rest) = (year / 100, year % 100)
        let moon = (century + 8) / 25
        let correction = (century - moon + 1) / 3
        let epact = (19 * golden + century - century / 4 - correction + 15) % 30
        let weekday = (32 + 2 * (century % 4) + 2 * (rest / 4) - epact - rest % 4) % 7
        let late = (golden + 11 * epact + 22 * weekday) / 451
        let sum = epact + weekday - 7 * late + 114
        return CivilDate(year: year, month: sum / 31, day: sum % 31 + 1)
    }

    private static func isWeekend(_ number: Int) -> Bool {
        [0, 6].contains(CivilDate(daysSince1970: number).weekday)
    }

    private static func monday(onOrBefore number: Int) -> Int {
        number - (CivilDate(daysSince1970: number).weekday + 6) % 7
    }
}
