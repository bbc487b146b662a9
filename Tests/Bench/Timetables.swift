import ErrandRecurrence

/// How long the next and the previous time of an expression take to find.
enum Timetables {
    /// One expression in one zone, from `count` moments spread over twenty years.
    static func measure(_ flags: Flags) throws {
        let zone = try ZoneDatabase().zone(named: try flags.text("zone"))
        let table = Timetable(try Recurrence(try flags.text("expression")), in: zone)
        let moments = (0..<(try flags.int("count"))).map { _ in
            Int.random(in: 1_577_836_800..<2_208_988_800)
        }
        let next = microseconds(moments) { table.next(after: $0) }
        let previous = microseconds(moments) { table.previous(before: $0) }
        report([
            ("next", next[next.count / 2]), ("next_worst", next[next.count - 1]),
            ("previous", previous[previous.count / 2]),
            ("previous_worst", previous[previous.count - 1]),
        ])
    }

    /// In order; the best of three for each moment, so that what interrupts is not counted.
    private static func microseconds(
        _ moments: [Int], _ find: (Int) -> Occurrence?
    ) -> [Double] {
        var found = 0
        let times = moments.map { moment in
            (0..<3).map { _ in
                let start = monotonicNow()
                found += find(moment) == nil ? 0 : 1
                return Double(monotonicNow() - start) / 1000
            }.min() ?? 0
        }
        // So that the search is not optimised away.
        precondition(found == 3 * moments.count, "an expression without times")
        return times.sorted()
    }
}
