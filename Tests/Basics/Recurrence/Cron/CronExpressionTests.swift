import ErrandGregorian
import ErrandRecurrence
import Testing

@Suite struct CronExpressionTests {
    /// The days of July to September 2026 (which begin on Wednesday, Saturday and Tuesday).
    private static let days: [(fields: String, july: [Int], august: [Int], september: [Int])] = [
        ("L * *", [31], [31], [30]),
        ("L-3 * *", [28], [28], [27]),
        ("L-30,L * *", [1, 31], [1, 31], [30]),
        ("15W * *", [15], [14], [15]),
        ("1W * *", [1], [3], [1]),
        ("16w * ?", [16], [17], [16]),
        ("LW * *", [31], [31], [30]),
        ("31W * *", [31], [31], []),
        ("* * 5L", [31], [28], [25]),
        ("? * FRIL", [31], [28], [25]),
        ("? * sunl", [26], [30], [27]),
        ("* * 7L,0#1", [5, 26], [2, 30], [6, 27]),
        ("* * 2#3", [21], [18], [15]),
        ("* * TUE#3", [21], [18], [15]),
        ("* * 6#5", [], [29], []),
        ("* * 1#1,1#5", [6], [3, 31], [7]),
        ("13 * 5", [3, 10, 13, 17, 24, 31], [7, 13, 14, 21, 28], [4, 11, 13, 18, 25]),
        ("13,L * 5#1", [3, 13, 31], [7, 13, 31], [4, 13, 30]),
        ("*/2 * 1", [13, 27], [3, 17, 31], [7, 21]),
        ("8-14 * */7", [12], [9], [13]),
        ("*/10 * */3", [1, 11], [1], []),
        ("1-7 * 2,*", Array(1...31), Array(1...31), Array(1...30)),
        ("1-7 * *,2", Array(1...7), Array(1...7), Array(1...7)),
        ("1-7 * */2", [2, 4, 5, 7], [1, 2, 4, 6], [1, 3, 5, 6]),
        ("10/10 7,9 *", [10, 20, 30], [], [10, 20, 30]),
        ("1-10/4 JUL-aug *", [1, 5, 9], [1, 5, 9], []),
        ("31 * *", [31], [31], []),
        (
            "* * 5-7", [3, 4, 5, 10, 11, 12, 17, 18, 19, 24, 25, 26, 31],
            [1, 2, 7, 8, 9, 14, 15, 16, 21, 22, 23, 28, 29, 30],
            [4, 5, 6, 11, 12, 13, 18, 19, 20, 25, 26, 27]
        ),
        ("* 8-9 SAT/1", [], [1, 8, 15, 22, 29], [5, 12, 19, 26]),
    ]

    @Test(arguments: days)
    func `days of the month and weekdays`(
        fields: String, july: [Int], august: [Int], september: [Int]
    ) throws {
        let table = Timetable(try Recurrence("0 0 \(fields)"), in: .utc)
        let found = [7, 8, 9].map { month in
            table.forward(second(2026, month, 1), second(2026, month + 1, 1)).map {
                CivilDate(daysSince1970: $0.at / 86_400).day
            }
        }
        #expect(found == [july, august, september])
    }

    /// What fires within 1 July 2026, as seconds of that day.
    private static let times: [(text: String, times: [Int])] = [
        ("15 14 * * *", [51_300]),
        ("30 15 14 * * *", [51_330]),
        ("*/20 5 * * *", [18_000, 19_200, 20_400]),
        ("50/5 5 * * *", [21_000, 21_300]),
        ("10-20/5,7 0 * * *", [420, 600, 900, 1_200]),
        ("0 20/2 * * *", [72_000, 79_200]),
        ("*/30 59 23 * * *", [86_340, 86_370]),
        ("58-59 59 23 1 JUL Wed", [86_398, 86_399]),
        ("0\t0  1 7 *", [0]),
        ("0 0 * 6 *", []),
    ]

    @Test(arguments: times) func `times of day`(text: String, times: [Int]) throws {
        let table = Timetable(try Recurrence(text), in: .utc)
        let start = second(2026, 7, 1)
        #expect(table.forward(start, start + 86_400).map { $0.at - start } == times)
        #expect(table.backward(start, start + 86_400).map { $0.at - start } == times)
    }

