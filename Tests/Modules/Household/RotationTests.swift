import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Whose turn it is", .database) struct RotationTests {
    @Test func `turns go round, and each chore begins with another one`() async throws {
        let ground = try await HouseholdGround()
        let (first, second) = (try await ground.chore(), try await ground.chore())
        #expect(try await ground.turns(first, 7) == [1, 2, 3, 1, 2, 3, 1])
        #expect(try await ground.turns(second, 4) == [2, 3, 1, 2])
        try await ground.call("set_rotation(1, \(first), '{3,1}', false)")
        #expect(try await ground.turns(first, 4) == [3, 3, 1, 3])
        try await ground.join(4)
        #expect(try await ground.turns(first, 2) == [1, 3])
        #expect(Set(try await ground.turns(second, 4)) == [1, 2, 3, 4])
    }

    @Test func `who was away makes up for it, unless it is forgiven`() async throws {
        let ground = try await HouseholdGround()
        let chore = try await ground.chore()
        #expect(try await ground.call("set_away(2, true)") == "true")
        #expect(try await ground.call("set_away(2, true)") == "false")
        #expect(try await ground.turns(chore, 6) == [1, 3, 1, 3, 1, 3])
        #expect(
            try await ground.rows("rotation(1, \(chore))", "person_id, owed")
                == ["(1,0)", "(3,0)", "(2,2)"])
        try await ground.call("set_away(2, false)")
        #expect(try await ground.turns(chore, 5) == [2, 2, 2, 1, 2])
        try await ground.call("set_away(3, true)")
        #expect(try await ground.turns(chore, 8).contains(3) == false)
        try await ground.call("set_away(3, false)")
        #expect(try await ground.refusal("forgive_turns(3, \(chore), 3)")?.prefix(5) == "22023")
        #expect(try await ground.refusal("forgive_turns(1, \(chore), 9)")?.prefix(8) == "no_turns")
        #expect(Int(try await ground.call("forgive_turns(1, \(chore), 3)")) ?? 0 > 1)
        #expect(try await ground.call("forgive_turns(1, \(chore), 3)") == "0")
        #expect(Set(try await ground.turns(chore, 4)).count == 3)
    }

    @Test func `what is due goes on when somebody leaves, is away, or nobody is there`()
        async throws
    {
        let ground = try await HouseholdGround()
        let chore = try await ground.chore()
        #expect(try await ground.turns(chore, 1) == [1])
        try await ground.call("leave(1)")
        #expect(
            try await ground.texts(
                "SELECT assignee_id || ' ' || instead_of FROM "
                    + "household.occurrences") == ["2 1"])
        try await ground.call("set_away(2, true)")
        try await ground.call("set_away(3, true)")
        #expect(
            try await ground.texts("SELECT assignee_id::text FROM household.occurrences")
                == ["null"])
        #expect(try await ground.turns(chore, 1) == [0])
        try await ground.call("set_away(3, false)")
        #expect(
            try await ground.texts(
                "SELECT assignee_id::text FROM household.occurrences ORDER BY id")
                == ["null", "3"])
    }

    /// The invariant of household.turns: of those who were there all the time, without anybody
    /// stepping in, turns differ by one at most in any stretch.
    @Test("turns differ by one at most while members come and go", arguments: 0..<6)
    func fairness(seed: Int) async throws {
        let ground = try await HouseholdGround(people: 20, members: 4)
        let chore = try await ground.chore()
        var random = SplitMix(seed: UInt64(seed))
        var (members, next): (Set<Int64>, Int64) = ([1, 2, 3, 4], 5)
        // Turns since the beginning of those who have been there since then, and were never away.
        var since: [Int64: Int] = [1: 0, 2: 0, 3: 0, 4: 0]
        for _ in 0..<60 {
            switch random.number(0...9) {
            case 0 where next <= 20:
                try await ground.join(next)
                members.insert(next)
                // From now on they count with the others: so all begin anew.
                for member in members { since[member] = 0 }
                since[next] = nil
                next += 1
            case 1 where members.count > 3:
                let leaver = members.sorted().filter { $0 != 1 }.randomElement(using: &random)
                guard let leaver else { continue }
                // Done, so that nothing is handed over.
                try await ground.session.script(
                    "UPDATE household.occurrences SET state = 'missed', remind_at = NULL "
                        + "WHERE state IN ('due', 'overdue')")
                try await ground.call("leave(\(leaver))")
                members.remove(leaver)
                since[leaver] = nil
            default:
                let assignee = try await ground.turns(chore, 1)[0]
                #expect(members.contains(assignee))
                if let count = since[assignee] { since[assignee] = count + 1 }
            }
            let counts = since.values
            // Two stretches of a round that were begun apart may add up to two, and no more.
            #expect((counts.max() ?? 0) - (counts.min() ?? 0) <= 2, "\(since)")
            let turns = try await ground.session.query(
                "SELECT turns::bigint FROM household.turns WHERE chore_id = $1", [.int64(chore)]
            ).map { try $0.int64(0) }
            #expect((turns.max() ?? 0) - (turns.min() ?? 0) <= 1, "\(turns)")
        }
        // A full cycle: each of them once.
        _ = try await ground.turns(chore, members.count)
        let cycle = try await ground.turns(chore, members.count * 3)
        let counts = members.map { member in cycle.count { $0 == member } }
        #expect((counts.max() ?? 0) - (counts.min() ?? 0) <= 1, "\(counts)")
    }
}
