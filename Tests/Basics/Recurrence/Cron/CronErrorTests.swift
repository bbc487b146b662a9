import ErrandRecurrence
import Testing

@Suite struct CronErrorTests {
    private typealias Row = (
        text: String, column: Int, field: CronField?, found: String, expected: String
    )

    private static let fieldCount =
        "5 fields (minute, hour, day of month, month, weekday), or 6 with seconds first"

    private static let malformed: [Row] = [
        (
            "", 1, nil, "nothing but blanks",
            "five fields such as `0 9 * * 1-5`, or a macro such as @daily"
        ),
        ("9", 2, nil, "only 1 field", fieldCount),
        ("1 2 3", 6, nil, "only 3 fields", fieldCount),
        (
            "0 0 * * * * 2026", 13, nil, "a seventh field, `2026`, the year, which is not kept",
            "6 fields, and the start and end of the schedule apart"
        ),
        ("1 2 3 4 5 6 7 8", 13, nil, "8 fields", fieldCount),
        (
            "TZ=America/Toronto 0 0 * * *", 1, nil, "`TZ=America/Toronto` sets a time zone",
            "the fields alone, and the zone America/Toronto apart"
        ),
        (
            "CRON_TZ= 0 0 * * *", 1, nil, "`CRON_TZ=` sets a time zone",
            "the fields alone, and the zone apart"
        ),
        ("@reboot", 1, nil, "@reboot names no time", "a schedule of times"),
        ("@dayly", 1, nil, "there is no macro @dayly", "@daily, perhaps"),
        (
            "@fortnightly", 1, nil, "there is no macro @fortnightly",
            "one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly, @every"
        ),
        ("@daily 5", 8, nil, "`5` after @daily", "@daily alone"),
        ("@every", 7, nil, "nothing follows @every", "a length such as 90s or 1h30m"),
        ("@every 90", 8, nil, "90 has no unit", "one of s, m, h, d and w after it"),
        ("@every 5x", 9, nil, "`x` is no unit of time", "s, m, h, d or w"),
        ("@every 1.5s", 8, nil, "1.5s has a fraction", "whole numbers: 1m30s, not 1.5m"),
        ("@every -5s", 8, nil, "-5s is negative", "a length such as 90s or 1h30m"),
        ("@every 0s", 8, nil, "0s is no time at all", "at least 1s"),
        ("@every 367d", 8, nil, "367d is too long", "at most 366d"),
        (
            "@every 99999999999999999999w", 8, nil, "99999999999999999999w is too long",
            "at most 366d"
        ),
        ("@every 1h 30m", 11, nil, "`30m` after the length", "one word: 1h30m, not 1h 30m"),
        ("@every h", 8, nil, "`h` where a length begins", "a length such as 90s or 1h30m"),
        ("0 24 * * *", 3, .hour, "24 is too large", "0 to 23"),
        ("60 * * * *", 1, .minute, "60 is too large", "0 to 59"),
        ("60 0 * * * *", 1, .seconds, "60 is too large", "0 to 59"),
        ("0 0 32 * *", 5, .dayOfMonth, "32 is too large", "1 to 31"),
        ("0 0 * 13 *", 7, .month, "13 is too large", "1 to 12, or JAN to DEC"),
        ("0 0 * * 8", 9, .weekday, "8 is too large", "0 to 7, or SUN to SAT"),
        ("0 0 0 * *", 5, .dayOfMonth, "0 is too small", "1 to 31"),
        ("0 0 * 0 *", 7, .month, "0 is too small", "1 to 12, or JAN to DEC"),
        (
            "99999999999999999999 * * * *", 1, .minute, "99999999999999999999 is too large",
            "0 to 59"
        ),
        ("0 22-2 * * *", 3, .hour, "22-2 runs backwards", "a rising range, or 22-23,0-2"),
        ("0 0 * * FRI-MON", 9, .weekday, "FRI-MON runs backwards", "a rising range, or 5-6,0-1"),
        ("0 0 * * SAT-SUN", 9, .weekday, "SAT-SUN runs backwards", "a rising range, or 6,0"),
        ("*/0 * * * *", 3, .minute, "a step of 0 goes nowhere", "1 to 59"),
        ("*/90 * * * *", 3, .minute, "a step of 90 is too large", "1 to 59"),
        ("*/ * * * *", 3, .minute, "no number follows `/`", "a step, 1 to 59"),
        ("1- * * * *", 3, .minute, "nothing follows `-`", "the end of the range, 0 to 59"),
        ("1, * * * *", 3, .minute, "nothing follows `,`", "0 to 59"),
        (",1 * * * *", 1, .minute, "nothing before `,`", "0 to 59"),
        ("* 1,,2 * * *", 5, .hour, "nothing before `,`", "0 to 23"),
        ("-1 * * * *", 1, .minute, "no number before `-`", "0 to 59"),
        ("/5 * * * *", 1, .minute, "no value before `/`", "`*` or 0 to 59"),
        (
            "0 0 * * 2#0", 11, .weekday, "#0 is no weekday of any month",
            "1 for the first to 5 for the fifth"
        ),
        (
            "0 0 * * TUE#6", 13, .weekday, "#6 is no weekday of any month",
            "1 for the first to 5 for the fifth"
        ),
        ("0 0 * * 2#", 11, .weekday, "no number follows `#`", "which one of the month, 1 to 5"),
        ("0 0 * * #2", 9, .weekday, "no weekday before `#`", "0 to 7, or SUN to SAT"),
        ("0 0 1#2 * *", 6, .dayOfMonth, "`#` stands only in the weekday", "1 to 31"),
        (
            "0 0 * * 2#3/2", 12, .weekday, "a step after `#`, which is a single day",
            "`,` or the end"
        ),
        ("0 L * * *", 3, .hour, "`L` stands only in the day of month and the weekday", "0 to 23"),
        (
            "0 0 * * L", 9, .weekday, "`L` without a weekday before it",
            "a weekday and `L`, such as 5L or FRIL"
        ),
        (
            "0 0 5L * *", 6, .dayOfMonth, "`L` after a number",
            "L, L-3 or LW; the last weekday is 5L in the weekday"
        ),
        ("0 0 * * 5L-6", 11, .weekday, "a range from `L`, which is a single day", "`,` or the end"),
        ("0 0 L-31 * *", 7, .dayOfMonth, "L-31 is no day of any month", "L-1 to L-30"),
        ("0 0 L- * *", 7, .dayOfMonth, "no number follows `L-`", "1 to 30"),
        (
            "0 0 L-3W * *", 8, .dayOfMonth, "`W` after a day counted from the last",
            "LW, or a day such as 15W"
        ),
        (
            "0 0 L/2 * *", 6, .dayOfMonth, "a step after `L`, which is a single day",
            "`,` or the end"
        ),
        ("0 15W * * *", 5, .hour, "`W` stands only in the day of month", "0 to 23"),
        (
            "0 0 W * *", 5, .dayOfMonth, "`W` without a day before it",
            "a day and `W`, such as 15W, or LW"
        ),
        ("0 0 15W,3 * *", 7, .dayOfMonth, "`W` in a list", "one day alone, such as 15W or LW"),
        ("0 0 LW,3 * *", 6, .dayOfMonth, "`LW` in a list", "one day alone, such as 15W or LW"),
        ("0 0 1-15W * *", 9, .dayOfMonth, "`W` with a range", "one day, such as 15W"),
        ("0 0 * MON *", 7, .month, "MON is a weekday", "1 to 12, or JAN to DEC"),
        ("0 0 * * JAN", 9, .weekday, "JAN is a month", "0 to 7, or SUN to SAT"),
        ("0 0 * * MOM", 9, .weekday, "MOM is no weekday", "MON, perhaps"),
        ("0 0 * * MONDAY", 9, .weekday, "MONDAY is no weekday", "MON, perhaps"),
        ("0 0 * JNA *", 7, .month, "JNA is no month", "1 to 12, or JAN to DEC"),
        ("0 0 * * XYZ", 9, .weekday, "XYZ is no weekday", "0 to 7, or SUN to SAT"),
        ("0 MON * * *", 3, .hour, "MON is a weekday", "0 to 23"),
        (
            "? * * * *", 1, .minute, "`?` stands only in the day of month and the weekday",
            "`*` or 0 to 59"
        ),
        ("0 0 ?/2 * *", 6, .dayOfMonth, "more than `?`", "`?` alone"),
        ("0 0 1,? * *", 7, .dayOfMonth, "`?` in a list", "`?` alone or 1 to 31"),
        ("0.5 * * * * *", 1, .seconds, "`0.5` has a fraction", "whole numbers"),
        ("5* * * * *", 2, .minute, "unexpected `*`", "0 to 59, or one of * , - /"),
        ("1–5 * * * *", 2, .minute, "`–` is not the minus sign of ASCII", "`-`"),
        ("1 % * * *", 3, .hour, "unexpected `%`", "0 to 23, or one of * , - /"),
        ("é * * * *", 1, .minute, "unexpected `é` (U+E9)", "0 to 59, or one of * , - /"),
    ]

