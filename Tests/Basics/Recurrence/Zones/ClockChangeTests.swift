import ErrandRecurrence
import Testing

@Suite struct ClockChangeTests {
    private func texts(
        _ text: String, _ zone: Zone, _ start: Int, _ end: Int, gap: GapRule? = nil,
        repeats: RepeatRule? = nil
    ) throws -> [String] {
        let table = Timetable(try Recurrence(text), in: zone, gap: gap, repeats: repeats)
        let found = table.forward(start, end)
        let back = table.backward(start, end)
        #expect(
            back
                == found.map { Occurrence(at: $0.at, offset: $0.offset, change: $0.change) })
        return found.map(\.text)
    }

    private static let gaps: [(text: String, gap: GapRule?, expected: [String])] = [
        (
            "30 2 * * *", nil,
            [
                "2026-03-07T02:30-05:00", "2026-03-08T03:00-04:00 moved from 2026-03-08T02:30",
                "2026-03-09T02:30-04:00",
            ]
        ),
        (
            "30 2 * * *", .skip,
            ["2026-03-07T02:30-05:00", "2026-03-09T02:30-04:00 skipped 2026-03-08T02:30"]
        ),
        (
            "0,30 2,3 8 * *", .shift,
            [
                "2026-03-08T03:00-04:00 moved from 2026-03-08T02:00", "2026-03-08T03:30-04:00",
            ]
        ),
        (
            "0,30 2,3 8 * *", .skip,
            ["2026-03-08T03:00-04:00 skipped 2026-03-08T02:00", "2026-03-08T03:30-04:00"]
        ),
        (
            "*/30 1-3 8 * *", nil,
            [
                "2026-03-08T01:00-05:00", "2026-03-08T01:30-05:00",
                "2026-03-08T03:00-04:00 skipped 2026-03-08T02:00", "2026-03-08T03:30-04:00",
            ]
        ),
        (
            "*/40 1-3 8 * *", .shift,
            [
                "2026-03-08T01:00-05:00", "2026-03-08T01:40-05:00",
                "2026-03-08T03:00-04:00 moved from 2026-03-08T02:00", "2026-03-08T03:40-04:00",
            ]
        ),
        ("59 59 1 8 * *", .shift, ["2026-03-08T01:59:59-05:00"]),
        ("0 3 8 * *", .shift, ["2026-03-08T03:00-04:00"]),
        ("0 2 8 * *", nil, ["2026-03-08T03:00-04:00 moved from 2026-03-08T02:00"]),
        (
            "59 59 2 8 * *", nil, ["2026-03-08T03:00-04:00 moved from 2026-03-08T02:59:59"]
        ),
    ]

    @Test(arguments: gaps)
    func `a local time that Toronto leaps over`(
        text: String, gap: GapRule?, expected: [String]
    ) throws {
        let (start, end) = (second(2026, 3, 7, 5), second(2026, 3, 10, 4))
        #expect(try texts(text, .toronto2026, start, end, gap: gap) == expected)
    }

    private static let repeated: [(text: String, repeats: RepeatRule?, expected: [String])] = [
        (
            "30 1 1 * *", nil, ["2026-11-01T01:30-04:00 only"]
        ),
        ("30 1 1 * *", .first, ["2026-11-01T01:30-04:00 only"]),
        ("30 1 1 * *", .last, ["2026-11-01T01:30-05:00 only"]),
        ("30 1 1 * *", .both, ["2026-11-01T01:30-04:00 first", "2026-11-01T01:30-05:00 second"]),
        (
            "*/30 0-2 1 * *", nil,
            [
                "2026-11-01T00:00-04:00", "2026-11-01T00:30-04:00",
                "2026-11-01T01:00-04:00 first", "2026-11-01T01:30-04:00 first",
                "2026-11-01T01:00-05:00 second", "2026-11-01T01:30-05:00 second",
                "2026-11-01T02:00-05:00", "2026-11-01T02:30-05:00",
            ]
        ),
        (
            "*/30 0-2 1 * *", .first,
            [
                "2026-11-01T00:00-04:00", "2026-11-01T00:30-04:00",
                "2026-11-01T01:00-04:00 only", "2026-11-01T01:30-04:00 only",
                "2026-11-01T02:00-05:00", "2026-11-01T02:30-05:00",
            ]
        ),
        (
            "*/30 0-2 1 * *", .last,
            [
                "2026-11-01T00:00-04:00", "2026-11-01T00:30-04:00",
                "2026-11-01T01:00-05:00 only", "2026-11-01T01:30-05:00 only",
                "2026-11-01T02:00-05:00", "2026-11-01T02:30-05:00",
            ]
        ),
        (
            "0 0 0-2 1 * *", nil,
            ["2026-11-01T00:00-04:00", "2026-11-01T01:00-04:00 only", "2026-11-01T02:00-05:00"]
        ),
    ]

    @Test(arguments: repeated)
    func `a local time that comes twice in Toronto`(
        text: String, repeats: RepeatRule?, expected: [String]
    ) throws {
        let (start, end) = (second(2026, 10, 31, 4), second(2026, 11, 3, 5))
        #expect(try texts(text, .toronto2026, start, end, repeats: repeats) == expected)
    }

    @Test func `a search may begin anywhere in a repeated hour`() throws {
        let one = second(2026, 11, 1, 5, 30)
        for (repeats, at) in [(RepeatRule.first, one), (.last, one + 3_600)] {
            let table = Timetable(try Recurrence("30 1 1 11 *"), in: .toronto2026, repeats: repeats)
            for start in stride(from: at - 7_201, to: at, by: 600) {
                #expect(table.next(after: start)?.at == at)
                #expect(table.previous(before: 2 * at - start)?.at == at)
            }
            #expect(table.next(after: at)?.at == second(2027, 11, 1, 6, 30))
        }
    }

    @Test func `Apia left out 30 December 2011`() throws {
        let apia = Zone.made("Pacific/Apia", -600, [(second(2011, 12, 30, 10), 840)])
        let (start, end) = (second(2011, 12, 29, 9), second(2011, 12, 31, 12))
        #expect(
            try texts("0 12 * * *", apia, start, end) == [
                "2011-12-29T12:00-10:00", "2011-12-31T00:00+14:00 moved from 2011-12-30T12:00",
                "2011-12-31T12:00+14:00",
            ])
        #expect(
            try texts("0 12 * * *", apia, start, end, gap: .skip) == [
                "2011-12-29T12:00-10:00", "2011-12-31T12:00+14:00 skipped 2011-12-30T12:00",
            ])
        #expect(
            try texts("0 0 30 * *", apia, start, end) == [
                "2011-12-31T00:00+14:00 moved from 2011-12-30T00:00"
            ])
    }

    @Test func `Lord Howe changes by half an hour`() throws {
        let howe = Zone.made(
            "Australia/Lord_Howe", 630,
            [(second(2026, 4, 4, 15), 630), (second(2026, 10, 3, 15, 30), 660)])
        #expect(
            try texts("15,45 2 4 10 *", howe, second(2026, 10, 1), second(2026, 11, 1)) == [
                "2026-10-04T02:30+11:00 moved from 2026-10-04T02:15", "2026-10-04T02:45+11:00",
            ])
        let autumn = Zone.made("Australia/Lord_Howe", 660, [(second(2026, 4, 4, 15), 630)])
        #expect(
            try texts("*/15 1 5 4 *", autumn, second(2026, 4, 1), second(2026, 5, 1)) == [
                "2026-04-05T01:00+11:00", "2026-04-05T01:15+11:00",
                "2026-04-05T01:30+11:00 first", "2026-04-05T01:45+11:00 first",
                "2026-04-05T01:30+10:30 second", "2026-04-05T01:45+10:30 second",
            ])
    }

    @Test func `changes in quick succession`() throws {
        // Back an hour, forward an hour half an hour later, back again: 1:00 to 1:30 comes three
        // times, 1:30 to 2:00 twice, and nothing is left out.
        let noon = second(2026, 5, 10, 12)
        let zone = Zone.made(
            "Test/Close", 0, [(noon, -60), (noon + 1_800, 0), (noon + 5_400, -60)])
        let (start, end) = (noon - 86_400, noon + 86_400)
        func at(_ text: String, _ gap: GapRule, _ repeats: RepeatRule) throws -> [Int] {
            let table = Timetable(try Recurrence(text), in: zone, gap: gap, repeats: repeats)
            #expect(table.forward(start, end) == table.backward(start, end))
            return table.forward(start, end).map { ($0.at - noon) / 60 }
        }
        #expect(try at("10 11 10 * *", .shift, .both) == [-50, 10])
        #expect(try at("40 11 10 * *", .shift, .both) == [-20])
        #expect(try at("10 12 10 * *", .shift, .both) == [30])
        #expect(try at("10 12 10 * *", .skip, .both) == [])
        #expect(try at("40 12 10 * *", .shift, .both) == [40, 100])
        #expect(try at("40 12 10 * *", .shift, .last) == [100])
        #expect(try at("40 12 10 * *", .shift, .first) == [40])
        #expect(try at("10 13 10 * *", .shift, .both) == [70, 130])
        #expect(try at("10 11 10 * *", .shift, .last) == [10])
    }

    @Test func `a local time leapt over is moved once, and not if it comes later`() throws {
        let noon = second(2026, 5, 10, 12)
        let (start, end) = (noon - 86_400, noon + 86_400)
        // Three hours forward and, after one, back: 13:00 to 15:00 come after all.
        let back = Zone.made("Test/Back", 0, [(noon, 180), (noon + 3_600, 0)])
        #expect(try texts("0 14 10 * *", back, start, end) == ["2026-05-10T14:00+00:00"])
        // The same, and after a quarter of an hour forward again: 14:00 is leapt over twice.
        let twice = Zone.made(
            "Test/Twice", 0, [(noon, 180), (noon + 3_600, 0), (noon + 4_500, 180)])
        #expect(
            try texts("0 14 10 * *", twice, start, end) == [
                "2026-05-10T15:00+03:00 moved from 2026-05-10T14:00"
            ])
    }

    @Test func `of several local times that gaps swallowed, the first is told`() throws {
        let zone = Zone.made(
            "Test/Gaps", 0,
            [
                (second(2026, 5, 10, 2), 60), (second(2026, 5, 11), 0),
                (second(2026, 5, 12, 2), 60),
            ])
        #expect(
            try texts(
                "15,45 2 10,12 5 *", zone, second(2026, 5, 1), second(2027, 5, 11), gap: .skip)
                == [
                    "2027-05-10T02:15+01:00 skipped 2026-05-10T02:15", "2027-05-10T02:45+01:00",
                ])
    }

    @Test func `an expression that only ever falls into skipped gaps has no occurrence`() throws {
        // 9:00 to 10:00 of every second Sunday of March, for a thousand years.
        var changes: [(at: Int, minutes: Int)] = []
        for year in 2000..<3000 {
            let first = (second(year, 3, 1) / 86_400 + 4) % 7
            let sunday = 8 + (7 - first) % 7
            changes.append((second(year, 3, sunday, 9), 60))
            changes.append((second(year, 11, 1), 0))
        }
        let zone = Zone.made("Test/Gaps", 0, changes)
        let sundays = try Recurrence("30 9 ? 3 0#2")
        let skipping = Timetable(sundays, in: zone, gap: .skip)
        #expect(skipping.next(after: second(2026, 1, 1)) == nil)
        #expect(skipping.previous(before: second(2500, 1, 1))?.at ?? 0 < second(2000, 1, 1))
        #expect(
            Timetable(sundays, in: zone).next(after: second(2026, 1, 1))?.text
                == "2026-03-08T10:00+01:00 moved from 2026-03-08T09:30")
    }
}
