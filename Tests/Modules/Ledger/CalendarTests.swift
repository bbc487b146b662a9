import ErrandGregorian
import ErrandLedger
import ErrandPostgres
import ErrandRecurrence
import Testing

@Suite("Banking days") struct BankingDayTests {
    /// Easter Sundays as the Naval Observatory of the United States publishes them.
    @Test("Easter, with its earliest and latest days")
    func easter() {
        for (year, month, day) in [
            (1961, 4, 2), (1981, 4, 19), (2000, 4, 23), (2008, 3, 23), (2011, 4, 24),
            (2024, 3, 31), (2025, 4, 20), (2026, 4, 5), (2027, 3, 28), (2038, 4, 25),
            (2049, 4, 18), (2076, 4, 19), (2285, 3, 22),
        ] {
            #expect(
                BankingDays.easter(of: year) == CivilDate(year: year, month: month, day: day))
        }
    }

    @Test("the holidays of some years, on the days when they are kept")
    func holidays() {
        for (year, days) in [
            (
                2026,
                [
                    "01-01", "04-03", "05-18", "07-01", "09-07", "09-30", "10-12", "11-11", "12-25",
                    "12-28",
                ]
            ),
            (
                2023,
                [
                    "01-02", "04-07", "05-22", "07-03", "09-04", "10-02", "10-09", "11-13", "12-25",
                    "12-26",
                ]
            ),
            (
                2022,
                [
                    "01-03", "04-15", "05-23", "07-01", "09-05", "09-30", "10-10", "11-11", "12-27",
                    "12-26",
                ]
            ),
            (
                2021,
                [
                    "01-01", "04-02", "05-24", "07-01", "09-06", "09-30", "10-11", "11-11", "12-27",
                    "12-28",
                ]
            ),
            (
                2020,
                [
                    "01-01", "04-10", "05-18", "07-01", "09-07", "10-12", "11-11", "12-25", "12-28",
                ]
            ),
        ] {
            #expect(
                BankingDays.holidays(of: year).map(\.day.isoText) == days.map { "\(year)-\($0)" })
        }
    }

    @Test("Family Day and Easter Monday are banking days; weekends are none")
    func others() {
        #expect(BankingDays.contains(CivilDate(year: 2026, month: 2, day: 16)))
        #expect(BankingDays.contains(CivilDate(year: 2026, month: 4, day: 6)))
        #expect(!BankingDays.contains(CivilDate(year: 2026, month: 4, day: 4)))
        #expect(BankingDays.holiday(on: CivilDate(year: 2026, month: 4, day: 3)) == "Good Friday")
    }

    @Test("Good Friday, Canada Day and Boxing Day move to the next banking day")
    func moved() {
        for (day, next) in [
            (CivilDate(year: 2026, month: 4, day: 3), "2026-04-06"),
            (CivilDate(year: 2026, month: 7, day: 1), "2026-07-02"),
            (CivilDate(year: 2028, month: 7, day: 1), "2028-07-04"),
            (CivilDate(year: 2026, month: 12, day: 25), "2026-12-29"),
            (CivilDate(year: 2026, month: 12, day: 26), "2026-12-29"),
            (CivilDate(year: 2027, month: 12, day: 24), "2027-12-24"),
            (CivilDate(year: 2027, month: 12, day: 25), "2027-12-29"),
            (CivilDate(year: 2028, month: 1, day: 1), "2028-01-04"),
            (CivilDate(year: 2026, month: 11, day: 24), "2026-11-24"),
        ] { #expect(BankingDays.onOrAfter(day).isoText == next) }
    }
}

@Suite("Quarters") struct QuarterTests {
    private func toronto() throws -> Zone {
        try ZoneDatabase().zone(named: "America/Toronto")
    }

