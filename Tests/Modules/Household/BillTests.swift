import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Bills of room-mates", .database) struct BillTests {
    @Test func `what cannot be divided falls to other people each time`() async throws {
        let ground = try await HouseholdGround()
        var borne: [Int64] = [0, 0, 0]
        for _ in 0..<6 {
            let shares = try await ground.shares(try await ground.bill(1, 100, [1, 2, 3]))
            #expect(shares.sorted() == [33, 33, 34])
            for index in 0..<3 { borne[index] += shares[index] }
        }
        #expect(borne == [200, 200, 200])
    }

    @Test func `a bill is split equally, by weights and by amounts`() async throws {
        let ground = try await HouseholdGround()
        let equal = try await ground.bill(1, 900, [1, 2, 3])
        #expect(try await ground.shares(equal) == [300, 300, 300])
        // The payer does not bear it.
        let weights = try await ground.bill(1, 1000, [2, 3], "'weights', '{1,3}'")
        #expect(try await ground.shares(weights) == [250, 750])
        let amounts = try await ground.bill(2, 1000, [1, 3], "'amounts', '{1,999}', 3")
        #expect(try await ground.shares(amounts) == [1, 999])
        #expect(try await ground.balances() == ["2 owes 1 550", "3 owes 1 1049"])
        #expect(try await ground.rows("debts(1)") == ["(1,2,550,CAD)", "(1,3,1049,CAD)"])
        let alone = try await ground.bill(2, 100, [2])
        #expect(
            try await ground.texts(
                "SELECT transaction_id::text FROM household.bills WHERE id = \(alone)") == ["null"])
        #expect(
            try await ground.rows("bills(1)", "bill_id, amount, payer_id, split, persons, shares")
                == [
                    "(\(alone),100,2,equal,{2},{100})",
                    "(\(amounts),1000,3,amounts,\"{1,3}\",\"{1,999}\")",
                    "(\(weights),1000,1,weights,\"{2,3}\",\"{250,750}\")",
                    "(\(equal),900,1,equal,\"{1,2,3}\",\"{300,300,300}\")",
                ])
        #expect(
            try await ground.rows("bills(1, '2026-11-20', \(weights), 1)", "bill_id")
                == ["\(equal)"])
    }

    @Test func `what is wrong with a bill is said`() async throws {
        let ground = try await HouseholdGround()
        func refused(_ rest: String) async throws -> String? {
            try await ground.refusal("add_bill(1, 'Gas', \(rest))")
        }
        #expect(
            try await refused("10, '{1,4}', 'r', '2026-11-20'")
                == "not_a_member: person 4 is not in your group")
        #expect(
            try await refused("10, '{1,2}', 'r', '2026-11-20', payer => 4")
                == "not_a_member: person 4 is not in your group")
        #expect(
            try await refused("10, '{1,2}', 'r', '2026-11-20', 'amounts', '{5,6}'")
                == "22023: parts: expected amounts that add up to 10, found 11")
        for rest in [
            "0, '{1}', 'r', '2026-11-20'", "-5, '{1}', 'r', '2026-11-20'",
            "10, '{}', 'r', '2026-11-20'", "10, '{1,1}', 'r', '2026-11-20'",
            "10, '{1,null}', 'r', '2026-11-20'", "10, NULL, 'r', '2026-11-20'",
            "10, '{1}', '', '2026-11-20'", "10, '{1}', 'r', NULL",
            "10, '{1}', 'r', '2026-11-20', 'items'", "10, '{1}', 'r', '2026-11-20', 'weights'",
            "10, '{1,2}', 'r', '2026-11-20', 'weights', '{0,0}'",
            "10, '{1,2}', 'r', '2026-11-20', 'weights', '{1,-1}'",
            "10, '{1,2}', 'r', '2026-11-20', 'weights', '{1}'",
            "10, '{1,2}', 'r', '2026-11-20', 'equal', '{1,1}'",
            "10000000001, '{1}', 'r', '2026-11-20'",
        ] { #expect(try await refused(rest)?.prefix(5) == "22023", "\(rest)") }
        #expect(
            try await ground.refusal("add_bill(9, 'Gas', 10, '{9}', 'r', '2026-11-20')")
                == "no_group: person 9 is in no group")
        #expect(try await ground.number("SELECT count(*) FROM household.bills") == 0)
        #expect(try await ground.number("SELECT count(*) FROM ledger.transactions") == 0)
    }

    @Test func `the same request is one bill, and another one with its name is refused`()
        async throws
    {
        let ground = try await HouseholdGround()
        let call = "add_bill(1, 'Gas', 100, '{1,2}', 'r', '2026-11-20')"
        let id = try await ground.call(call)
        #expect(try await ground.call(call) == id)
        #expect(
            try await ground.refusal("add_bill(1, 'Gas', 101, '{1,2}', 'r', '2026-11-20')")
                == "23505: request r: bill \(id) was made by it, with other content")
        #expect(try await ground.balances() == ["2 owes 1 50"])
        #expect(try await ground.told().filter { $0 == "bill_added" }.count == 1)
    }

    @Test func `an edited bill is reversed and posted anew, and what was before stays`()
        async throws
    {
        let ground = try await HouseholdGround()
        let bill = try await ground.bill(1, 900, [1, 2, 3])
        #expect(try await ground.call("edit_bill(2, \(bill), amount => 600)") == "2")
        #expect(try await ground.balances() == ["2 owes 1 200", "3 owes 1 200"])
        #expect(try await ground.call("edit_bill(2, \(bill), payer => 2)") == "3")
        #expect(try await ground.balances() == ["1 owes 2 200", "3 owes 2 200"])
        #expect(
            try await ground.call(
                "edit_bill(3, \(bill), persons => '{2,3}', split => 'weights', parts => '{1,2}')")
                == "4")
        #expect(try await ground.balances() == ["3 owes 2 400"])
        #expect(
            try await ground.refusal("edit_bill(3, \(bill), amount => 10)")
                == "22023: split: the bill is split by weights: give persons and "
                + "parts again"
        )
        // Who pays changes, and the shares stay to the cent.
        #expect(try await ground.call("edit_bill(3, \(bill), payer => 3)") == "5")
        #expect(try await ground.balances() == ["2 owes 3 200"])
        // No money changes.
        #expect(try await ground.call("edit_bill(3, \(bill), 'Gas')") == "5")
        #expect(
            try await ground.refusal("edit_bill(3, \(bill), payer => 9)")
                == "not_a_member: person 9 is not in your group")
        #expect(
            try await ground.refusal("edit_bill(3, \(bill), persons => '{1,9}', split => 'equal')")
                == "not_a_member: person 9 is not in your group")
        #expect(
            try await ground.refusal("edit_bill(3, 99)")
                == "P0002: no bill of your group has the id 99")
        #expect(
            try await ground.number("SELECT count(DISTINCT revision) FROM household.shares") == 5)
        #expect(try await ground.number("SELECT count(*) FROM ledger.transactions") == 9)
        #expect(try await ground.told().filter { $0 == "bill_edited" }.count == 5)
        #expect(try await ground.call("remove_bill(1, \(bill))") == "true")
        #expect(try await ground.call("remove_bill(1, \(bill))") == "false")
        #expect(try await ground.balances() == [])
        #expect(
            try await ground.refusal("edit_bill(3, \(bill), 'Gas')")
                == "removed: bill \(bill) was removed")
        #expect(try await ground.rows("bills(1)").isEmpty)
    }

    @Test func `who has moved out can stay in a bill that is edited, and join none`() async throws {
        let ground = try await HouseholdGround()
        let bill = try await ground.bill(1, 900, [1, 2, 3])
        try await ground.call("leave(3)")
        try await ground.call("edit_bill(1, \(bill), amount => 300)")
        #expect(try await ground.balances() == ["2 owes 1 100", "3 owes 1 100"])
        #expect(
            try await ground.refusal("add_bill(1, 'Gas', 10, '{1,3}', 'r', '2026-11-20')")
                == "not_a_member: person 3 is not in your group")
    }

    @Test func `the ledger's own reversal leaves bills and payments alone`() async throws {
        let ground = try await HouseholdGround()
        try await ground.bill(1, 900, [1, 2, 3])
        try await ground.call("paid(2, 1, 2, 1, 100, 'p')")
        for id in 1...2 {
            #expect(try await ground.sqlState("SELECT ledger.reverse(\(id), 'x')") == "23514")
        }
        #expect(
            try await ground.sqlState("SELECT ledger.account('roommate', 999, 'CAD')") == "23503")
        for statement in [
            "UPDATE household.shares SET amount = 1", "DELETE FROM household.bills",
            "DELETE FROM household.payments", "DELETE FROM household.members",
        ] { #expect(try await ground.sqlState(statement) == "23001", "\(statement)") }
    }
}
