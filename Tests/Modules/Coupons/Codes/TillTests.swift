import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("At the till", .database) struct TillTests {
    /// What a till gets to know, by the present time.
    struct Answer: Sendable, Equatable {
        var reason: String
        var isAccepted: Bool
        var confirmation: String?
        var redeemedAt: Instant?
    }

    private func answer(_ rows: Rows) throws -> Answer {
        let row = try #require(rows.first)
        return Answer(
            reason: try row.text("reason"), isAccepted: try row.bool("is_accepted"),
            confirmation: try row.optionalText("confirmation"),
            redeemedAt: try row.optionalTimestamp("redeemed_at"))
    }

    private func redeem(
        _ code: String?, _ ground: CodeGround, terminal: String = "till", request: String = "1",
        shop: Int64? = nil, by session: Session? = nil
    ) async throws -> Answer {
        try answer(
            await (session ?? ground.town.session).query(
                "SELECT * FROM coupons.redeem($1, $2, $3, $4)",
                [
                    .text(try #require(code)), .int64(shop ?? ground.shop), .text(terminal),
                    .text(request),
                ]))
    }

    private func verify(
        _ code: String?, _ ground: CodeGround, terminal: String = "till", shop: Int64? = nil
    ) async throws -> Answer {
        try answer(
            await ground.town.session.query(
                "SELECT * FROM coupons.verify($1, $2, $3)",
                [.text(try #require(code)), .int64(shop ?? ground.shop), .text(terminal)]))
    }

    /// The codes that the person's app shows now.
    private func shown(_ ground: CodeGround) async throws -> (payload: String?, typed: String?) {
        let rows = try await ground.town.session.query(
            "SELECT * FROM coupons.code($1, $2)", [.int64(ground.coupon), .int64(ground.person)])
        return (try rows.first?.optionalText("payload"), try rows.first?.optionalText("typed"))
    }

    @Test("it is redeemed once, and the same request again is confirmed as before")
    func once() async throws {
        let ground = try await CodeGround()
        try await ground.rotate(at: nil)
        let code = try await shown(ground).payload
        #expect(try await verify(code, ground) == Answer(reason: "ok", isAccepted: true))
        let first = try await redeem(code, ground)
        #expect(first.isAccepted && first.reason == "ok")
        #expect(try #require(first.confirmation).count == 9)
        #expect(try await redeem(code, ground) == first)
        // The same request with what is no code of the coupon's is a guess.
        let wrong = try #require(code?.dropLast(16)) + String(repeating: "0", count: 16)
        #expect(try await redeem(String(wrong), ground).reason == "unknown")
        #expect(try await redeem(code.map { "\($0)\r\n" }, ground) == first)
        // Whenever it comes: the code has turned and its secret is gone.
        try await ground.rotate(at: nil, replacing: true)
        #expect(try await redeem(code, ground) == first)
        for (terminal, request) in [("till", "2"), ("other", "1")] {
            let late = try await redeem(code, ground, terminal: terminal, request: request)
            #expect(late == Answer(reason: "too_old", isAccepted: false))
        }
        #expect(try await ground.town.jobs("coupons.redeemed").count == 1)
        let state = try await ground.town.session.query(
            "SELECT state FROM coupons.code($1, $2)",
            [.int64(ground.coupon), .int64(ground.person)])
        #expect(try state.text(0, 0) == "redeemed")
    }

    @Test func `a coupon counts once for the person's badges, when it is redeemed`() async throws {
        let ground = try await CodeGround()
        try await ground.rotate(at: nil)
        let code = try await shown(ground).payload
        func badges() async throws -> [String] {
            try await ground.town.session.query(
                """
                SELECT concat_ws(' ', kind, level, progress) FROM badges.of_person($1)
                WHERE kind = 'coupons_used'
                """, [.int64(ground.person)]
            ).map { try $0.text(0) }
        }
        _ = try await verify(code, ground)
        #expect(
            try await redeem(code, ground, shop: try await ground.town.establishment())
                .isAccepted == false)
        #expect(try await badges() == ["coupons_used 0"])
        for request in ["1", "1", "2"] { _ = try await redeem(code, ground, request: request) }
        #expect(try await badges() == ["coupons_used 1 1"])
        // The recount finds the same.
        let found = try await ground.town.session.query(
            "SELECT corrected, awarded FROM badges.recount(0, $1)", [.int64(ground.person)])
        #expect(try found.int64(0, 0) == 0 && found.int64(0, 1) == 0)
        let deeds = try await ground.town.session.query(
            "SELECT deeds FROM coupons.deeds('coupon_used', 0, $1)", [.int64(ground.person)])
        #expect(try deeds.map { try $0.int64(0) } == [1])
        let others = try await ground.town.session.query(
            "SELECT deeds FROM coupons.deeds('survey_done', 0, $1)", [.int64(ground.person)])
        #expect(others.isEmpty)
    }

    @Test("who comes second is told when the first one was")
    func second() async throws {
        let ground = try await CodeGround()
        try await ground.rotate(at: nil)
        let code = try await shown(ground)
        let first = try await redeem(code.typed, ground)
        let second = try await redeem(code.payload, ground, terminal: "other")
        #expect(second.reason == "redeemed" && !second.isAccepted)
        #expect(second.redeemedAt == first.redeemedAt)
        #expect(second.confirmation == nil)
    }

    @Test("of many terminals at once one wins, and a request that is sent twice at once is one")
    func race() async throws {
        let ground = try await CodeGround()
        try await ground.rotate(at: nil)
        let code = try await shown(ground).payload
        let pool = try TestDatabase.here().pool(12)
        let answers = try await withThrowingTaskGroup(of: (Int, Answer).self) { group in
            for terminal in 0..<24 {
                for _ in 0..<2 {
                    group.addTask {
                        let answer = try await pool.withSession { session in
                            try await redeem(
                                code, ground, terminal: "till \(terminal)", by: session)
                        }
                        return (terminal, answer)
                    }
                }
            }
            return try await group.reduce(into: [(Int, Answer)]()) { $0.append($1) }
        }
        await pool.close()
        let accepted = answers.filter { $0.1.isAccepted }
        #expect(accepted.count == 2)
        #expect(Set(accepted.map { $0.0 }).count == 1)
        #expect(Set(accepted.map { $0.1.confirmation }).count == 1)
        #expect(answers.allSatisfy { $0.1.isAccepted || $0.1.reason == "redeemed" })
        #expect(try await ground.town.jobs("coupons.redeemed").count == 1)
    }

    @Test("a transaction that is undone has redeemed nothing")
    func undone() async throws {
        let ground = try await CodeGround()
        try await ground.rotate(at: nil)
        let code = try await shown(ground).payload
        try await ground.town.session.script("BEGIN")
        #expect(try await redeem(code, ground).isAccepted)
        try await ground.town.session.script("ROLLBACK")
        #expect(try await redeem(code, ground, terminal: "other").isAccepted)
    }

    @Test("typed codes are read as people write them")
    func typed() async throws {
        let ground = try await CodeGround()
        try await ground.rotate(at: nil)
        let code = try #require(try await shown(ground).typed)
        let plain = code.filter { $0 != "-" }
        let misread =
            String(plain.dropLast()).replacing("0", with: "o").replacing("1", with: "l")
            + plain.suffix(1)
        for way in [
            code.lowercased(), plain, " \(code) ", plain.map(String.init).joined(separator: " "),
            misread, misread.uppercased(), plain.replacing("1", with: "I"), "\(code)\r\n",
            code.replacing("-", with: "\u{2013}"), code.replacing("-", with: "\u{A0}"),
        ] { #expect(try await verify(way, ground).reason == "ok", "\(way)") }
        // Every wrong character is found before anything is looked up.
        for place in plain.indices.dropLast() {
            var wrong = plain
            wrong.replaceSubrange(place...place, with: plain[place] == "7" ? "8" : "7")
            #expect(try await verify(wrong, ground).reason == "mistyped")
        }
        #expect(try await ground.town.number("SELECT count(*) FROM coupons.guesses") == 0)
    }

    @Test(
        "what is no code is said to be none",
        arguments: [
            "", " ", "EC1", "hello", "EC1ABC", "12345678901234567890", "0000-0000-0000",
            "https://example.org", "EC1\(String(repeating: "U", count: 35))", "💸",
            String(repeating: "0", count: 100_000), "'; DROP TABLE coupons.coupons; --",
        ])
    func malformed(code: String) async throws {
        let ground = try await CodeGround()
        try await ground.rotate(at: nil)
        #expect(try await verify(code, ground).reason == "malformed")
        #expect(try await redeem(code, ground).reason == "malformed")
    }

    @Test func `a scanned code is read with hyphens and letters for digits, and is no guess`()
        async throws
    {
        let ground = try await CodeGround()
        try await ground.rotate(at: nil)
        let code = try #require(try await shown(ground).payload)
        let written =
            "E-"
            + code.dropFirst().lowercased().replacing("0", with: "o")
            .replacing("1", with: "l") + "\u{00A0}"
        for _ in 0..<12 { #expect(try await verify(written, ground).reason == "ok") }
        #expect(try await redeem(written, ground).isAccepted)
        #expect(
            try await ground.town.session.query("SELECT count(*) FROM coupons.guesses").int64(0, 0)
                == 0)
    }

    @Test("the reason is told of codes that are right, and of no others")
    func reasons() async throws {
        let ground = try await CodeGround()
        try await ground.rotate(at: nil)
        let code = try #require(try await shown(ground).payload)
        let elsewhere = try await ground.town.establishment()
        #expect(try await verify(code, ground, shop: elsewhere).reason == "wrong_place")
        for (change, reason) in [
            ("voided_at = now()", "voided"),
            ("voided_at = NULL, expires_at = now()", "expired"),
            ("expires_at = '2099-01-01', valid_from = '2098-01-01'", "not_yet_valid"),
        ] {
            try await ground.town.run("UPDATE coupons.coupons SET \(change)")
            #expect(try await verify(code, ground).reason == reason)
            #expect(try await redeem(code, ground).reason == reason)
            let wrong = String(code.dropLast()) + (code.hasSuffix("0") ? "1" : "0")
            #expect(try await verify(wrong, ground, terminal: reason).reason == "unknown")
        }
        #expect(try await ground.town.number("SELECT count(*) FROM coupons.redemptions") == 0)
    }

    @Test("who guesses typed codes is locked out, first the terminal, then new ones at the place")
    func guesses() async throws {
        let ground = try await CodeGround()
        try await ground.rotate(at: 0)
        let (code, typed) = try await codes(ground, of: ground.coupon, at: 0)
        let others = try await ground.coupons(100, at: ground.shop)
        for (number, other) in others.enumerated() {
            let wrong = try await ground.wrong(codes(ground, of: other, at: 0).typed)
            let terminal = "\(number / 10)"
            #expect(try await ground.answer(to: wrong, at: 0, terminal: terminal) == "unknown")
            if number % 10 == 9 {
                let locked = try await ground.answer(to: typed, at: 0, terminal: terminal)
                #expect(locked == "too_many_guesses")
            }
        }
        #expect(try await ground.answer(to: typed, at: 0, terminal: "new") == "too_many_guesses")
        // Nobody guesses what is scanned: all there go on with that.
        for terminal in ["0", "new"] {
            #expect(try await ground.answer(to: code, at: 0, terminal: terminal) == "ok")
        }
        // The terminals elsewhere go on with both.
        let elsewhere = try await ground.town.establishment()
        #expect(try await ground.answer(to: code, at: 0, shop: elsewhere) == "wrong_place")
        let theirs = try await ground.coupons(1, at: elsewhere)[0]
        let good = try await codes(ground, of: theirs, at: 0).typed
        #expect(try await ground.answer(to: good, at: 0, shop: elsewhere, terminal: "0") == "ok")
        // The next five minutes begin anew.
        #expect(try await ground.answer(to: typed, at: 299, terminal: "0") == "too_many_guesses")
        #expect(try await ground.answer(to: typed, at: 300, terminal: "0") == "ok")
        let alerts = try await ground.town.session.query(
            "SELECT guesses, terminal FROM coupons.alerts WHERE establishment_id = $1",
            [.int64(ground.shop)])
        #expect(alerts.count == 1)
        #expect(try alerts.first?.int32("guesses") == 30)
        #expect(try alerts.first?.text("terminal") == "2")
    }

    private func codes(
        _ ground: CodeGround, of coupon: Int64, at second: Int64
    ) async throws -> (payload: String, typed: String) {
        let codes = try await ground.codes(at: second, of: coupon)
        return (try #require(codes.payload), try #require(codes.typed))
    }

    @Test("the functions say what they need")
    func needs() async throws {
        let ground = try await CodeGround()
        for call in [
            "verify('x', NULL, 'till')", "verify('x', 1, NULL)", "verify('x', 1, '')",
            "redeem('x', 1, 'till', NULL)", "redeem('x', 1, 'till', '')",
            "redeem('x', 1, repeat('x', 101), 'r')", "verify('x', 99, 'till')",
            "redeem('x', 99, 'till', 'r')",
        ] {
            await #expect(throws: PostgresError.self, "\(call)") {
                try await ground.town.run("SELECT coupons.\(call)")
            }
        }
        let rows = try await ground.town.session.query("SELECT * FROM coupons.verify(NULL, 1, 't')")
        #expect(try rows.first?.text("reason") == "malformed")
    }
}