    private func instant(_ text: String) throws -> Instant { try #require(Instant(text)) }

    @Test("a quarter begins at midnight in Toronto; a millisecond before is the one before")
    func edges() throws {
        let zone = try toronto()
        for (quarter, start, cutOff) in [
            ("2026-Q1", "2026-01-01T05:00:00Z", "2026-04-01T04:00:00Z"),
            ("2026-Q2", "2026-04-01T04:00:00Z", "2026-07-01T04:00:00Z"),
            ("2026-Q3", "2026-07-01T04:00:00Z", "2026-10-01T04:00:00Z"),
            ("2026-Q4", "2026-10-01T04:00:00Z", "2027-01-01T05:00:00Z"),
            ("2028-Q1", "2028-01-01T05:00:00Z", "2028-04-01T04:00:00Z"),
        ] {
            let quarter = try #require(Quarter(quarter))
            let (start, cutOff) = (try instant(start), try instant(cutOff))
            #expect(quarter.start(in: zone) == start)
            #expect(quarter.cutOff(in: zone) == cutOff)
            #expect(Quarter(of: start, in: zone) == quarter)
            #expect(Quarter(of: cutOff, in: zone) == quarter.next)
            let before = Instant(microseconds: cutOff.microseconds - 1_000)
            #expect(Quarter(of: before, in: zone) == quarter)
            let last = Instant(microseconds: start.microseconds - 1)
            #expect(Quarter(of: last, in: zone) == quarter.previous)
        }
    }

    @Test("quarters tile time in every zone, over leap years and changes of clocks")
    func tiles() throws {
        let zones = ZoneDatabase()
        for name in [
            "UTC", "America/St_Johns", "America/Vancouver", "Pacific/Kiritimati", "Pacific/Apia",
            "Pacific/Pago_Pago", "Asia/Kathmandu", "Australia/Lord_Howe", "Europe/London",
        ] {
            let zone = try zones.zone(named: name)
            var quarter = Quarter(year: 1999, number: 4)
            while quarter.year < 2037 {
                let next = quarter.next
                let start = quarter.start(in: zone)
                #expect(quarter.cutOff(in: zone) == next.start(in: zone))
                #expect(start < next.start(in: zone))
                #expect(Quarter(of: start, in: zone) == quarter, "\(name) \(quarter)")
                #expect(LocalTime(unixSecond(start), in: zone).secondOfDay == 0)
                #expect(next.previous == quarter)
                quarter = next
            }
        }
    }

    private func unixSecond(_ instant: Instant) -> Int {
        Int(instant.microseconds / 1_000_000) + 946_684_800
    }

    @Test("it is paid on the 15th of the next month, or the next banking day")
    func payDates() throws {
        for (quarter, date) in [
            ("2026-Q1", "2026-04-15"), ("2026-Q2", "2026-07-15"), ("2026-Q3", "2026-10-15"),
            ("2026-Q4", "2027-01-15"), ("2028-Q1", "2028-04-17"), ("2022-Q1", "2022-04-18"),
            ("2027-Q3", "2027-10-15"), ("2028-Q3", "2028-10-16"), ("2016-Q4", "2017-01-16"),
        ] { #expect(try #require(Quarter(quarter)).payDate().isoText == date) }
        let second = try #require(Quarter("2026-Q2"))
        #expect(second.payDate(dayOfMonth: 1).isoText == "2026-07-02", "Canada Day")
        let first = try #require(Quarter("2026-Q1"))
        #expect(first.payDate(dayOfMonth: 3).isoText == "2026-04-06", "Good Friday")
    }

    @Test("the next pay date, as seen on a day")
    func nextPayDate() {
        for (day, date) in [
            (CivilDate(year: 2026, month: 10, day: 15), "2026-10-15"),
            (CivilDate(year: 2026, month: 10, day: 16), "2027-01-15"),
            (CivilDate(year: 2026, month: 11, day: 22), "2027-01-15"),
            (CivilDate(year: 2022, month: 4, day: 16), "2022-04-18"),
        ] { #expect(Quarter.nextPayDate(from: day).isoText == date) }
    }

    @Test("what is no quarter is not read as one")
    func text() {
        #expect(Quarter("2026-Q3")?.description == "2026-Q3")
        for text in ["2026-Q5", "2026-Q0", "2026Q1", "26-Q1", "2026-q1", "2026-Q11", "1969-Q4", ""]
        { #expect(Quarter(text) == nil) }
    }
}
