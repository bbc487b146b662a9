import Foundation
import ErrandGregorian
import ErrandRecurrence
import ErrandRepeatRules
import ErrandTestServices
import Testing

/// A day by its ISO 8601 text.
private func day(_ text: String) -> CivilDate {
    let parts = text.split(separator: "-").compactMap { Int($0) }
    return CivilDate(year: parts[0], month: parts[1], day: parts[2])
}

extension CivilDate {
    fileprivate var text: String { String(format: "%04d-%02d-%02d", year, month, day) }
}

@Suite struct RecurrenceRuleTests {
    private func dates(
        _ rule: String, from start: String, after: String? = nil, _ count: Int
    ) throws -> [String] {
        try RecurrenceRule(rule).dates(from: day(start), after: after.map(day), atMost: count)
            .map { String($0.text.dropFirst($0.year < 2028 ? 2 : 0)) }
    }

    @Test(
        "rules that people mean",
        arguments: [
            (
                "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU", "2026-01-06",
                "26-01-06 26-01-20 26-02-03 26-02-17"
            ),
            ("FREQ=MONTHLY;BYDAY=2TU", "2026-01-06", "26-01-13 26-02-10 26-03-10 26-04-14"),
            ("FREQ=MONTHLY;BYMONTHDAY=-1", "2026-01-06", "26-01-31 26-02-28 26-03-31 26-04-30"),
            ("FREQ=MONTHLY;BYMONTHDAY=31", "2026-01-31", "26-01-31 26-03-31 26-05-31 26-07-31"),
            (
                "FREQ=MONTHLY;BYMONTHDAY=28,29,30,31;BYSETPOS=-1", "2026-01-31",
                "26-01-31 26-02-28 26-03-31 26-04-30"
            ),
            ("FREQ=MONTHLY", "2026-01-31", "26-01-31 26-03-31 26-05-31 26-07-31"),
            ("FREQ=YEARLY", "2024-02-29", "24-02-29 2028-02-29 2032-02-29 2036-02-29"),
            ("FREQ=DAILY;COUNT=2", "2026-12-31", "26-12-31 27-01-01"),
            ("FREQ=DAILY;UNTIL=20270101", "2026-12-31", "26-12-31 27-01-01"),
            ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", "2026-05-01", "26-05-29 26-06-30"),
            // RFC 5545, section 3.3.10, its last example.
            (
                "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO", "1997-08-05",
                "97-08-05 97-08-10 97-08-19 97-08-24"
            ),
            (
                "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU", "1997-08-05",
                "97-08-05 97-08-17 97-08-19 97-08-31"
            ),
            // With days of which dateutil leaves out what is not the nth as well.
            ("FREQ=MONTHLY;BYDAY=2TU,WE", "2026-06-01", "26-06-03 26-06-09 26-06-10 26-06-17"),
        ])
    func meant(rule: String, start: String, expected: String) throws {
        let expected = expected.split(separator: " ").map(String.init)
        #expect(try dates(rule, from: start, expected.count) == expected)
    }

