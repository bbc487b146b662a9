import ErrandPostgres
import ErrandSurveys
import ErrandTestServices
import Testing

@Suite("Rights on surveys", .database) struct SurveyRightsTests {
    private func isDenied(_ statement: String, _ session: Session) async throws -> Bool {
        do throws(PostgresError) {
            _ = try await session.query(statement)
            return false
        } catch { return error.sqlState == "42501" }
    }

    @Test func `an app calls what is meant for it, and reads no table`() async throws {
        let ground = try await SurveyGround()
        try await ground.put()
        let (app, _) = try await TestDatabase.here().login(as: "errand_app")
        let names = try await ground.session.query(
            """
            SELECT p.proname::text FROM pg_proc p
            WHERE p.pronamespace = 'surveys'::regnamespace
              AND has_function_privilege('errand_app', p.oid, 'EXECUTE') ORDER BY 1
            """
        ).map { try $0.text(0) }
        #expect(
            names == [
                "close_survey", "complete", "invite", "listing", "put_survey", "questions_of",
                "scan",
            ])
        let invitation = try await app.query(
            "SELECT invitation_id FROM surveys.invite(1, 1, 'x', 'r')"
        ).int64(0, 0)
        #expect(try await app.query("SELECT * FROM surveys.listing(1)").count == 1)
        #expect(
            try await app.query("SELECT * FROM surveys.questions_of($1, 1)", [.int64(invitation)])
                .count == 5)
        #expect(
            try await app.query(
                "SELECT reason FROM surveys.complete(1, $1, '{\"1\": 5}', 100, 'r')",
                [.int64(invitation)]
            ).text(0, 0) == "ok")
        #expect(
            try await app.query("SELECT reason FROM surveys.scan(1, 'x', 's')").text(0, 0)
                == "malformed")
        for table in try await ground.texts(
            "SELECT c.oid::regclass::text FROM pg_class c "
                + "WHERE c.relnamespace = 'surveys'::regnamespace AND c.relkind = 'r'")
        {
            #expect(try await isDenied("SELECT FROM \(table)", app), "\(table)")
            #expect(try await isDenied("DELETE FROM \(table)", app), "\(table)")
        }
        for call in [
            "surveys.scan_at(1, 'x', 'r', now())", "surveys.respondent(1, 1)", "surveys.erase(1)",
            "surveys.complete_at(1, 1, '{}', 1, 'r', now())", "surveys.expire(1)",
            "surveys.review(1, 'good', 'x')", "surveys.personal_data(1)", "surveys.sample(1)",
            "surveys.is_genuine(1, 'x', 'x', now())",
        ] { #expect(try await isDenied("SELECT \(call)", app), "\(call)") }
        await app.close()
    }

    @Test func `an inspector reads no answers and no keys`() async throws {
        let ground = try await SurveyGround()
        try await ground.put()
        try await ground.complete(ground.invitation())
        let (inspector, _) = try await TestDatabase.here().login(as: "errand_inspector")
        for columns in [
            "answers FROM surveys.completions", "request_id FROM surveys.completions",
            "request_id FROM surveys.invitations", "hash FROM surveys.receipts",
            "sealed FROM surveys.receipt_keys", "inner_block FROM surveys.open_receipt_keys",
            "outer_block FROM surveys.open_receipt_keys", "key FROM surveys.respondent_keys",
            "surveys.respondent(1, 1)", "surveys.is_genuine(1, 'x', 'x', now())",
            "note FROM surveys.reviews",
        ] { #expect(try await isDenied("SELECT \(columns)", inspector), "\(columns)") }
        #expect(
            try await SurveyRows(session: inspector).waiting(
                flagged: false, establishment: nil, behind: nil, limit: 5
            ).isEmpty)
        #expect(
            try await inspector.query(
                "SELECT invitation_id, person_id, state FROM surveys.completions"
            ).count == 1)
        await inspector.close()
    }

    @Test func `a worker sweeps, samples and reviews, and makes keys`() async throws {
        let ground = try await SurveyGround()
        try await ground.put()
        let invitation = try await ground.invitation()
        try await ground.complete(invitation)
        let (worker, _) = try await TestDatabase.here().login(as: "errand_worker")
        for call in [
            "surveys.expire(9)", "surveys.sample(9)",
            "surveys.review(\(invitation), 'good', 'Olga')",
            "surveys.missing_keys()", "surveys.closed_keys()", "surveys.delete_keys()",
            "surveys.put_key(1, 2, '\\x00', decode(repeat('00', 64), 'hex'), "
                + "decode(repeat('00', 64), 'hex'))",
        ] { #expect(try await !isDenied("SELECT \(call)", worker), "\(call)") }
        for statement in [
            "SELECT key FROM surveys.respondent_keys", "DELETE FROM surveys.receipts",
            "UPDATE surveys.versions SET cut = 1", "UPDATE surveys.rules SET scans_a_day = 99",
            "DELETE FROM surveys.questions", "UPDATE surveys.completions SET answers = '{}'",
            "DELETE FROM surveys.invitations", "DELETE FROM surveys.reviews",
            "UPDATE surveys.scan_days SET wrong = 0",
        ] { #expect(try await isDenied(statement, worker), "\(statement)") }
        await worker.close()
    }
}
