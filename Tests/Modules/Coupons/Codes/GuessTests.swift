import ErrandCoupons
import Foundation
import Errand
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

/// What a hacked till learns, with the login of tills and all that PostgreSQL lets it do.
@Suite("Guesses at a hacked till", .database) struct GuessTests {
    /// Redeems a coupon at a terminal, and runs the job that then knows the terminal.
    private func introduce(_ ground: CodeGround, terminals: [String]) async throws {
        for terminal in terminals {
            let coupon = try await ground.coupons(1, at: ground.shop)[0]
            let rows = try await ground.town.session.query(
                "SELECT reason FROM coupons.redeem($1, $2, $3, '1')",
                [
                    .text(try await ground.shown(coupon).payload), .int64(ground.shop),
                    .text(terminal),
                ])
            #expect(try rows.text(0, 0) == "ok")
        }
        var kinds = JobKinds()
        CouponKinds.add(to: &kinds, notices: Town.catalogue, sealing: nil)
        _ = try await TestWorker.drain(kinds, queues: [.init("coupons")])
        let known = try await ground.town.session.query(
            "SELECT terminal FROM coupons.terminals ORDER BY terminal"
        ).map { try $0.text(0) }
        #expect(known == terminals.sorted())
    }

    @Test func `3,001 guesses that are rolled back are stopped at the limit, and raise the alert`()
        async throws
    {
        let ground = try await CodeGround()
        try await ground.rotate(at: nil)
        try await introduce(ground, terminals: ["bar"])
        let (till, _) = try await TestDatabase.here().login(as: "errand_till")
        let code = try await ground.shown(ground.coupon)
        let other = try await ground.shown(ground.coupons(1, at: ground.shop)[0])
        // The right code is the last.
        let guesses = try await ground.guesses(of: code.typed)
        #expect(guesses.last == code.typed.filter { $0 != "-" })

        let seen = try await ground.inOnePeriod {
            let answers = try await ground.attack(till, guesses, terminal: "made up")
            // Every other terminal goes on, but for the typed code of this coupon.
            var reasons: [String] = []
            for terminal in ["bar", "new"] {
                for code in [code.typed, code.payload, other.typed, other.payload] {
                    reasons.append(
                        try await ground.reason(
                            till, "verify($1, $2, $3)", code, terminal: terminal))
                }
            }
            return (answers, reasons)
        }
        #expect(seen.0 == ["unknown": 10, "too_many_guesses": 2_991])
        #expect(
            seen.1 == [
                "too_many_guesses", "ok", "ok", "ok", "too_many_guesses", "ok", "ok", "ok",
            ])
        #expect(try await ground.town.number("SELECT count(*) FROM coupons.guesses") == 0)
        #expect(try await ground.town.number("SELECT count(*) FROM coupons.alerts") == 0)

