import ErrandRecurrence
import Testing

@Suite struct IntervalTests {
    @Test(arguments: [
        ("@every 90s", 90, "@every 1m30s"), ("@every 1h30m", 5_400, "@every 1h30m"),
        ("@EVERY 1W2D3H4M5S", 788_645, "@every 9d3h4m5s"),
        ("@every 366d", 31_622_400, "@every 366d"),
        (" @every  1s ", 1, "@every 1s"), ("@every 30m1h", 5_400, "@every 1h30m"),
    ])
    func `lengths are read and written`(text: String, seconds: Int, normal: String) throws {
        let recurrence = try Recurrence(text)
        #expect(recurrence == .every(seconds: seconds))
        #expect(recurrence.description == normal)
        #expect(try Recurrence(normal) == recurrence)
    }

    @Test func `intervals count in UTC from the anchor, whatever the clocks do`() throws {
        let anchor = second(2026, 3, 8, 6, 30)
        for rule in RepeatRule.allCases {
            let table = Timetable(
                try Recurrence("@every 45m"), in: .toronto2026, gap: .skip, repeats: rule,
                anchor: anchor)
            let expected = [
                "2026-03-08T00:45-05:00", "2026-03-08T01:30-05:00", "2026-03-08T03:15-04:00",
                "2026-03-08T04:00-04:00",
            ]
            let (start, end) = (anchor - 45 * 60, anchor + 91 * 60)
            #expect(table.forward(start, end).map(\.text) == expected)
            #expect(table.backward(start, end).map(\.text) == expected)
        }
    }

    @Test func `an anchor may lie anywhere`() throws {
        for anchor in [Int.min, -7, 0, 3, .max] {
            let table = Timetable(.every(seconds: 10), in: .utc, anchor: anchor)
            let phase = (anchor % 10 + 10) % 10
            #expect(table.next(after: 1_000 + phase)?.at == 1_010 + phase)
            #expect(table.next(after: 999 + phase)?.at == 1_000 + phase)
            #expect(table.previous(before: -1_000 + phase)?.at == -1_010 + phase)
            #expect(table.previous(before: -999 + phase)?.at == -1_000 + phase)
        }
    }

    @Test func `an interval out of bounds never happens`() {
        for seconds in [Int.min, -1, 0, 31_622_401, .max] {
            let table = Timetable(.every(seconds: seconds), in: .utc)
            #expect(table.next(after: 0) == nil)
            #expect(table.previous(before: 0) == nil)
        }
    }
}
