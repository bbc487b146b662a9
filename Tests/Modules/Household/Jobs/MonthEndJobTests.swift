import Foundation
import ErrandGregorian
import ErrandHousehold
import ErrandPostgres
import ErrandRecurrence
import ErrandTestServices
import Testing

@Suite("Debts told at the ends of months", .database) struct MonthEndJobTests {
    private static let zones = [
        "Pacific/Kiritimati", "Pacific/Auckland", "Asia/Kolkata", "Africa/Douala",
        "Europe/Lisbon", "America/St_Johns", "America/Toronto", "America/Vancouver",
        "Pacific/Pago_Pago",
    ]

    @Test func `each who owes is told once, on the last day of each month by their clocks`()
        async throws
    {
        let ground = try await HomeGround(people: Self.zones.count * 2, members: 0)
        for (number, zone) in Self.zones.enumerated() {
            let person = number * 2 + 1
            try await ground.call("create_group(\(person), 'G', '\(zone)')")
            try await ground.join(Int64(person) + 1, of: Int64(person))
            try await ground.call(
                "add_bill(\(person), 'Power', 900, ARRAY[\(person), \(person + 1)], 'r', "
                    + "'2026-01-01')")
        }
        _ = try await ground.session.query(
            "UPDATE household.groups SET created_at = '2026-01-01Z'")
        let database = ZoneDatabase()
        // Months of 31, 28, 31 (clocks change in it), 30 days, and a February of 29.
        for (first, last) in [
            ("2027-01-29", "2027-01-31"), ("2027-02-26", "2027-02-28"),
            ("2027-03-29", "2027-03-31"), ("2027-04-28", "2027-04-30"),
            ("2027-10-29", "2027-10-31"), ("2028-02-27", "2028-02-29"),
        ] {
            var now = try #require(Instant("\(first)T00:00:00Z"))
            var told: [Int64: [String]] = [:]
            // Those of the months between.
            _ = try await NotifyBalances.handOut(in: ground.pool, now: now)
            _ = try await ground.session.query(
                "DELETE FROM errand.jobs WHERE args ->> 'event' = 'balances'")
            for _ in 0..<24 {
                _ = try await NotifyBalances.handOut(in: ground.pool, now: now)
                let rows = try await ground.session.query(
                    """
                    DELETE FROM errand.jobs WHERE args ->> 'event' = 'balances'
                    RETURNING args ->> 'month_end', args ->> 'group_ids'
                    """)
                for row in rows {
                    #expect(try row.text(0) == last)
                    for group in try row.text(1).split(whereSeparator: { "[, ]".contains($0) })
                        .compactMap({ Int64($0.filter(\.isNumber)) })
                    {
                        let zone = try database.zone(named: Self.zones[Int(group) - 1])
                        let day = zone.day(of: now)
                        told[group, default: []].append("\(day.year)-\(day.month)-\(day.day)")
                    }
                }
                now = now.adding(.seconds(4 * 3_600))
            }
            let expected = last.split(separator: "-").map { "\(Int($0)!)" }.joined(separator: "-")
            for group in 1...Int64(Self.zones.count) {
                #expect(told[group] == [expected], "\(Self.zones[Int(group) - 1])")
            }
        }
    }

    @Test func `the notice has the total and to whom it is owed, once for each who owes`()
        async throws
    {
        let ground = try await HomeGround(people: 6, members: 4)
        try await ground.call(
            "add_bill(1, 'Power', 4000, ARRAY[1,2,3,4], 'r1', '2026-01-01')")
        try await ground.call("add_bill(2, 'Net', 900, ARRAY[2,3,4], 'r2', '2026-01-01')")
        try await ground.work()
        try await ground.forget()
        _ = try await ground.session.query(
            "UPDATE household.groups SET created_at = '2026-01-01Z'")
        let before = try await ground.words().count
        let end = try #require(Instant("2030-01-31T13:00:00Z"))
        // Twice, as after a kill.
        for _ in 1...2 {
            _ = try await NotifyBalances.handOut(in: ground.pool, now: end)
            try await ground.work()
        }
        try await ground.repeatAll()
        #expect(try await ground.told().sorted() == ["balances 2", "balances 3", "balances 4"])
        let words = try await ground.words().dropFirst(before).joined(separator: "\n")
        #expect(words.contains("You owe CA$13.00 in Flat 7"), "\(words)")
        #expect(words.contains("CA$10.00 to P1\nCA$3.00 to P2"), "\(words)")
        // Who has paid owes nothing.
        try await ground.forget()
        try await ground.call("paid(3, 1, 3, 1, 1000, 'p1')")
        try await ground.call("paid(3, 1, 3, 2, 300, 'p2')")
        try await ground.work()
        try await ground.forget()
        _ = try await NotifyBalances.handOut(
            in: ground.pool, now: try #require(Instant("2030-02-28T13:00:00Z")))
        try await ground.work()
        #expect(try await ground.told().sorted() == ["balances 2", "balances 4"])
    }

    @Test func `months have the ends that calendars have`() throws {
        let zone = try ZoneDatabase().zone(named: "America/Toronto")
        let ends = MonthEnd.next(
            16, from: try #require(Instant("2027-01-31T23:00:00Z")), in: zone)
        #expect(
            ends.map { "\($0.day.month)/\($0.day.day)" } == [
                "1/31", "2/28", "3/31", "4/30", "5/31", "6/30", "7/31", "8/31", "9/30", "10/31",
                "11/30", "12/31", "1/31", "2/29", "3/31", "4/30",
            ])
        #expect(ends[0].at == Instant("2027-01-31T13:00:00Z"))
        #expect(ends[2].at == Instant("2027-03-31T12:00:00Z"))
    }
}
