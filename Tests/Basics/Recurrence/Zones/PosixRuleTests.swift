import Testing

@testable import ErrandRecurrence

@Suite struct PosixRuleTests {
    @Test(
        "a rule gives the offset of any moment",
        arguments: [
            ("EST5EDT,M3.2.0,M11.1.0", "2026-03-08T06:59Z", -5 * 3600),
            ("EST5EDT,M3.2.0,M11.1.0", "2026-03-08T07:00Z", -4 * 3600),
            ("EST5EDT,M3.2.0,M11.1.0", "2026-11-01T05:59Z", -4 * 3600),
            ("EST5EDT,M3.2.0,M11.1.0", "2026-11-01T06:00Z", -5 * 3600),
            ("EST5EDT,M3.2.0,M11.1.0", "2027-03-14T07:00Z", -4 * 3600),
            ("EST5EDT,M3.2.0,M11.1.0", "2027-11-07T06:00Z", -5 * 3600),
            ("NST3:30NDT,M3.2.0,M11.1.0", "2026-12-01T12:00Z", -12_600),
            ("WAT-1", "2026-12-01T12:00Z", 3600),
            ("<+0330>-3:30", "2026-12-01T12:00Z", 12_600),
            ("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "2026-01-01T00:00Z", 39_600),
            ("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "2026-07-01T00:00Z", 37_800),
            ("ABC1:02:03", "2026-07-01T00:00Z", -3723),
            ("ABC+01", "2026-07-01T00:00Z", -3600),
            // Irish time is standard in summer, and an hour behind that in winter.
            ("IST-1GMT0,M10.5.0,M3.5.0/1", "2026-01-01T00:00Z", 0),
            ("IST-1GMT0,M10.5.0,M3.5.0/1", "2026-03-29T00:59Z", 0),
            ("IST-1GMT0,M10.5.0,M3.5.0/1", "2026-03-29T01:00Z", 3600),
            ("IST-1GMT0,M10.5.0,M3.5.0/1", "2026-10-25T01:00Z", 0),
            // The southern summer spans the new year.
            ("NZST-12NZDT,M9.5.0,M4.1.0/3", "2026-01-01T00:00Z", 13 * 3600),
            ("NZST-12NZDT,M9.5.0,M4.1.0/3", "2026-04-04T14:00Z", 12 * 3600),
            ("NZST-12NZDT,M9.5.0,M4.1.0/3", "2026-09-26T14:00Z", 13 * 3600),
            // Nuuk changes before midnight, Gaza two days later than its rule's day.
            ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T00:59Z", -7200),
            ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T01:00Z", -3600),
            ("EET-2EEST,M3.4.4/50,M10.4.4/50", "2026-03-28T00:00Z", 3 * 3600),
            ("EET-2EEST,M3.4.4/50,M10.4.4/50", "2026-03-27T23:59Z", 2 * 3600),
            // J60 is 1 March in every year; 59 is 29 February in a leap year, else 1 March.
            ("AAA0BBB,J60/0,J300/0", "2028-02-29T12:00Z", 0),
            ("AAA0BBB,J60/0,J300/0", "2028-03-01T00:00Z", 3600),
            ("AAA0BBB,J60/0,J300/0", "2027-03-01T00:00Z", 3600),
            ("AAA0BBB,J59/0,J300/0", "2028-02-28T00:00Z", 3600),
            ("AAA0BBB,59/0,300/0", "2028-02-29T00:00Z", 3600),
            ("AAA0BBB,59/0,300/0", "2027-02-28T23:59Z", 0),
            ("AAA0BBB,59/0,300/0", "2027-03-01T00:00Z", 3600),
            ("AAA0BBB,M2.5.1/0,M11.1.0/0", "2027-02-22T00:00Z", 3600),
            ("AAA0BBB,M2.5.1/0,M11.1.0/0", "2027-02-21T23:59Z", 0),
            // A week less an hour around its day.
            ("AAA0BBB,J10/-167,J300/167", "2027-01-03T01:00Z", 3600),
            ("AAA0BBB,J10/-167,J300/167", "2027-01-03T00:59Z", 0),
            ("AAA0BBB,J10/-167:30:30,J300/167", "2027-01-03T00:30Z", 3600),
            ("AAA0BBB,J2/-167,J300", "2026-12-26T01:00Z", 3600),
        ])
    func offsets(rule: String, moment: String, expected: Int) throws {
        #expect(try Zone(following: rule).offset(at: utc(moment)) == expected)
    }

    @Test(
        "summer time all year is one segment",
        arguments: [
            ("XXX3EDT4,0/0,J365/23", -4), ("EST5EDT,0/0,J365/25", -4), ("EST5EDT,0/0,J365/30", -4),
            ("EST5EDT,J1/0,J365/167", -4), ("AAA3BBB3,M3.2.0,M11.1.0", -3),
            ("AAA3BBB2,J100,J100/3", -2),
        ])
    func allYear(rule: String, hours: Int) throws {
        let whole = ZoneSegment(start: .min, end: .max, offset: hours * 3600)
        #expect(try Zone(following: rule).segment(at: 0) == whole)
    }

    @Test func `summer times that touch in some years only are one segment there`() throws {
        // Day 365 is 31 December in leap years, and the next New Year's Day in the others.
        let zone = try Zone(following: "AAA0BBB,0/0,365/1")
        let walked = zone.segments(from: utc("1995-06-01T00:00Z"), to: utc("2013-06-01T00:00Z"))
        #expect(
            walked.dropFirst().map(\.start) == [
                "1997-01-01T00:00Z", "2001-01-01T00:00Z", "2005-01-01T00:00Z", "2009-01-01T00:00Z",
            ].flatMap { [utc($0) - 86_400, utc($0)] } + [
                utc("2013-01-01T00:00Z") - 86_400, utc("2013-01-01T00:00Z"),
            ])
    }

    @Test(
        "a malformed footer is refused with its place",
        arguments: [
            ("", PosixRuleProblem.abbreviation("")), ("5", .abbreviation("5")),
            ("ES5", .abbreviation("ES5")), ("<ES>5", .abbreviation("<ES>5")),
            ("<EST5", .abbreviation("<EST5")), ("<E T>5", .abbreviation("<E T>5")),
            ("É5", .abbreviation("É5")), (":EST5", .abbreviation(":EST5")),
            ("EST", .offset("")), ("EST+", .offset("+")), ("EST--5", .offset("--5")),
            ("EST25", .offset("25")), ("EST5:60", .offset("5:60")), ("EST5:", .offset("5:")),
            ("EST5:00:60", .offset("5:00:60")),
            ("EST99999999999999999999", .offset("99999999999999999999")),
            ("EST5EDT", .noMoments), ("EST5EDT4", .noMoments),
            ("EST5ED,M3.2.0,M11.1.0", .abbreviation("ED,M3.2.0,M11.1.0")),
            ("EST5EDT,", .day("")), ("EST5EDT,M3.2.0", .noComma("")),
            ("EST5EDT,M0.2.0,M11.1.0", .day("M0.2.0,M11.1.0")),
            ("EST5EDT,M13.2.0,M11.1.0", .day("M13.2.0,M11.1.0")),
            ("EST5EDT,M3.0.0,M11.1.0", .day("M3.0.0,M11.1.0")),
            ("EST5EDT,M3.6.0,M11.1.0", .day("M3.6.0,M11.1.0")),
            ("EST5EDT,M3.2.7,M11.1.0", .day("M3.2.7,M11.1.0")),
            ("EST5EDT,M3.2,M11.1.0", .day("M3.2,M11.1.0")),
            ("EST5EDT,J0,M11.1.0", .day("J0,M11.1.0")), ("EST5EDT,J366,1", .day("J366,1")),
            ("EST5EDT,366,1", .day("366,1")), ("EST5EDT,-1,1", .day("-1,1")),
            ("EST5EDT,M3.2.0/168,M11.1.0", .time("168,M11.1.0")),
            ("EST5EDT,M3.2.0/,M11.1.0", .time(",M11.1.0")),
            ("EST5EDT,M3.2.0/-168,1", .time("-168,1")),
            ("EST5EDT,M3.2.0;M11.1.0", .noComma(";M11.1.0")),
            ("EST5EDT,M3.2.0,M11.1.0,", .remainder(",")), ("EST5 ", .abbreviation(" ")),
            ("EST5EDT,M3.2.0,M11.1.0/2x", .remainder("x")),
            ("AAA0BBB,J365/167,0/-167", .endsBeforeItBegins),
        ])
    func malformed(rule: String, expected: PosixRuleProblem) {
        #expect(throws: expected) { try PosixRule(parsing: rule) }
    }

    @Test func `every problem has a text of its own`() {
        let problems: [PosixRuleProblem] = [
            .abbreviation("a"), .offset("a"), .noMoments, .day("a"), .time("a"), .noComma("a"),
            .remainder("a"), .endsBeforeItBegins,
        ]
        #expect(Set(problems.map(\.description)).count == problems.count)
    }
}
