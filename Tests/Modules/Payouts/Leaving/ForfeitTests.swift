import ErrandPostgres
import ErrandTestServices
import Testing

@testable import ErrandPayouts

/// What people give up: "last payout or forfeit as they say".
@Suite("Payouts that people give up", .database) struct ForfeitTests {
    private func forfeit(
        _ ground: QuarterGround, _ person: Int64, _ request: String
    ) async throws -> [String] {
        try await TestDatabase.here().session().query(
            "SELECT currency || ' ' || amount FROM payouts.forfeit($1, $2)",
            [.int64(person), .text(request)]
        ).map { try $0.text(0) }
    }

    @Test func `the balance and all payouts that are not issued are given up, once`() async throws {
        let ground = try await QuarterGround(people: 3)
        for person in 1...3 { try await ground.earn(Int64(person), 500, at: "2026-08-01Z") }
        try await ground.earn(1, 900, at: "2026-08-01Z", currency: "USD")
        try await ground.session.script("DELETE FROM payouts.payees WHERE person_id = 2")
        try await ground.close("2026-Q3")
        try await ground.issue(try await ground.payout(of: 3))
        try await ground.earn(1, 70, at: "2026-10-05Z")
        try await ground.earn(3, 70, at: "2026-10-05Z")

        #expect(try await forfeit(ground, 1, "f1") == ["CAD 570", "USD 900"])
        #expect(try await forfeit(ground, 2, "f2") == ["CAD 500"])
        #expect(try await forfeit(ground, 3, "f3") == ["CAD 70"])
        #expect(
            try await ground.payouts("2026-Q3") == [
                "1 500 void: given up", "1 900 void: given up", "2 500 void: given up",
                "3 500 issued",
            ])
        try await ground.earn(1, 30, at: "2026-10-06Z")
        #expect(try await forfeit(ground, 1, "f1") == ["CAD 570", "USD 900"])
        #expect(try await ground.balance(1) == 30)
        #expect(try await forfeit(ground, 2, "another") == [])
        #expect(try await ground.faults() == [])
        #expect(
            try await ground.session.query(
                """
                SELECT string_agg(amount || ' ' || currency, ', ' ORDER BY currency) FROM (
                    SELECT a.currency, sum(b.amount) AS amount
                    FROM ledger.accounts a JOIN ledger.balances b ON b.account_id = a.id
                    WHERE a.kind = 'forfeited' GROUP BY 1) AS x
                """
            ).text(0, 0) == "1140 CAD, 900 USD")
    }

    @Test func `of the same request at once one gives up, and all answer alike`() async throws {
        let ground = try await QuarterGround(people: 1)
        try await ground.earn(1, 500, at: "2026-08-01Z")
        let answers = try await withThrowingTaskGroup(of: [String].self) { group in
            for _ in 0..<8 { group.addTask { try await forfeit(ground, 1, "at once") } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers == Array(repeating: ["CAD 500"], count: 8))
        #expect(try await ground.balance(1) == 0)
        #expect(try await ground.faults() == [])
    }

    @Test func `a request is of one person, and a person must be known`() async throws {
        let ground = try await QuarterGround(people: 2)
        #expect(try await forfeit(ground, 1, "r") == [])
        for (person, request, state) in [(2, "r", "23505"), (99, "s", "23503"), (1, "", "22023")] {
            do {
                _ = try await forfeit(ground, Int64(person), request)
                Issue.record("\(request) of \(person) was taken")
            } catch let error as PostgresError {
                #expect(error.sqlState == state)
            }
        }
    }

    @Test func `an erased person's forfeit is kept by id and named in the certificate`()
        async throws
    {
        let ground = try await QuarterGround(people: 1)
        try await ground.earn(1, 500, at: "2026-08-01Z")
        try await ground.close("2026-Q3")
        _ = try await ground.session.query("SELECT people.request_erasure(1, 'e1')")
        #expect(try await forfeit(ground, 1, "f1") == ["CAD 500"])
        let kept = try await ground.session.query(
            """
            SELECT rows FROM payouts.erase(1) WHERE object = 'payouts.forfeits' AND action = 'kept'
            """)
        #expect(try kept.int64(0, 0) == 1)
        #expect(
            try await ground.session.query(
                "SELECT payouts.personal_data(1) #>> '{forfeits,0,amounts,0,amount}'"
            ).text(0, 0) == "500")
        #expect(try await ground.faults() == [])
    }
}
