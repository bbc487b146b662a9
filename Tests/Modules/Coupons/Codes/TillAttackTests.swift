import ErrandPostgres
import ErrandTestServices
import Testing

/// The same guesses in other spellings: by other functions, other terminals, other connections.
@Suite("Guesses in other spellings", .database) struct TillAttackTests {
    /// Whether a coupon was redeemed, in any way.
    private func redemptions(_ ground: CodeGround) async throws -> Int64 {
        try await ground.town.number(
            """
            SELECT (SELECT count(*) FROM coupons.redemptions)
                + (SELECT count(*) FROM coupons.coupons WHERE redeemed_at IS NOT NULL)
            """)
    }

    @Test(arguments: CodeGround.Spelling.allCases)
    func `3,001 guesses of a coupon are 10, by whatever function and terminal`(
        _ spelling: CodeGround.Spelling
    ) async throws {
        let ground = try await CodeGround()
        try await ground.rotate(at: nil)
        let (till, _) = try await TestDatabase.here().login(as: "errand_till")
        let code = try await ground.shown(ground.coupon)
        let guesses = try await ground.guesses(of: code.typed)
        let seen = try await ground.inOnePeriod {
            let answers = try await ground.attack(till, guesses, by: spelling, terminal: "made up")
            // Nor is the right one accepted afterwards, in a transaction that is committed.
            let late = [
                try await ground.reason(
                    till, "redeem($1, $2, $3, 'late')", code.typed, terminal: "made up"),
                try await ground.reason(
                    till, "redeem($1, $2, $3, 'late')", code.typed, terminal: "another"),
            ]
            return (answers, late)
        }
        #expect(seen.0 == ["unknown": 10, "too_many_guesses": 2_991])
        #expect(seen.1 == ["too_many_guesses", "too_many_guesses"])
        #expect(try await redemptions(ground) == 0)
        await till.close()
    }

    @Test(arguments: [CodeGround.Spelling.strangers, .redeemingStrangers])
    func `one guess of each of 200 coupons, at terminals that are made up, is 100 for a shop`(
        _ spelling: CodeGround.Spelling
    ) async throws {
        let ground = try await CodeGround()
        try await ground.rotate(at: nil)
        let (till, _) = try await TestDatabase.here().login(as: "errand_till")
        let other = try await ground.town.establishment()
        let theirs = try await ground.coupons(1, at: other)[0]
        let seen = try await ground.inOnePeriod {
            var wrong: [String] = []
            for coupon in try await ground.coupons(200, at: ground.shop) {
                wrong.append(try await ground.wrong(ground.shown(coupon).typed))
            }
            let answers = try await ground.attack(till, wrong, by: spelling, terminal: "till ")
            // Another shop goes on.
            let reason = try await ground.reason(
                till, "verify($1, $2, $3)", ground.shown(theirs).typed, shop: other,
                terminal: "till 1")
            return (answers, reason)
        }
        #expect(seen.0 == ["unknown": 100, "too_many_guesses": 100])
        #expect(seen.1 == "ok")
        await till.close()
    }

    @Test func `20 connections at once have one guess each beyond the limit, and no more`()
        async throws
    {
        let ground = try await CodeGround()
        try await ground.rotate(at: nil)
        let (till, login) = try await TestDatabase.here().login(as: "errand_till")
        let url = try TestDatabase.here().url.replacing("//errand@", with: "//\(login)@")
        let code = try await ground.shown(ground.coupon)
        let wrong = Array(try await ground.guesses(of: code.typed, 2_001).dropLast())
        let connections = (0..<20).map { _ in Session(SessionSettings(url, name: "guess")) }
        let seen = try await ground.inOnePeriod {
            // The first guess starts the counters of the period.
            let first = try await ground.attack(till, [wrong[0]], terminal: "first")
            let answers = try await withThrowingTaskGroup(of: [String: Int].self) { group in
                for (place, connection) in connections.enumerated() {
                    let share = Array(wrong[(place * 100)..<(place * 100 + 100)])
                    group.addTask {
                        try await ground.attack(
                            connection, share, by: place % 2 == 0 ? .strangers : .redeem,
                            terminal: "till \(place)")
                    }
                }
                return try await group.reduce(into: first) { $0.merge($1, uniquingKeysWith: +) }
            }
            let right = try await ground.reason(
                till, "verify($1, $2, $3)", code.typed, terminal: "new")
            return (answers, right)
        }
        #expect(seen.0.values.reduce(0, +) == 2_001)
        #expect(Set(seen.0.keys) == ["unknown", "too_many_guesses"])
        #expect(try #require(seen.0["unknown"]) <= 10 + 20, "\(seen.0)")
        #expect(seen.1 == "too_many_guesses")
        for connection in connections { await connection.close() }
        await till.close()
    }

    @Test(arguments: ["verify($1, $2, $3)", "redeem($1, $2, $3, 'r')"])
    func `a till is not told which typed code is right at another shop`(_ call: String)
        async throws
    {
        let ground = try await CodeGround()
        try await ground.rotate(at: nil)
        let elsewhere = try await ground.town.establishment()
        let (till, _) = try await TestDatabase.here().login(as: "errand_till")
        let right = try await ground.shown(ground.coupon).typed
        let guesses = try await ground.guesses(of: right, 6)
        #expect(guesses.last == right.filter { $0 != "-" })
        func answer(_ code: String, _ terminal: String) async throws -> String {
            try await till.query(
                "SELECT a::text FROM coupons.\(call) AS a",
                [.text(code), .int64(elsewhere), .text(terminal)]
            ).text(0, 0)
        }
        let seen = try await ground.inOnePeriod {
            var answers: [String] = []
            for n in 0..<5 {
                answers.append(try await answer(guesses[n], "till \(n)"))
                answers.append(try await answer(right, "till \(n)"))
            }
            // Those were the ten of this coupon: at both shops its typed code is locked.
            let locked = [
                try await answer(right, "new"),
                try await ground.reason(till, "verify($1, $2, $3)", right, terminal: "new"),
            ]
            return (answers, locked)
        }
        #expect(seen.0.count == 10 && Set(seen.0).count == 1)
        #expect(seen.0[0].hasPrefix("(f,unknown,"))
        #expect(seen.1[0].contains("too_many_guesses") && seen.1[1] == "too_many_guesses")
        #expect(try await redemptions(ground) == 0)
        await till.close()
    }
}
