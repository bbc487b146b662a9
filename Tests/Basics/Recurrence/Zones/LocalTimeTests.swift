import Testing

@testable import ErrandRecurrence

@Suite struct LocalTimeTests {
    @Test(
        "local times are written as RFC 3339 has them",
        arguments: [
            ("EST5EDT,M3.2.0,M11.1.0", "2026-11-01T05:30Z", "2026-11-01T01:30:00-04:00"),
            ("EST5EDT,M3.2.0,M11.1.0", "2026-11-01T06:30Z", "2026-11-01T01:30:00-05:00"),
            ("NST3:30NDT,M3.2.0,M11.1.0", "2027-01-01T00:00Z", "2026-12-31T20:30:00-03:30"),
            ("<+1245>-12:45", "2026-12-31T12:00Z", "2027-01-01T00:45:00+12:45"),
            ("<-00>0", "1969-12-31T23:59Z", "1969-12-31T23:59:00+00:00"),
            // The Dutch clocks that RFC 3339 tells of, and the other side of Greenwich.
            ("AMT-0:19:32", "1937-01-01T11:40Z", "1937-01-01T12:00:00+00:20"),
            ("LMT5:17:32", "1880-01-01T00:00Z", "1879-12-31T18:42:00-05:18"),
            ("LMT5:17:29", "1880-01-01T00:00Z", "1879-12-31T18:43:00-05:17"),
            ("LMT0:00:29", "1880-01-01T00:00Z", "1880-01-01T00:00:00+00:00"),
        ])
    func text(rule: String, moment: String, expected: String) throws {
        #expect(LocalTime(utc(moment), in: try Zone(following: rule)).description == expected)
    }

    @Test func `universal time is written with a Z`() {
        #expect(LocalTime(0, in: .utc).description == "1970-01-01T00:00:00Z")
        let alias = Zone(name: "Etc/Zulu", table: Zone.utc.table)
        #expect(LocalTime(-1, in: alias).description == "1969-12-31T23:59:59Z")
    }

    @Test func `years that RFC 3339 does not have are written with a sign`() throws {
        #expect(LocalTime(253_402_300_800, in: .utc).description == "+10000-01-01T00:00:00Z")
        #expect(LocalTime(-62_167_219_201, in: .utc).description == "-0001-12-31T23:59:59Z")
        #expect(LocalTime(-62_167_219_200, in: .utc).description == "0000-01-01T00:00:00Z")
        for rule in ["AAA12:00:59", "AAA-12:00:59"] {
            let zone = try Zone(following: rule)
            #expect(LocalTime(.max, in: zone).description.hasPrefix("+292277026596-12-04T"))
            #expect(LocalTime(.min, in: zone).description.hasPrefix("-292277022657-01-2"))
        }
    }
}