    @Test(arguments: [
        ("@yearly", "0 0 1 1 *"), ("@Annually", "0 0 1 1 *"), ("@monthly", "0 0 1 * *"),
        ("@weekly", "0 0 * * SUN"), ("@DAILY", "0 0 * * *"), ("@midnight", "0 0 * * *"),
        (" @hourly ", "0 * * * *"),
    ])
    func `macros stand for their fields, and keep their names`(macro: String, fields: String) throws
    {
        let (short, long) = (try CronExpression(macro), try CronExpression(fields))
        #expect(short.description == macro.lowercased().filter { $0 != " " })
        #expect(short.followsClock == long.followsClock)
        let (start, end) = (second(2026, 1, 1), second(2027, 1, 2))
        let zone = Zone.toronto2026
        #expect(
            Timetable(.cron(short), in: zone).forward(start, end)
                == Timetable(.cron(long), in: zone).forward(start, end))
    }

    @Test func `the text is kept in capitals with single blanks`() throws {
        let expression = try CronExpression("  0 9\t1W  jan-Mar ?\n")
        #expect(expression.description == "0 9 1W JAN-MAR ?")
        #expect(try CronExpression("0 9 1w JAN-MAR ?") == expression)
        #expect(try CronExpression("0 9 1w 1-3 ?") != expression)
    }

    @Test(arguments: [
        ("*/5 * * * *", true), ("0 * * * *", true), ("*/15 2 * * *", true),
        ("0/15 2 * * *", true), ("3,10/15 2 * * *", true), ("0-59 2 * * *", true),
        ("30 0-23 * * *", true), ("0-29,30-59 2 * * *", true), ("0 */6 * * *", true),
        ("* 30 2 * * *", true), ("5/20 30 2 * * *", true), ("@hourly", true),
        ("30 2 * * *", false), ("0,15,30,45 2 * * *", false), ("0 0/2 * * *", false),
        ("0-58 2 * * *", false), ("10-50/10 1-22 * * *", false), ("0 30 2 * * *", false),
        ("0 0 */2 * *", false), ("@daily", false),
    ])
    func `an expression that recurs within the hour follows the clock`(
        text: String, follows: Bool
    ) throws {
        #expect(try CronExpression(text).followsClock == follows)
        let table = Timetable(try Recurrence(text), in: .utc)
        #expect(table.gap == (follows ? .skip : .shift))
        #expect(table.repeats == (follows ? .both : .first))
    }

    @Test func `rare days are found, both ways`() throws {
        func years(_ text: String) throws -> [Int] {
            let table = Timetable(try Recurrence(text), in: .toronto2026)
            let (start, end) = (second(2026, 1, 1), second(2150, 1, 1))
            let found = table.forward(start, end)
            #expect(table.backward(start, end) == found)
            return found.map { CivilDate(daysSince1970: $0.at / 86_400).year }
        }
        #expect(try years("0 0 29 2 */6") == [2032, 2048, 2060, 2076, 2088, 2116, 2128, 2144])
        #expect(try years("0 0 ? 2 1#5") == [2044, 2072, 2112, 2140])
        #expect(try years("0 0 29 2 *").suffix(14).prefix(3) == [2092, 2096, 2104])
    }

    @Test func `nothing is looked for outside the years 1 to 9999`() throws {
        for text in ["* * * * * *", "0 0 29 2 *", "@every 1s", "@every 366d"] {
            let table = Timetable(try Recurrence(text), in: .toronto2026, anchor: .max)
            #expect(table.next(after: .max) == nil)
            #expect(table.next(after: second(9999, 12, 31, 23, 59, 59)) == nil)
            #expect(table.previous(before: .min) == nil)
            #expect(table.previous(before: second(1, 1, 1)) == nil)
            let first = try #require(table.next(after: .min))
            let last = try #require(table.previous(before: .max))
            #expect((second(1, 1, 1)..<second(6, 1, 1)).contains(first.at))
            #expect((second(9995, 1, 1)..<second(10_000, 1, 1)).contains(last.at))
        }
    }
}
