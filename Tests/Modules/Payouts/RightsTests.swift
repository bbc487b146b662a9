import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Who may do what to payouts", .database) struct RightsTests {
    private func sqlState(_ statement: String, _ session: Session) async throws -> String? {
        do throws(PostgresError) {
            _ = try await session.query(statement)
            return nil
        } catch { return error.sqlState }
    }

    @Test("the app's servers take note of payees and details, and read payouts; no more")
    func app() async throws {
        let ground = try await QuarterGround(people: 1)
        try await ground.earn(1, 500, at: "2026-08-01T12:00:00Z")
        try await ground.close("2026-Q3")
        let (session, _) = try await TestDatabase.here().login(as: "errand_app")
        let sealed = "decode(repeat('01', 40), 'hex')"
        for statement in [
            "SELECT payouts.set_payee(1, 'Zoë', '{Montréal}')",
            "SELECT payouts.set_bank_details(1, 'CA', \(sealed), '…678')",
        ] { #expect(try await sqlState(statement, session) == nil, "\(statement)") }
        let rows = try await session.query("SELECT quarter, amount FROM payouts.of_person(1)")
        #expect(try rows.first?.text("quarter") == "2026-Q3")
        #expect(try rows.first?.int64("amount") == 500)
        #expect(try await session.query("SELECT payouts.forget_bank_details(1)").bool(0, 0))
        for statement in [
            "SELECT * FROM payouts.payouts", "SELECT * FROM payouts.bank_details",
            "SELECT * FROM payouts.items", "SELECT payouts.hold(1, 'x', 'x')",
            "SELECT payouts.approve(1, 'x', 'x')", "SELECT payouts.close_chunk(1, 1)",
            "SELECT payouts.change(1, 'void', 'void', 'x', 'x')",
            "UPDATE payouts.rules SET minimum = 0",
        ] { #expect(try await sqlState(statement, session) == "42501", "\(statement)") }
        for (statement, state) in [
            ("SELECT payouts.set_payee(9, 'Zoë', '{Montréal}')", "23503"),
            ("SELECT payouts.set_payee(1, ' ', '{Montréal}')", "22023"),
            ("SELECT payouts.set_payee(1, 'Zoë', '{}')", "22023"),
            ("SELECT payouts.set_payee(1, 'Zoë', '{{a},{b}}')", "22023"),
            ("SELECT payouts.set_payee(1, 'Zoë', ARRAY[NULL])", "22023"),
            ("SELECT payouts.set_payee(1, 'Zoë', '{a,b,c,d,e}')", "22023"),
            ("SELECT payouts.set_bank_details(1, 'FR', \(sealed), '…678')", "22023"),
            ("SELECT payouts.set_bank_details(1, 'CA', '12345', '…678')", "22023"),
            ("SELECT payouts.set_bank_details(1, 'CA', \(sealed), '1234567')", "22023"),
            ("SELECT payouts.set_bank_details(9, 'CA', \(sealed), '…678')", "23503"),
        ] { #expect(try await sqlState(statement, session) == state, "\(statement)") }
        let (till, _) = try await TestDatabase.here().login(as: "errand_till")
        #expect(try await sqlState("SELECT * FROM payouts.of_person(1)", till) == "42501")
        await session.close()
        await till.close()
    }

    @Test("nobody changes an amount, deletes a payout or a note, or leaps over a state")
    func guards() async throws {
        let ground = try await QuarterGround(people: 1)
        try await ground.earn(1, 500, at: "2026-08-01T12:00:00Z")
        try await ground.close("2026-Q3")
        for statement in [
            "UPDATE payouts.payouts SET amount = 1", "UPDATE payouts.payouts SET person_id = 2",
            "DELETE FROM payouts.payouts", "TRUNCATE payouts.payouts",
            "DELETE FROM payouts.changes", "UPDATE payouts.changes SET actor = 'x'",
        ] {
            #expect(
                try await sqlState(statement, ground.session) == "23001", "\(statement)")
        }
        for state in ["settled", "returned", "reissued"] {
            #expect(
                try await sqlState(
                    "UPDATE payouts.payouts SET state = '\(state)'", ground.session) == "55000")
        }
        for state in ["issued", "settled", "preview"] {
            #expect(
                try await sqlState(
                    "UPDATE payouts.runs SET state = '\(state)'", ground.session) == "55000")
        }
        #expect(
            try await sqlState(
                """
                INSERT INTO payouts.payouts (run_id, person_id, account_id, amount, state,
                    currency) SELECT run_id, person_id, account_id, 5, 'pending', 'CAD'
                FROM payouts.payouts
                """, ground.session) == "23505")
        #expect(try await ground.faults() == [])
    }
}
