import Testing

@testable import ErrandRecurrence

@Suite struct ZoneTilingTests {
    @Test func `the segments of every zone tile all time`() throws {
        let database = ZoneDatabase()
        for name in database.names {
            try expectTiles(try database.zone(named: name))
        }
    }

    @Test(
        "the segments of a rule tile all time",
        arguments: [
            "AAA0", "EST5EDT,M3.2.0,M11.1.0", "IST-1GMT0,M10.5.0,M3.5.0/1",
            "NZST-12NZDT,M9.5.0,M4.1.0/3", "AAA0BBB,0/0,365/1", "AAA0BBB,J360/167,J10/-50",
            "AAA0BBB,J1/-167,J365/100", "AAA24BBB-24,J60,59/-160", "AAA0BBB,M2.5.6/167,J60/-167",
        ])
    func rules(footer: String) throws {
        try expectTiles(try Zone(following: footer))
    }

    private func expectTiles(_ zone: Zone) throws {
        #expect(zone.segment(at: .min).start == .min, "\(zone.name)")
        #expect(zone.segment(at: .max).end == .max, "\(zone.name)")
        // The first lasts until 1883 or so in files, but a bare rule changes for ever.
        try expectTiles(zone, from: utc("1500-01-01T00:00Z"), through: utc("2500-01-01T00:00Z"))
        // The years in which the calendar's cycle begins anew, a few that nobody will see, and
        // both ends of what can be counted.
        let year = 31_556_952
        for place in [400 * year, -400 * year, 4_000_000 * year, -4_000_000 * year, .min] {
            try expectTiles(zone, from: place, through: place + 3 * year)
        }
        try expectTiles(zone, from: .max - 3 * year, through: .max)
    }

    /// Walks from segment to segment; each must touch the one before and differ from it.
    private func expectTiles(_ zone: Zone, from first: Int, through last: Int) throws {
        var segment = zone.segment(at: first)
        while segment.end <= last, segment.end < .max {
            let next = zone.segment(at: segment.end)
            let isTile =
                next.start == segment.end && next.end > next.start
                && next.offset != segment.offset && zone.segment(at: segment.end - 1) == segment
                && zone.segment(at: next.start / 2 + (next.end - 1) / 2) == next
            try #require(isTile, "\(zone.name): \(segment), then \(next)")
            segment = next
        }
    }
}