        // The rotation, which runs twice a minute, raises it; once.
        var kinds = JobKinds()
        CouponKinds.add(to: &kinds, notices: Town.catalogue, sealing: ground.keys)
        for _ in 0..<2 {
            try await ground.town.run("SELECT errand.enqueue('coupons.rotate')")
            _ = try await TestWorker.drain(kinds, queues: [.init("coupons")])
        }
        let alerts = try await GuessAlert.list(
            ground.town.session, since: nil, establishment: nil, before: nil, limit: 10)
        #expect(alerts.last?.establishmentID == ground.shop && alerts.last?.guesses == 10)
        #expect(alerts.last?.terminal == nil)
        await till.close()
    }

    @Test func `a known terminal has 10 guesses, of whatever coupons, and the alert names it`()
        async throws
    {
        let ground = try await CodeGround()
        try await ground.rotate(at: nil)
        try await introduce(ground, terminals: ["bar", "desk"])
        let (till, _) = try await TestDatabase.here().login(as: "errand_till")
        var codes: [String] = []
        var wrong: [String] = []
        for coupon in try await ground.coupons(20, at: ground.shop) {
            codes.append(try await ground.shown(coupon).typed)
            wrong.append(try await ground.wrong(codes[codes.count - 1]))
        }
        let seen = try await ground.inOnePeriod {
            let guesses = try await ground.attack(till, wrong, terminal: "bar")
            let others = try await ground.attack(till, codes, terminal: "desk")
            return (guesses, others)
        }
        #expect(seen.0 == ["unknown": 10, "too_many_guesses": 10])
        #expect(seen.1 == ["ok": 20])
        #expect(try await GuessAlert.raise(ground.town.session) >= 1)
        let alerts = try await GuessAlert.list(
            ground.town.session, since: nil, establishment: ground.shop, before: nil, limit: 10)
        #expect(alerts.first?.terminal == "bar")
        await till.close()
    }

    @Test func `a right typed code of another shop is answered and counted like a wrong one`()
        async throws
    {
        let ground = try await CodeGround()
        try await ground.rotate(at: 0)
        let elsewhere = try await ground.town.establishment()
        let right = try #require(try await ground.codes(at: 0).typed)
        let wrong = try await ground.wrong(right)
        func answer(_ code: String, _ terminal: String) async throws -> String {
            try await ground.town.session.query(
                "SELECT coupons.acceptance($1, $2, $3, to_timestamp($4))::text",
                [
                    .text(code), .int64(elsewhere), .text(terminal),
                    .double(Double(CodeGround.start)),
                ]
            ).text(0, 0)
        }
        for number in 0..<5 {
            let same = try await answer(wrong, "\(number)")
            #expect(try await answer(right, "\(number)") == same)
            #expect(same.contains("unknown"))
        }
        // Those were ten of this coupon, also at its own establishment.
        #expect(try await ground.answer(to: right, at: 0) == "too_many_guesses")
        let counted = try await ground.town.session.query(
            """
            SELECT establishment_id, count(*) FROM coupons.guesses
            GROUP BY establishment_id ORDER BY establishment_id
            """
        ).map { [try $0.int64(0), try $0.int64(1)] }
        #expect(counted == [[ground.shop, 10], [elsewhere, 10]])
    }

    @Test func `300 guesses at many shops leave typed codes to the terminals that are known`()
        async throws
    {
        let ground = try await CodeGround()
        try await ground.rotate(at: 0)
        try await ground.town.run("UPDATE coupons.guess_limits SET everywhere = 30")
        try await ground.town.run(
            "INSERT INTO coupons.terminals VALUES ($1, 'bar', 0, to_timestamp($2))",
            [.int64(ground.shop), .double(Double(CodeGround.start) - 29 * 86_400)])
        for _ in 0..<30 {
            let shop = try await ground.town.establishment()
            let coupon = try await ground.coupons(1, at: shop)[0]
            let typed = try #require(try await ground.codes(at: 0, of: coupon).typed)
            let wrong = try await ground.wrong(typed)
            #expect(try await ground.answer(to: wrong, at: 0, shop: shop) == "unknown")
        }
        let codes = try await ground.codes(at: 0)
        for (terminal, expected) in [("bar", "ok"), ("new", "too_many_guesses")] {
            let typed = try await ground.answer(to: codes.typed, at: 0, terminal: terminal)
            #expect(typed == expected)
            #expect(try await ground.answer(to: codes.payload, at: 0, terminal: terminal) == "ok")
        }
    }

    @Test func `once guesses are interrupted before they are counted, they are counted first`()
        async throws
    {
        let ground = try await CodeGround()
        try await ground.rotate(at: 0)
        let typed = try #require(try await ground.codes(at: 0).typed)
        #expect(try await ground.answer(to: typed, at: 0) == "ok")
        // What ten guesses leave whose statements were cancelled after the comparison.
        for _ in 0..<10 {
            try await ground.town.run("SELECT nextval('coupons.guess_counter_0')")
        }
        for _ in 0..<10 { #expect(try await ground.answer(to: typed, at: 0) == "ok") }
        #expect(try await ground.answer(to: typed, at: 0) == "too_many_guesses")
        #expect(try await ground.answer(to: typed, at: 300) == "ok")
    }

    @Test func `in a read-only transaction right and wrong typed codes fail alike`() async throws {
        let ground = try await CodeGround()
        try await ground.rotate(at: nil)
        let (till, _) = try await TestDatabase.here().login(as: "errand_till")
        let code = try await ground.shown(ground.coupon)
        // The first code of a period fails in any case, because it writes.
        let first = try await ground.reason(
            till, "verify($1, $2, $3)", code.typed, terminal: "till")
        #expect(first == "ok")
        let readOnly = "SET default_transaction_read_only = on"
        for typed in [code.typed, try await ground.wrong(code.typed)] {
            // After the refusal, the session looks for a server that accepts writes.
            try await till.script(readOnly)
            let error = await #expect(throws: PostgresError.self) {
                try await ground.reason(till, "verify($1, $2, $3)", typed, terminal: "till")
            }
            #expect(error?.sqlState == "25006")
        }
        try await till.script(readOnly)
        // A scanned code is known, not guessed.
        let scanned = try await ground.reason(
            till, "verify($1, $2, $3)", code.payload, terminal: "till")
        #expect(scanned == "ok")
        await till.close()
    }

    @Test func `an advisory lock does not keep a rotation from being enqueued`() async throws {
        let ground = try await CodeGround()
        let (stranger, _) = try await TestDatabase.here().login(as: "errand_autoscaler")
        _ = try await stranger.query(
            "SELECT pg_advisory_lock(hashtextextended('coupons.ask_for_rotation', 0))")
        // Before the first rotation no code is ready.
        let state = try await ground.town.session.query(
            "SELECT state FROM coupons.code($1, $2)",
            [.int64(ground.coupon), .int64(ground.person)])
        #expect(try state.text(0, 0) == "not_ready")
        #expect(try await ground.town.jobs("coupons.rotate").count == 1)
        await stranger.close()
    }
}
