import ErrandRecurrence
import Testing

@Suite("Days of a zone") struct LocalDayTests {
    private let zones = ZoneDatabase()

    /// 2026-01-01 00:00 UTC.
    private let newYear = 1_767_225_600

    @Test(
        "a day begins when clocks first show it",
        arguments: [
            // Their midnights are left out: the day begins at 01:00.
            ("Africa/Cairo", 2026, "2026-04-24", 82_800),
            ("Asia/Beirut", 2026, "2026-03-29", 82_800),
            // From midnight back to 23:00: the day before has 25 hours.
            ("Africa/Cairo", 2026, "2026-10-29", 90_000),
            ("America/Toronto", 2026, "2026-11-01", 90_000),
            ("Australia/Lord_Howe", 2026, "2026-10-04", 84_600),
            ("UTC", 2026, "2026-06-15", 86_400),
            // Samoa went over the date line, and this day never was.
            ("Pacific/Apia", 2011, "2011-12-30", 0), ("Pacific/Apia", 2011, "2011-12-31", 86_400),
        ])
    func length(name: String, year: Int, date: String, seconds: Int) throws {
        let zone = try zones.zone(named: name)
        let start = newYear - (year == 2011 ? 15 * 365 + 4 : 0) * 86_400 + 43_200
        let day = (0..<366).map { LocalDay(of: start, adding: $0, in: zone) }
            .first { $0.date == date }
        #expect(day?.seconds.count == seconds)
    }

    @Test func `in every zone days tile the year, and each second lies in its own`() throws {
        for name in zones.names {
            let zone = try zones.zone(named: name)
            var end = LocalDay(of: newYear, in: zone).seconds.lowerBound
            for number in 0..<366 {
                let day = LocalDay(of: newYear, adding: number, in: zone)
                #expect(day.seconds.lowerBound == end, "\(name) \(day.date)")
                end = day.seconds.upperBound
                guard let last = day.seconds.last else { continue }
                for second in [day.seconds.lowerBound, last] {
                    let text = LocalTime(second, in: zone).description.prefix(10)
                    #expect(text == day.date, "\(name) \(second)")
                    #expect(LocalDay(of: second, in: zone) == day, "\(name) \(second)")
                }
            }
        }
    }
}
