import ErrandPostgres
import ErrandTestServices
import Testing

/// What apps show of money that is to come.
///
/// "Next pay date and pending amounts for apps by SQL".
@Suite("The standing of a person's money", .database) struct StandingTests {
    private func standing(_ ground: QuarterGround, _ person: Int) async throws -> [String] {
        try await ground.session.query(
            """
            SELECT concat_ws(' ', currency, balance, pending, in_payment, held_amount, held_reason,
                missing) FROM payouts.standing(\(person))
            """
        ).map { try $0.text(0) }
    }

    // "Held payouts stay in `reward_balance`, pending ones do not: `balance + of_person` counts a
    // held one twice unless one knows".
    @Test func `balance, payments on their way and held payouts add up`() async throws {
        let ground = try await QuarterGround(people: 3)
        #expect(try await standing(ground, 1) == [])
        for person in 1...2 {
            try await ground.earn(Int64(person), 500, at: "2026-08-01Z")
        }
        #expect(try await standing(ground, 1) == ["CAD 500 0 0"])
        try await ground.session.script("DELETE FROM payouts.payees WHERE person_id = 2")
        try await ground.close("2026-Q3")
        try await ground.earn(1, 70, at: "2026-10-05Z")
        try await ground.earn(2, 70, at: "2026-10-05Z")
        #expect(try await standing(ground, 1) == ["CAD 70 0 500"])
        #expect(
            try await standing(ground, 2) == [
                "CAD 570 0 0 500 name and address are missing name and address are missing"
            ])
        try await ground.issue(try await ground.payout(of: 1))
        #expect(try await standing(ground, 1) == ["CAD 70 0 500"])
    }

    // "No SQL function gives an app the next pay date; only `errand reward show` does".
    @Test func `the next pay date is the one of the rules`() async throws {
        let ground = try await QuarterGround(people: 1)
        let rows = try await ground.session.query(
            """
            SELECT payouts.next_pay_date() = ledger.next_pay_date(
                (now() AT TIME ZONE 'America/Toronto')::date, 15)
            """)
        #expect(try rows.bool(0, 0))
        try await ground.earn(1, 500, at: "2026-08-01Z")
        #expect(
            try await ground.session.query(
                "SELECT next_pay_date = payouts.next_pay_date() FROM payouts.standing(1)"
            ).bool(0, 0))
    }
}