    @Test func `days that come after another one are found from any start`() throws {
        for rule in [
            "FREQ=DAILY;INTERVAL=3", "FREQ=WEEKLY;INTERVAL=3;BYDAY=SA;WKST=SU",
            "FREQ=MONTHLY;INTERVAL=5;BYDAY=-1FR", "FREQ=YEARLY;INTERVAL=2;BYMONTH=1,7",
            "FREQ=DAILY;INTERVAL=3;COUNT=300",
        ] {
            let all = try RecurrenceRule(rule).dates(from: day("2020-02-29"), atMost: 200)
            for (one, next) in zip(all, all.dropFirst()) {
                #expect(
                    try RecurrenceRule(rule).dates(from: day("2020-02-29"), after: one) == [next],
                    "\(rule) after \(one)")
            }
        }
        #expect(try dates("FREQ=DAILY;COUNT=2", from: "2026-01-01", after: "2026-01-02", 1) == [])
        #expect(
            try dates("FREQ=DAILY;UNTIL=20260102", from: "2026-01-01", after: "2026-01-02", 1)
                == [])
        #expect(try dates("FREQ=DAILY", from: "2400-01-01", 1) == ["2400-01-01"])
    }

    @Test(
        "rules without a day end, and say so",
        arguments: [
            "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30", "FREQ=MONTHLY;BYMONTHDAY=6;BYDAY=-2TU",
            "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "FREQ=WEEKLY;BYDAY=MO;BYSETPOS=9",
            "FREQ=DAILY;INTERVAL=7;BYDAY=FR", "FREQ=MONTHLY;INTERVAL=12;BYMONTHDAY=31;BYDAY=1MO",
            "FREQ=YEARLY;BYYEARDAY=300;BYMONTH=2", "FREQ=YEARLY;BYDAY=TU;BYSETPOS=60",
        ])
    func empty(rule: String) throws {
        #expect(throws: RecurrenceRuleError.empty(years: 100)) {
            _ = try dates(rule, from: "2026-02-03", 1)
        }
    }

    @Test(
        "what is no rule is refused with what to do",
        arguments: [
            ("", "expected each part once"), ("FREQ", "expected each part once"),
            ("FREQ=DAILY;FREQ=DAILY", "expected each part once"),
            ("INTERVAL=2", "FREQ is missing"), ("FREQ=HOURLY", "use FREQ=DAILY"),
            ("FREQ=OFTEN", "DAILY, WEEKLY, MONTHLY or YEARLY"),
            ("FREQ=DAILY;INTERVAL=0", "1 to 1000"), ("FREQ=DAILY;INTERVAL=--1", "1 to 1000"),
            ("FREQ=DAILY;COUNT=2;UNTIL=20270101", "exclude each other"),
            ("FREQ=DAILY;UNTIL=20270230", "without a time"),
            ("FREQ=DAILY;UNTIL=20270101T000000Z", "without a time"),
            ("FREQ=DAILY;BYHOUR=9", "set the time of day separately"),
            ("FREQ=DAILY;BYSETPOS=1", "needs another part"),
            ("FREQ=DAILY;BYDAY=1MO", "needs FREQ=MONTHLY"),
            ("FREQ=MONTHLY;BYDAY=6MO", "at most five"),
            ("FREQ=MONTHLY;BYDAY=0MO", "1 to 53"), ("FREQ=WEEKLY;BYDAY=XX", "days of the week"),
            ("FREQ=WEEKLY;BYMONTHDAY=1", "does not go with"),
            ("FREQ=MONTHLY;BYYEARDAY=1", "needs FREQ=YEARLY"),
            ("FREQ=MONTHLY;BYMONTHDAY=32", "1 to 31, or from the end"),
            ("FREQ=YEARLY;BYWEEKNO=20", "BYMONTH, BYDAY or BYYEARDAY"),
            ("FREQ=MONTHLY;SKIP=BACKWARD;RSCALE=GREGORIAN", "BYSETPOS=-1"),
            ("FREQ=DAILY;X-MINE=1", "expected FREQ, INTERVAL"),
        ])
    func refused(rule: String, words: String) {
        do throws(RecurrenceRuleError) {
            _ = try RecurrenceRule(rule)
            Issue.record("\(rule) is taken")
        } catch { #expect(error.description.contains(words), "\(error)") }
    }

    // MARK: Beside dateutil

    private struct Question {
        var rule: String
        var start: CivilDate
        var zone = "UTC"
        var second = 0
    }

    /// Whose clocks change at odd times, by odd amounts, or leave out a day.
    private static let zones = [
        "America/Toronto", "America/St_Johns", "America/Havana", "America/Sao_Paulo",
        "America/Asuncion", "Europe/Paris", "Europe/Dublin", "Africa/Casablanca", "Asia/Beirut",
        "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia", "Pacific/Chatham", "UTC",
    ]

    @Test func `three thousand rules have the days that dateutil finds, in all zones`() async throws
    {
        let seed = UInt64.random(in: 0 ... .max)
        var dice = SplitMix(seed: seed)
        let questions = (0..<3_000).map { _ in Self.question(&dice) }
        let answers = try await Self.answers(questions)
        let database = ZoneDatabase()
        var days = 0
        for (question, answer) in zip(questions, answers) {
            var found: [CivilDate] = []
            do throws(RecurrenceRuleError) {
                found = try RecurrenceRule(question.rule).dates(
                    from: question.start, atMost: 20, within: Self.years)
            } catch { #expect(error == .empty(years: Self.years), "\(question)") }
            let zone = try database.zone(named: question.zone)
            let said = found.map { day in
                let begin = zone.firstSecond(of: question.second, onDay: day.daysSince1970)
                return "\(day.text)@\(begin)"
            }
            #expect(said.joined(separator: " ") == answer, "\(question), seed \(seed)")
            days += found.count
        }
        #expect(days > 20_000)
    }

    /// So many are compared.
    private static let years = 12

    private static func question(_ dice: inout SplitMix) -> Question {
        let frequency = ["DAILY", "WEEKLY", "MONTHLY", "YEARLY"][dice.number(0...3)]
        var parts = ["FREQ=\(frequency)"]
        func maybe(_ percent: Int, _ part: (inout SplitMix) -> String) {
            if dice.number(1...100) <= percent { parts.append(part(&dice)) }
        }
        func some(_ most: Int, _ value: (inout SplitMix) -> String, _ dice: inout SplitMix)
            -> String
        {
            let values = (0..<dice.number(1...most)).map { _ in value(&dice) }
            return Set(values).sorted().joined(separator: ",")
        }
        func signed(_ most: Int, _ dice: inout SplitMix) -> String {
            "\(dice.number(0...3) == 0 ? "-" : "")\(dice.number(1...most))"
        }
        func weekday(_ dice: inout SplitMix) -> String {
            ["MO", "TU", "WE", "TH", "FR", "SA", "SU"][dice.number(0...6)]
        }
        maybe(50) { "INTERVAL=\([1, 2, 3, 4, 5, 7, 12, 13, 53][$0.number(0...8)])" }
        maybe(40) { "WKST=\(weekday(&$0))" }
        maybe(25) { dice in "BYMONTH=" + some(4, { "\($0.number(1...12))" }, &dice) }
        if frequency != "WEEKLY" {
            maybe(30) { dice in "BYMONTHDAY=" + some(5, { signed(31, &$0) }, &dice) }
        }
        if frequency == "YEARLY" {
            maybe(15) { dice in "BYYEARDAY=" + some(5, { signed(366, &$0) }, &dice) }
        }
        // Of days and nth days in one rule dateutil takes those that are both, against RFC 5545.
        let isNth = ["MONTHLY", "YEARLY"].contains(frequency) && dice.number(0...1) == 0
        maybe(50) { dice in
            "BYDAY="
                + some(4, { (isNth ? signed(5, &$0) : "") + weekday(&$0) }, &dice)
        }
        if parts.contains(where: { $0.hasPrefix("BY") }) {
            maybe(25) { dice in "BYSETPOS=" + some(2, { signed(3, &$0) }, &dice) }
        }
        var start = CivilDate(
            daysSince1970: day("2000-01-01").daysSince1970 + dice.number(0...20_000))
        // Of the week in which a rule starts dateutil counts the days from the start alone, where
        // BYSETPOS is of the whole week.
        if frequency == "WEEKLY", parts.contains(where: { $0.hasPrefix("BYSETPOS") }) {
            let first = parts.first { $0.hasPrefix("WKST=") }?.dropFirst(5) ?? "MO"
            let name = { (date: CivilDate) in
                ["SU", "MO", "TU", "WE", "TH", "FR", "SA"][date.weekday]
            }
            while name(start) != first {
                start = CivilDate(daysSince1970: start.daysSince1970 - 1)
            }
        }
        switch dice.number(0...5) {
        case 0: parts.append("COUNT=\(dice.number(1...30))")
        case 1:
            let last = CivilDate(daysSince1970: start.daysSince1970 + dice.number(0...3_000))
            parts.append("UNTIL=" + last.text.filter { $0 != "-" })
        default: break
        }
        return Question(
            rule: parts.joined(separator: ";"), start: start,
            zone: zones[dice.number(0...zones.count - 1)],
            // Often at night, when clocks change.
            second: dice.number(0...1) == 0 ? dice.number(0...8) * 1_800 : dice.number(0...86_399))
    }

    private static func answers(_ questions: [Question]) async throws -> [String] {
        let oracle = Checkout.simulators.appending(path: "oracles/repeat_oracle.py").path
        let python = try #require(
            ProcessInfo.processInfo.environment["ERRAND_ORACLES"],
            "set it to what 'scripts/oracles' prints: a Python that has dateutil")
        let lines = questions.map {
            "\($0.start.text) 20 \($0.start.year + years) \($0.zone) \($0.second) \($0.rule)"
        }
        let program = try Program(
            "/usr/bin/env", [python, oracle], input: lines.joined(separator: "\n"))
        let end = try await program.end(within: .seconds(300))
        #expect(end == .exited(0), "\(program.errors.suffix(2_000))")
        let answers = program.output.split(separator: "\n", omittingEmptySubsequences: false)
            .map(String.init).dropLast()
        try #require(answers.count == questions.count)
        return Array(answers)
    }
}
