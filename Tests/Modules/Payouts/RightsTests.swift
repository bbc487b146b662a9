import Foundation
import ErrandPayouts
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

    @Test("a worker's login closes a quarter, and neither approves it nor renames a payee")
    func worker() async throws {
        let ground = try await QuarterGround(people: 2)
        for person in [1, 2] as [Int64] {
            try await ground.earn(person, 500, at: "2026-08-01T12:00:00Z")
        }
        let (session, name) = try await TestDatabase.here().login(as: "errand_worker")
        let run = try await session.query(
            """
            SELECT payouts.run_of('2026-Q3', '2026-10-01T04:00:00Z', 'America/Toronto',
                '2026-10-15')
            """
        ).int64(0, 0)
        for statement in [
            "SELECT payouts.preview(\(run), 'x')",
            "SELECT payouts.begin_close(\(run), now(), 1000, 'x')",
            "SELECT payouts.close_chunk(\(run), 1)", "SELECT payouts.end_close(\(run))",
        ] { #expect(try await sqlState(statement, session) == nil, "\(statement)") }
        for statement in [
            "UPDATE payouts.runs SET state = 'approved', approved_at = now(), approved_by = 'x'",
            "UPDATE payouts.runs SET closed_by_login = 'x'", "DELETE FROM payouts.runs",
            "UPDATE payouts.payees SET name = 'Mallory'", "DELETE FROM payouts.payees",
            "INSERT INTO payouts.payees VALUES (1, now(), 'Mallory', '{x}')",
            "UPDATE payouts.payouts SET state = 'void'",
            "UPDATE payouts.payouts SET method = 'aft'",
            "UPDATE payouts.rules SET allows_same = true",
            "INSERT INTO payouts.changes (run_id, action, actor) VALUES (1, 'approve', 'x')",
            "INSERT INTO payouts.issuers (run_id, backend, actor) VALUES (\(run), 1, 'x')",
            "SELECT payouts.claim_issue(\(run), 'x')", "SELECT * FROM payouts.runs FOR UPDATE",
            "SELECT payouts.approve(\(run), 'x', 'x', true)",
            "SELECT payouts.change(1, 'void', 'void', 'x', 'x')",
            "SELECT payouts.note(\(run), 'approve', 'x', NULL, NULL, NULL, NULL, NULL, NULL)",
            "SELECT payouts.set_payee(1, 'Mallory', '{x}')",
            "SELECT payouts.release(1, 'x', 'x')", "SELECT payouts.end_run(\(run), 'x')",
            "SELECT ledger.post('evil', 'reward', '{1,2}', '{-5000000,5000000}')",
            "SELECT ledger.reverse(1, 'x')", "SELECT nextval('payouts.runs_id_seq')",
        ] { #expect(try await sqlState(statement, session) == "42501", "\(statement)") }
        await session.close()
        let writable = try await ground.session.query(
            """
            SELECT c.oid::regclass::text || ' ' || p FROM pg_class c,
                unnest('{INSERT,UPDATE,DELETE,TRUNCATE}'::text[]) p
            WHERE c.relnamespace IN ('payouts'::regnamespace, 'ledger'::regnamespace)
              AND c.relkind IN ('r', 'p', 'v') AND CASE WHEN p IN ('INSERT', 'UPDATE')
                THEN has_any_column_privilege('errand_worker', c.oid, p)
                ELSE has_table_privilege('errand_worker', c.oid, p) END
            """
        ).map { try $0.text(0) }
        #expect(writable == ["ledger.proofs INSERT"])
        let record = try #require(try await ground.run("2026-Q3"))
        #expect(record.state == .closed && record.closedByLogin == name)
        #expect(record.totals.first?.payouts == 2)
        #expect(try await ground.faults() == [])
    }

    @Test("a worker closes no quarter before its end, and moves neither end nor pay date")
    func workersTimes() async throws {
        let ground = try await QuarterGround(people: 1)
        let (session, _) = try await TestDatabase.here().login(as: "errand_worker")
        let zone = "'America/Toronto'"
        for values in [
            "'2026-Q3', '2026-09-30T04:00:00Z', \(zone), '2026-10-15'",
            "'2026-Q3', '2026-10-01T00:00:00Z', 'UTC', '2026-10-15'",
            "'2026-Q4', '2026-10-01T04:00:00Z', \(zone), '2026-10-15'",
            "'2026-Q3', '2026-10-01T04:00:00Z', \(zone), '2026-09-15'",
            "'2026-Q3', '2026-10-01T04:00:00Z', \(zone), '2027-10-15'",
            "'2026-Q5', '2027-04-01T04:00:00Z', \(zone), '2027-04-15'",
            "NULL, '2026-10-01T04:00:00Z', \(zone), '2026-10-15'",
            "'2026-Q3', NULL, \(zone), '2026-10-15'",
        ] {
            #expect(
                try await sqlState("SELECT payouts.run_of(\(values))", session) == "22023",
                "\(values)")
        }
        let later = try await session.query(
            "SELECT payouts.run_of('2126-Q3', '2126-10-01T04:00:00Z', \(zone), '2126-10-15')"
        ).int64(0, 0)
        for (now, size, state) in [
            ("'infinity'", "1000", "23514"), ("'2126-10-01T04:00:00Z'", "1000", "23514"),
            ("NULL", "1000", "23514"), ("now()", "0", "22023"), ("now()", "-1", "22023"),
        ] {
            #expect(
                try await sqlState(
                    "SELECT payouts.begin_close(\(later), \(now), \(size), 'x')", session)
                    == state, "\(now), \(size)")
        }
        await session.close()
        #expect(try await ground.run("2126-Q3")?.closingAt == nil)
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
                    "UPDATE payouts.payouts SET state = '\(state)'", ground.session) == "RU001")
        }
        for state in ["issued", "settled", "preview"] {
            #expect(
                try await sqlState(
                    "UPDATE payouts.runs SET state = '\(state)'", ground.session) == "RU001")
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
