import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Roles", .database) struct RoleTests {
    private func isDenied(_ statement: String, _ session: Session) async throws -> Bool {
        do throws(PostgresError) {
            _ = try await session.query(statement)
            return false
        } catch {
            // insufficient_privilege
            return error.sqlState == "42501"
        }
    }

    private let forbidden = [
        "SELECT * FROM coupons.open_secrets", "SELECT * FROM coupons.epochs",
        "SELECT keys FROM coupons.scramble", "SELECT * FROM coupons.coupons",
        "SELECT * FROM coupons.redemptions", "SELECT * FROM coupons.guesses",
        "DELETE FROM coupons.guesses", "UPDATE coupons.guess_limits SET terminal = 1000000",
        "UPDATE coupons.coupons SET redeemed_at = NULL", "DELETE FROM coupons.redemptions",
        "SELECT * FROM coupons.codes_at(1, now())", "SELECT coupons.handle_of(1)",
        "SELECT coupons.coupon_of(1)", "SELECT * FROM coupons.epoch_at('qr', now())",
        "SELECT coupons.read_code('x')", "SELECT coupons.answer_to(NULL, 1, 't', now())",
        "SELECT coupons.acceptance('x', 1, 't', now())", "SELECT coupons.void(1, 'x')",
        "SELECT coupons.record_guess(1, 't', now(), true)", "SELECT * FROM people.people",
        "SELECT nextval('coupons.guess_counter_0')", "SELECT coupons.raise_alerts()",
        "SELECT setval('coupons.guess_counter_0', 1)", "SELECT coupons.count_in(0, 0, 0)",
        "SELECT last_value FROM coupons.guess_counter_0", "SELECT * FROM coupons.terminals",
        "INSERT INTO coupons.terminals VALUES (1, 't', 0, now())",
        "SELECT FROM coupons.rotation_requests FOR UPDATE",
        "SELECT * FROM errand.jobs", "SELECT coupons.state_of(NULL, now())",
        "CREATE TABLE coupons.mine (x int)", "CREATE FUNCTION coupons.f() RETURNS int RETURN 1",
        "SELECT coupons.mac('x', 'x', 'x')",
        "COPY (SELECT 1) TO PROGRAM 'true'", "SET ROLE errand",
    ]

    @Test("the app's servers read codes, and no secret")
    func app() async throws {
        let ground = try await CodeGround()
        try await ground.rotate(at: nil)
        let (session, _) = try await TestDatabase.here().login(as: "errand_app")
        let rows = try await session.query(
            "SELECT * FROM coupons.code($1, $2)", [.int64(ground.coupon), .int64(ground.person)])
        #expect(try rows.first?.text("state") == "usable")
        let granted = try await session.query(
            "SELECT coupons.grant_coupon($1, $2, 'x', now() + interval '1 day', 'survey:1')",
            [.int64(ground.person), .int64(ground.shop)]
        ).int64(0, 0)
        #expect(
            try await session.query(
                "SELECT coupons.star($1, $2)", [.int64(granted), .int64(ground.person)]
            ).bool(0, 0))
        let listed = try await session.query(
            "SELECT id FROM coupons.listing($1)", [.int64(ground.person)]
        ).map { try $0.int64(0) }
        #expect(listed == [granted, ground.coupon])
        _ = try await session.query(
            "SELECT coupons.report_position($1, -73, 45, 10, now())", [.int64(ground.person)])
        for statement in forbidden + [
            "SELECT * FROM coupons.verify('x', 1, 't')",
            "SELECT * FROM coupons.redeem('x', 1, 't', 'r')",
        ] { #expect(try await isDenied(statement, session), "\(statement)") }
        await session.close()
    }

    @Test("tills verify and redeem, and nothing else")
    func till() async throws {
        let ground = try await CodeGround()
        try await ground.rotate(at: nil)
        let code = try #require(
            try await ground.town.session.query(
                "SELECT payload FROM coupons.code($1, $2)",
                [.int64(ground.coupon), .int64(ground.person)]
            ).first?.optionalText("payload"))
        let (session, _) = try await TestDatabase.here().login(as: "errand_till")
        for call in ["verify($1, $2, 't')", "redeem($1, $2, 't', 'r')"] {
            let rows = try await session.query(
                "SELECT reason FROM coupons.\(call)", [.text(code), .int64(ground.shop)])
            #expect(try rows.text(0, 0) == "ok")
        }
        for statement in forbidden + [
            "SELECT * FROM coupons.code(1, 1)", "SELECT * FROM coupons.listing(1)",
            "SELECT coupons.star(1, 1)",
            "SELECT coupons.grant_coupon(1, 1, 'x', now() + interval '1 day', 'x')",
            "SELECT coupons.report_position(1, -73, 45, 10, now())",
        ] { #expect(try await isDenied(statement, session), "\(statement)") }
        await session.close()
    }

    @Test("the two roles may call what is meant for them, and no function that comes later")
    func functions() async throws {
        for (role, allowed) in [
            ("errand_app", ["code", "grant_coupon", "listing", "report_position", "star"]),
            ("errand_till", ["redeem", "verify"]),
        ] {
            let names = try await Town().session.query(
                """
                SELECT p.proname::text FROM pg_proc p
                WHERE p.pronamespace = 'coupons'::regnamespace
                  AND has_function_privilege($1, p.oid, 'EXECUTE')
                ORDER BY 1
                """, [.text(role)]
            ).map { try $0.text(0) }
            #expect(names == allowed)
        }
    }

    @Test("a role of nobody's can do nothing at all")
    func stranger() async throws {
        let ground = try await CodeGround()
        try await ground.town.session.script(
            "DO $$ BEGIN CREATE ROLE stranger NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; "
                + "END $$")
        let (session, _) = try await TestDatabase.here().login(as: "stranger")
        for statement in forbidden + [
            "SELECT * FROM coupons.code(1, 1)", "SELECT * FROM coupons.verify('x', 1, 't')",
        ] { #expect(try await isDenied(statement, session), "\(statement)") }
        await session.close()
    }
}
