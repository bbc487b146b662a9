import Foundation
import ErrandNotification
import ErrandPostgres
import ErrandRecurrence
import Testing

@Suite("What people are told of by their own calendar") struct ExpiryWindowTests {
    private func windows(
        _ zone: String, _ due: String, clock: String? = nil
    ) throws -> [ExpiryWindow] {
        ExpiryWindow.all(
            of: try ZoneDatabase().zone(named: zone), named: zone,
            due: try #require(Instant(due)), now: try #require(Instant(clock ?? due)))
    }

    @Test(
        "a window knows what clocks show, on the days that they change, too",
        arguments: [
            ("America/Toronto", "2026-06-15T14:00:00Z", 36_000),
            ("America/Toronto", "2026-12-15T15:00:00Z", 36_000),
            ("Asia/Kolkata", "2026-06-15T05:00:00Z", 37_800),
            ("America/Toronto", "2026-03-08T14:00:00Z", 36_000),
            ("America/Toronto", "2026-11-01T15:00:00Z", 36_000),
            ("America/Toronto", "2026-06-16T03:00:00Z", 82_800),
        ])
    func shown(zone: String, due: String, second: Int) throws {
        #expect(try windows(zone, due).map(\.secondOfDay) == [second, second])
    }

    @Test(
        "days are those of the person's calendar, 23 and 25 hours long when clocks change",
        arguments: [
            (
                "UTC", "2026-06-15T10:00:00Z",
                [
                    "1 2026-06-16 2026-06-16T00:00:00Z 2026-06-17T00:00:00Z",
                    "3 2026-06-18 2026-06-18T00:00:00Z 2026-06-19T00:00:00Z",
                ], "2026-06-16T00:00:00Z"
            ),
            // The evening in Toronto is the next day in UTC.
            (
                "America/Toronto", "2026-06-16T00:00:00Z",
                [
                    "1 2026-06-16 2026-06-16T04:00:00Z 2026-06-17T04:00:00Z",
                    "3 2026-06-18 2026-06-18T04:00:00Z 2026-06-19T04:00:00Z",
                ], "2026-06-16T04:00:00Z"
            ),
            // Beyond the date line it is the next day already.
            (
                "Pacific/Kiritimati", "2026-06-15T20:00:00Z",
                [
                    "1 2026-06-17 2026-06-16T10:00:00Z 2026-06-17T10:00:00Z",
                    "3 2026-06-19 2026-06-18T10:00:00Z 2026-06-19T10:00:00Z",
                ], "2026-06-16T10:00:00Z"
            ),
            (
                "America/Toronto", "2026-03-07T15:00:00Z",
                [
                    "1 2026-03-08 2026-03-08T05:00:00Z 2026-03-09T04:00:00Z",
                    "3 2026-03-10 2026-03-10T04:00:00Z 2026-03-11T04:00:00Z",
                ], "2026-03-08T05:00:00Z"
            ),
            (
                "America/Toronto", "2026-03-08T14:00:00Z",
                [
                    "1 2026-03-09 2026-03-09T04:00:00Z 2026-03-10T04:00:00Z",
                    "3 2026-03-11 2026-03-11T04:00:00Z 2026-03-12T04:00:00Z",
                ], "2026-03-09T04:00:00Z"
            ),
            (
                "America/Toronto", "2026-10-31T14:00:00Z",
                [
                    "1 2026-11-01 2026-11-01T04:00:00Z 2026-11-02T05:00:00Z",
                    "3 2026-11-03 2026-11-03T05:00:00Z 2026-11-04T05:00:00Z",
                ], "2026-11-01T04:00:00Z"
            ),
            (
                "America/Toronto", "2026-11-01T15:00:00Z",
                [
                    "1 2026-11-02 2026-11-02T05:00:00Z 2026-11-03T05:00:00Z",
                    "3 2026-11-04 2026-11-04T05:00:00Z 2026-11-05T05:00:00Z",
                ], "2026-11-02T05:00:00Z"
            ),
        ] as [(String, String, [String], String)])
    func days(zone: String, due: String, expected: [String], until: String) throws {
        let found = try windows(zone, due)
        #expect(found.map { "\($0.daysLeft) \($0.lastDay) \($0.after) \($0.through)" } == expected)
        #expect(found.allSatisfy { $0.until.description == until && $0.zone == zone })
    }

    @Test func `nobody is told of a day that is over by the clock`() throws {
        let due = "2026-06-15T14:00:00Z"
        #expect(try windows("America/Toronto", due, clock: "2026-06-16T03:59:59Z").count == 2)
        #expect(try windows("America/Toronto", due, clock: "2026-06-16T04:00:00Z").isEmpty)
    }
}
