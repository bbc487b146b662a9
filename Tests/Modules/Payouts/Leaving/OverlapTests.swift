import ErrandLedger
import ErrandPayouts
import ErrandPostgres
import ErrandTestServices
import Testing

/// People who are blocked, or give up what they are owed, while their payouts are being changed.
@Suite("Payouts that change at the same time", .database) struct OverlapTests {
    private static let block = """
        SELECT put_person::text FROM people.put_person(1,
            jsonb_build_object('birth_date', current_date - 5000))
        """

    /// A run whose chunk is not closed.
    private func begun(_ ground: QuarterGround) async throws -> Int64 {
        for person in 1...2 { try await ground.earn(Int64(person), 500, at: "2026-08-01Z") }
        let quarter = try #require(Quarter("2026-Q3"))
        try await ground.begin(quarter, by: "ann", try await ground.client())
        return try #require(try await ground.run("2026-Q3")).id
    }

    private func notes(_ ground: QuarterGround) async throws -> [String] {
        try await ground.payouts("2026-Q3")
    }

    @Test func `what a close makes while its person is blocked is held`() async throws {
        let ground = try await QuarterGround(people: 2)
        let run = try await begun(ground)
        _ = try await TestDatabase.here().overlap(
            "SELECT payouts.close_chunk(\(run), 1)", Self.block)
        #expect(try await notes(ground) == ["1 500 held: is under 16", "2 500 pending"])
        #expect(try await ground.balance(1) == 500)
        #expect(try await ground.faults() == [])
    }

    @Test func `what is released while its person is blocked is held again`() async throws {
        let ground = try await QuarterGround(people: 2)
        for person in 1...2 { try await ground.earn(Int64(person), 500, at: "2026-08-01Z") }
        try await ground.close("2026-Q3")
        let payout = try await ground.payout(of: 1)
        _ = try await ground.session.query(
            "SELECT payouts.hold($1, 'ann', 'in doubt')", [.int64(payout)])
        _ = try await TestDatabase.here().overlap(
            "SELECT payouts.release(\(payout), 'ann', NULL)", Self.block)
        #expect(try await notes(ground) == ["1 500 held: is under 16", "2 500 pending"])
        #expect(try await ground.faults() == [])
    }

    @Test func `what a close makes while it is given up is given up`() async throws {
        let ground = try await QuarterGround(people: 2)
        let run = try await begun(ground)
        let given = try await TestDatabase.here().overlap(
            "SELECT payouts.close_chunk(\(run), 1)",
            "SELECT currency || ' ' || amount FROM payouts.forfeit(1, 'f1')")
        #expect(given == ["CAD 500"])
        #expect(try await notes(ground) == ["1 500 void: given up", "2 500 pending"])
        #expect(try await ground.faults() == [])
    }
}
