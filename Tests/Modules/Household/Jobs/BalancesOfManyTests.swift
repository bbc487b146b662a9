import Foundation
import ErrandHousehold
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Debts in several groups, and those paid meanwhile", .database) struct DuesOfManyTests {
    /// Two owes one in Flat 7, and has moved to Flat 8, where they owe four.
    private func moved(_ zone: String, _ other: String) async throws -> HomeGround {
        let ground = try await HomeGround(zone: zone)
        try await ground.call("add_bill(1, 'Power', 1000, ARRAY[1,2], 'r1', '2026-01-01')")
        try await ground.call("leave(2)")
        try await ground.call("create_group(2, 'Flat 8', '\(other)', 'EUR')")
        try await ground.join(4, of: 2)
        try await ground.call("add_bill(4, 'Net', 600, ARRAY[2,4], 'r2', '2026-01-01')")
        _ = try await ground.session.query(
            "UPDATE household.groups SET created_at = '2026-01-01Z'")
        try await ground.work()
        try await ground.forget()
        return ground
    }

    private func notify(_ ground: HomeGround, at: String) async throws -> [String] {
        _ = try await NotifyBalances.handOut(in: ground.pool, now: try #require(Instant(at)))
        try await ground.work()
        return try await ground.told().sorted()
    }

    @Test func `who owes in two groups is told once, of all of it`() async throws {
        let ground = try await moved("America/Toronto", "America/Toronto")
        #expect(try await notify(ground, at: "2030-01-31T13:00:00Z") == ["balances 2"])
        try await ground.repeatAll()
        #expect(try await ground.told() == ["balances 2"])
        let words = try await ground.words().last ?? ""
        #expect(
            words
                == "You owe CA$5.00 and €3.00 in Flat 7 and Flat 8: As of Thursday 31 January:\n\n"
                + "CA$5.00 to P1, Flat 7\n€3.00 to Room-mate 4, Flat 8\n\n"
                + "Once you have paid, note it in the app.")
        try await ground.forget()
        #expect(try await notify(ground, at: "2030-02-28T13:00:00Z") == ["balances 2"])
    }

    @Test func `a person who has moved is notified by the clocks of where they live`() async throws
    {
        let ground = try await moved("Pacific/Auckland", "America/Toronto")
        _ = try await notify(ground, at: "2030-01-15T00:00:00Z")
        try await ground.forget()
        #expect(try await notify(ground, at: "2030-01-30T19:00:00Z").isEmpty)
        #expect(try await notify(ground, at: "2030-01-31T12:59:00Z").isEmpty)
        #expect(try await notify(ground, at: "2030-01-31T13:00:00Z") == ["balances 2"])
        // Where they do not owe at home: the home tells it all the same.
        try await ground.call("paid(2, 2, 2, 4, 300, 'p1')")
        try await ground.work()
        try await ground.forget()
        #expect(try await notify(ground, at: "2030-02-27T19:00:00Z").isEmpty)
        #expect(try await notify(ground, at: "2030-02-28T13:00:00Z") == ["balances 2"])
    }

    /// Two lives in Flat 8, which is still to tell them what they owe in Flat 7 as well.
    private func waiting() async throws -> HomeGround {
        let ground = try await moved("Pacific/Auckland", "America/Toronto")
        _ = try await notify(ground, at: "2030-01-15T00:00:00Z")
        try await ground.forget()
        #expect(try await notify(ground, at: "2030-01-30T19:00:00Z").isEmpty)
        return ground
    }

    private func balances(_ ground: HomeGround) async throws -> [String] {
        try await ground.told().filter { $0.hasPrefix("balances") }
    }

    @Test(arguments: [false, true])
    func `who leaves a home that was to tell them is told once`(owesAtHome: Bool) async throws {
        let ground = try await waiting()
        if !owesAtHome { try await ground.call("paid(2, 2, 2, 4, 300, 'p1')") }
        // What others owe since then is of the next month.
        try await ground.call("add_bill(1, 'Late', 900, ARRAY[1,3], 'r3', '2026-01-02')")
        try await ground.call("leave(2)")
        try await ground.work()
        #expect(try await balances(ground) == ["balances 2"])
        _ = try await notify(ground, at: "2030-01-31T13:00:00Z")
        #expect(try await balances(ground) == ["balances 2"])
    }

    @Test func `who leaves while the month is being told is told all the same`() async throws {
        let ground = try await waiting()
        try await ground.call("paid(2, 2, 2, 4, 300, 'p1')")
        try await ground.work()
        _ = try await NotifyBalances.handOut(
            in: ground.pool, now: try #require(Instant("2030-01-31T13:00:00Z")))
        try await ground.call("leave(2)")
        _ = try await ground.session.query(
            """
            UPDATE household.members SET left_at = '2030-01-31T13:00:01Z'
            WHERE person_id = 2 AND group_id = 2
            """)
        try await ground.work()
        #expect(try await balances(ground) == ["balances 2"])
    }

    @Test func `what is held and paid meanwhile is told as it is then, or not at all`()
        async throws
    {
        let ground = try await HomeGround(zone: "UTC")
        let hour = Int(Date().timeIntervalSince1970) / 3_600 % 24
        _ = try await ground.session.query(
            "UPDATE people.people SET time_zone = $1, notice_time = '23:00'",
            [.text(hour < 12 ? "UTC" : "Pacific/Honolulu")])
        try await ground.call("add_bill(1, 'Power', 900, ARRAY[1,2,3], 'r1', '2026-01-01')")
        _ = try await ground.session.query(
            "UPDATE household.groups SET created_at = '2026-01-01Z'")
        _ = try await notify(ground, at: "2030-01-31T13:00:00Z")
        let held = """
            SELECT person_id || ' ' || status || ' ' || (data -> 'total' -> 0 ->> 'minor')
            FROM notification.notices WHERE kind = 'household.balances' ORDER BY id
            """
        #expect(try await ground.texts(held) == ["2 held 300", "3 held 300"])
        try await ground.call("paid(2, 1, 2, 1, 300, 'p1')")
        try await ground.call("paid(3, 1, 3, 1, 100, 'p2')")
        try await ground.work()
        #expect(try await ground.texts(held) == ["2 withdrawn 300", "3 held 200"])
        try await ground.call("add_bill(1, 'Net', 300, ARRAY[2,3,1], 'r2', '2026-01-01')")
        try await ground.work()
        #expect(try await ground.texts(held) == ["2 withdrawn 300", "3 held 300"])
    }
}
