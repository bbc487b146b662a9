import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Room-mates who do things at once", .database) struct HouseholdRaceTests {
    /// How many of several calls, made at once on connections of their own, succeeded.
    private func succeeded(_ ground: HouseholdGround, _ calls: [String]) async -> Int {
        await withTaskGroup(of: Bool.self) { group in
            for call in calls {
                group.addTask {
                    do {
                        return try await ground.pool.withSession { session in
                            _ = try await session.query("SELECT (household.\(call))::text")
                            return true
                        }
                    } catch {
                        // Refused, and not for a deadlock or a broken constraint.
                        let state = (error as? PostgresError)?.sqlState ?? "\(error)"
                        #expect(["RU001", "P0002"].contains(state), "\(call): \(error)")
                        return false
                    }
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
    }

    @Test func `who joins many groups at once joins one`() async throws {
        let ground = try await HouseholdGround(members: 0)
        var calls: [String] = []
        for host in 1...6 {
            try await ground.call("create_group(\(host), 'G', 'UTC')")
            let invitation = try await ground.call("invite(\(host), 9)")
            calls.append("accept(9, \(invitation))")
        }
        calls.append("create_group(9, 'Mine', 'UTC')")
        #expect(await succeeded(ground, calls) == 1)
    }

    @Test func `one item is bought by one of many trips`() async throws {
        let ground = try await HouseholdGround(members: 6)
        try await ground.call("add_item(1, 'Milk', true)")
        let calls = (1...6).map { "complete_trip(\($0), '{1}', 600, 't\($0)', '2026-11-20')" }
        #expect(await succeeded(ground, calls) == 1)
        #expect(try await ground.balances().count == 5)
    }

    @Test func `bills, payments and edits at once leave balances whole`() async throws {
        let ground = try await HouseholdGround(members: 6)
        let bill = try await ground.bill(1, 600, [1, 2, 3, 4, 5, 6])
        var calls: [String] = []
        for person in 1...6 {
            calls.append(
                "add_bill(\(person), 'x', 600, '{1,2,3,4,5,6}', 'b\(person)', '2026-11-20')")
            calls.append("add_bill(1, 'same', 60, '{1,2}', 'same', '2026-11-20')")
            calls.append("edit_bill(\(person), \(bill), amount => 1200)")
            calls.append("paid(\(person), 1, \(person), \(person % 6 + 1), 7, 'p\(person)')")
        }
        #expect(await succeeded(ground, calls) == calls.count)
        // What each has paid for the others is even, but for the edited bill and the one of two.
        #expect(
            try await ground.number("SELECT amount FROM household.debts(1) WHERE other_id = 3")
                == 200)
        #expect(
            try await ground.number("SELECT amount FROM household.debts(1) WHERE other_id = 2")
                == 237)
        #expect(try await ground.number("SELECT sum(amount)::bigint FROM ledger.balances") == 0)
    }

    @Test func `a chore is done by one, whoever is faster, and taken by one worker`()
        async throws
    {
        let ground = try await HouseholdGround(members: 6)
        let chore = try await ground.chore()
        let take = "take(\(chore), '2027-01-01', '2027-01-02Z', '2027-01-02', '2027-01-02Z')"
        #expect(await succeeded(ground, Array(repeating: take, count: 6)) == 6)
        #expect(try await ground.number("SELECT count(*) FROM household.occurrences") == 1)
        #expect(
            try await ground.number("SELECT sum(turns)::bigint FROM household.turns") == 1)
        let turn = try await ground.number("SELECT id FROM household.occurrences")
        var calls = (1...6).map { "done(\($0), \(turn))" }
        calls.append("remind_overdue('2027-02-01Z')")
        #expect(await succeeded(ground, calls) == 2)
        #expect(
            try await ground.number("SELECT sum(turns)::bigint FROM household.turns") == 1)
    }

    @Test func `all leave, are away and take turns at once`() async throws {
        let ground = try await HouseholdGround(members: 6)
        let chores = [try await ground.chore(), try await ground.chore()]
        var calls = (2...6).map { "leave(\($0))" }
        for person in 1...6 { calls.append("set_away(\(person), true)") }
        for chore in chores {
            calls.append(
                "take(\(chore), '2027-01-01', '2027-01-02Z', '2027-01-02', '2027-01-02Z')")
        }
        #expect(await succeeded(ground, calls) >= 8)
        #expect(try await ground.rows("roommates(1)", "person_id").count == 6)
        #expect(
            try await ground.number(
                """
                SELECT count(*) FROM household.occurrences WHERE assignee_id > 1
                """) == 0)
    }
}
