import Foundation
import ErrandGregorian
import Testing

@Suite struct CivilDateTests {
    @Test func `every day of eight centuries agrees with Foundation, both ways`() {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let first = CivilDate(year: 1600, month: 1, day: 1).daysSince1970
        let last = CivilDate(year: 2400, month: 12, day: 31).daysSince1970
        #expect(last - first == 292_559)
        for days in stride(from: first, through: last, by: 13) {
            let date = CivilDate(daysSince1970: days)
            let parts = calendar.dateComponents(
                [.year, .month, .day, .weekday],
                from: Date(timeIntervalSince1970: Double(days) * 86_400))
            #expect(
                [date.year, date.month, date.day, date.weekday + 1]
                    == [parts.year, parts.month, parts.day, parts.weekday])
            #expect(date.daysSince1970 == days)
        }
    }

    @Test func `each day follows the last of its month`() {
        var date = CivilDate(year: -1, month: 1, day: 1)
        for days in date.daysSince1970..<date.daysSince1970 + 400 * 366 {
            #expect(CivilDate(daysSince1970: days) == date)
            date.day += 1
            if date.day > CivilDate.days(inMonth: date.month, of: date.year) {
                date.day = 1
                date.month += 1
            }
            if date.month == 13 { date = CivilDate(year: date.year + 1, month: 1, day: 1) }
        }
    }
}