    @Test(arguments: malformed)
    func `each mistake is told with its place, what was found and what was expected`(
        text: String, column: Int, field: CronField?, found: String, expected: String
    ) {
        #expect(
            throws: RecurrenceError.malformed(
                column: column, field: field, found: found, expected: expected)
        ) { try Recurrence(text) }
    }

    @Test func `no two mistakes read alike`() {
        let texts = Self.malformed.map {
            RecurrenceError.malformed(
                column: 1, field: $0.field, found: $0.found, expected: $0.expected
            ).description
        }
        #expect(Set(texts).count == texts.count)
        #expect(texts.count >= 25)
    }

    @Test func `an error is one line`() {
        #expect(
            throws: Reported("column 3, hour: 24 is too large; expected 0 to 23")
        ) { try told("0 24 * * *") }
        #expect(throws: Reported("column 1: @reboot names no time; expected a schedule of times")) {
            try told("@reboot")
        }
        #expect(
            throws: Reported(
                "column 6: `30 2 *` never fires, no year has such a day; "
                    + "expected days that the months named have")
        ) { try told(" 0 0 30 2 *") }
    }

    @Test func `what a terminal would obey, or could not hold, is not repeated`() {
        let long = String(repeating: "9", count: 1_000)
        for text in ["\u{1B}[2J * * * *", "@\u{1B}[2J", "\(long) * * * *", "@every \(long)"] {
            #expect {
                try Recurrence(text)
            } throws: { error in
                let told = "\(error)"
                return told.count < 200 && !told.contains("\u{1B}")
            }
        }
    }

    @Test(arguments: [
        "0 0 30 2 *", "0 0 30-31 FEB ?", "0 0 31 4,6,9,11 *", "0 0 L-30 2,4 *", "0 0 L-29 2 *",
        "0 0 30W 2 *", "0 0 31 2 */2", "0 30 12 30,31 2 *",
    ])
    func `an expression that no year can meet is refused`(text: String) throws {
        let days = text.split(separator: " ").suffix(3).joined(separator: " ")
        let column = text.count - days.count + 1
        #expect(throws: RecurrenceError.neverFires(column: column, days: days)) {
            try CronExpression(text)
        }
    }

    @Test(arguments: [
        "0 0 29 2 *", "0 0 L-28 2 *", "0 0 ? 2 1#5", "0 0 ? 4 1#5", "0 0 30 2 1",
        "0 0 30 1,2 *", "0 0 29 2 */7", "0 0 L-30 7 *", "0 0 31W 12 *", "0 0 29 2 */6",
    ])
    func `a rare one is not`(text: String) throws {
        #expect(try CronExpression(text).description == text)
    }
}

private struct Reported: Error, Equatable {
    let text: String
    init(_ text: String) { self.text = text }
}

private func told(_ text: String) throws {
    do throws(RecurrenceError) { _ = try Recurrence(text) } catch { throw Reported("\(error)") }
}
