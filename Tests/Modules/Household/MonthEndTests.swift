import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Debts at the end of the month", .database) struct MonthEndTests {
    private func months(_ ground: HouseholdGround) async throws -> [String] {
        try await ground.texts(
            """
            SELECT (args ->> 'month_end') || ' ' || (args ->> 'group_ids') FROM errand.jobs
            WHERE args ->> 'event' = 'balances' ORDER BY id
            """)
    }

    @Test func `a group where somebody owes is handed out once a month`() async throws {
        let ground = try await HouseholdGround()
        try await ground.call("create_group(4, 'Even', 'America/Toronto')")
        try await ground.bill(1, 900, [1, 2, 3])
        try await ground.session.script(
            "UPDATE household.groups SET created_at = '2026-01-01Z'")
        try await ground.call(
            "set_month_end('America/Toronto', '2027-01-31', '2027-01-31 05:00Z')")
        #expect(try await ground.call("due_groups('2027-01-31 04:59Z')") == "0")
        #expect(try await ground.call("due_groups('2027-01-31 05:00Z')") == "2")
        #expect(try await ground.call("due_groups('2027-01-31 05:00Z')") == "0")
        #expect(try await months(ground) == ["2027-01-31 [1]"])
        // Two ends have passed while nothing ran: the last one is told.
        for (day, at) in [("2027-02-28", "2027-02-28 05:00Z"), ("2027-03-31", "2027-03-31 04:00Z")]
        { try await ground.call("set_month_end('America/Toronto', '\(day)', '\(at)')") }
        #expect(try await ground.call("due_groups('2027-04-02Z')") == "2")
        #expect(try await months(ground) == ["2027-01-31 [1]", "2027-03-31 [1]"])
        #expect(
            try await ground.refusal("set_month_end('UTC', '2027-02-27', '2027-02-27Z')")?
                .prefix(5) == "23514")
    }

    @Test func `workers at once hand out each group once`() async throws {
        let ground = try await HouseholdGround(members: 0)
        try await ground.session.script(
            """
            INSERT INTO household.groups (created_by, created_at, currency, time_zone, name)
            SELECT 1, '2026-01-01Z', 'CAD', 'UTC', 'G' FROM generate_series(1, 250);
            INSERT INTO household.members SELECT 1, p, '2026-01-01Z' FROM generate_series(1, 2) p;
            SELECT household.post_debts(id, 'k' || id, 'shared_bill', 'shared_bill:0', 1, '{2}',
                '{5}') FROM household.groups;
            SELECT household.set_month_end('UTC', '2027-01-31', '2027-01-31Z')
            """)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<5 {
                group.addTask {
                    try await ground.pool.withSession { session in
                        for _ in 0..<10 {
                            _ = try await session.query(
                                "SELECT household.due_groups('2027-02-01Z', 20)")
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        while try await ground.call("due_groups('2027-02-01Z', 100)") != "0" {}
        let rows = try await ground.session.query(
            """
            SELECT count(*), count(DISTINCT g) FROM errand.jobs,
                jsonb_array_elements(args -> 'group_ids') g WHERE args ->> 'event' = 'balances'
            """)
        #expect(try rows.int64(0, 0) == 250)
        #expect(try rows.int64(0, 1) == 250)
    }

    @Test func `a group that changes its zone is told of a month once, and not left out`()
        async throws
    {
        let ground = try await HouseholdGround()
        try await ground.bill(1, 900, [1, 2, 3])
        let month = try await ground.texts(
            "SELECT (date_trunc('month', now()) + interval '1 month - 1 day')::date::text"
        )[0]
        try await ground.session.script(
            "UPDATE household.groups SET created_at = '2026-01-01Z'")
        try await ground.call(
            "set_month_end('Asia/Tokyo', '\(month)', clock_timestamp() - interval '1 hour')")
        try await ground.call(
            "set_month_end('America/Toronto', '\(month)', clock_timestamp() + interval '1 hour')")
        // Nobody is there to be told.
        #expect(try await ground.call("due_groups()") == "0")
        try await ground.call("set_group(1, NULL, 'Asia/Tokyo')")
        #expect(try await ground.call("due_groups()") == "1")
        try await ground.call("set_group(1, NULL, 'America/Toronto')")
        #expect(
            try await ground.call("due_groups(clock_timestamp() + interval '2 hours')") == "0")
        #expect(try await months(ground) == ["\(month) [1]"])
    }

    @Test func `zones whose months are not planned are named`() async throws {
        let ground = try await HouseholdGround(members: 2)
        try await ground.call("create_group(3, 'Far', 'Asia/Tokyo')")
        try await ground.call("set_month_end('Asia/Tokyo', '2027-01-31', '2027-01-30 15:00Z')")
        #expect(
            try await ground.rows("zones_to_plan('2027-01-01Z')") == ["(America/Toronto,)"])
        #expect(
            try await ground.rows("zones_to_plan('2027-02-01Z')")
                == ["(America/Toronto,)", "(Asia/Tokyo,2027-01-31)"])
    }
}
