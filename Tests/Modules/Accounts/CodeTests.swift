import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Codes that prove an address", .database) struct CodeTests {
    // "Nothing issues, hashes, limits or checks codes".
    @Test func `a code signs its person in, once`() async throws {
        let ground = try await AccountGround()
        let code = try await ground.code("ANN@example.org", request: "1")
        #expect(code.count == 6)
        #expect(try await ground.check(AccountGround.other(than: code)) == "wrong 4")
        let spaced = "\(code.prefix(3)) \(code.suffix(3))"
        #expect(try await ground.check(spaced, request: "a") == "ok 1")
        // The answer was lost.
        #expect(try await ground.check(code, request: "a") == "ok 1")
        #expect(try await ground.check(code, request: "b") == "used")
        #expect(try await ground.check("12345") == "malformed")
        #expect(try await ground.check(code, "else@example.org") == "not_issued")
        #expect(try await ground.check(code, "ann@example.org", "verify_address") == "not_issued")
    }

    @Test func `codes expire after 10 minutes by the clock of the database`() async throws {
        let ground = try await AccountGround()
        let code = try await ground.code(request: "1")
        let minutes = try await ground.number(
            """
            SELECT (extract(epoch FROM expires_at - requested_at) / 60)::bigint
            FROM accounts.codes
            """)
        #expect(minutes == 10)
        #expect(try await ground.check(code, after: "10 minutes 1 second") == "expired")
        #expect(try await ground.check(code, after: "9 minutes") == "ok 1")
    }

    @Test func `five wrong codes end a code, and the right one is refused too`() async throws {
        let ground = try await AccountGround()
        let code = try await ground.code(request: "1")
        for left in [4, 3, 2, 1, 0] {
            let wrong = AccountGround.other(than: code, left)
            #expect(try await ground.check(wrong) == "wrong \(left)")
        }
        #expect(try await ground.check(code) == "locked 0")
        let next = try await ground.code(request: "2")
        #expect(try await ground.check(next) == "ok 1")
    }

    @Test func `five wrong codes end a code also if each is rolled back`() async throws {
        let ground = try await AccountGround()
        let code = try await ground.code(request: "1")
        let wrong = AccountGround.other(than: code)
        try await ground.session.script("BEGIN")
        for left in [4, 3, 2] {
            try await ground.session.script("SAVEPOINT attempt")
            #expect(try await ground.check(wrong) == "wrong \(left)")
            try await ground.session.script("ROLLBACK TO attempt")
        }
        try await ground.session.script("ROLLBACK")
        #expect(try await ground.check(wrong) == "wrong 1")
        try await ground.session.script("BEGIN")
        #expect(try await ground.check(wrong) == "wrong 0")
        try await ground.session.script("ROLLBACK")
        #expect(try await ground.check(code) == "locked 0")
        // The row knows of those before the one that was committed.
        #expect(try await ground.number("SELECT tries FROM accounts.codes") == 4)
    }

    @Test func `other codes do not bring a rolled-back count down`() async throws {
        let ground = try await AccountGround()
        let code = try await ground.code(request: "1")
        let wrong = AccountGround.other(than: code)
        try await ground.session.script("UPDATE accounts.rules SET codes = 1000")
        for _ in 0..<4 {
            try await ground.session.script("BEGIN")
            _ = try await ground.check(wrong)
            try await ground.session.script("ROLLBACK")
        }
        // More of them than there are counters, and all rolled back.
        try await ground.session.script(
            """
            DO $$
            BEGIN
                FOR n IN 1..300 LOOP
                    PERFORM accounts.issue_code('n' || n || '@example.org', 'sign_in', 'account',
                        'n' || n);
                END LOOP;
            END $$;
            DO $$
            BEGIN
                FOR n IN 1..300 LOOP
                    BEGIN
                        PERFORM accounts.check_code('n' || n || '@example.org', 'sign_in',
                            '000000', 'account', 'n');
                        RAISE EXCEPTION 'rolled back';
                    EXCEPTION WHEN raise_exception THEN
                        NULL;
                    END;
                END LOOP;
            END $$
            """)
        #expect(try await ground.check(wrong) == "wrong 0")
        #expect(try await ground.check(code) == "locked 0")
        // A code without a free counter is refused, right or wrong: none has more than five tries.
        let refused = try await ground.number(
            """
            SELECT count(*) FROM accounts.codes
            WHERE accounts.tries_of(id, tries, clock_timestamp()) IS NULL
            """)
        #expect(refused > 100)
        let rolledBack = try await ground.number("SELECT accounts.rolled_back()")
        #expect((64...128).contains(rolledBack))
        let next = try await ground.code(request: "2")
        let answer = try await ground.check(next)
        #expect(["ok 1", "locked 0"].contains(answer))
    }

    @Test func `committed wrong codes of many leave the counters free`() async throws {
        let ground = try await AccountGround()
        try await ground.session.script(
            """
            SELECT accounts.issue_code('n' || n || '@example.org', 'sign_in', 'account', 'n' || n)
            FROM generate_series(1, 300) n;
            """)
        // Each in a transaction of its own; each has its five tries.
        for n in 1...300 where n % 3 == 0 {
            #expect(try await ground.check("000000", "n\(n)@example.org") == "wrong 4")
        }
        let least = try await ground.number(
            "SELECT min(5 - accounts.tries_in(id)) FROM accounts.codes")
        #expect(least == 4)
    }

    // "Nothing issues, hashes, limits or checks codes".
    @Test func `at most five codes an hour go to an address, and the answer says when again`()
        async throws
    {
        let ground = try await AccountGround()
        for number in 1...5 {
            #expect(try await ground.issue(request: "\(number)").reason == "ok")
        }
        let refused = try await ground.issue("ANN@EXAMPLE.ORG", "verify_address", request: "6")
        #expect(refused.reason == "too_many_for_address" && refused.expiresAt == nil)
        let first = try await ground.session.query(
            "SELECT min(requested_at) + interval '1 hour' FROM accounts.codes"
        ).first?.timestamp(0)
        #expect(refused.askAgainAt == first)
        #expect(try await ground.issue("bob@example.org", request: "7").reason == "ok")
        #expect(try await ground.issue(request: "8", after: "61 minutes").reason == "ok")
    }

    @Test func `eight requests at once for an address get no more than five codes`() async throws {
        let ground = try await AccountGround()
        let reasons = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<8 {
                group.addTask { try await ground.issue(request: "\(number)").reason }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(reasons.count { $0 == "ok" } == 5)
        #expect(reasons.count { $0 == "too_many_for_address" } == 3)
        let open = try await ground.number(
            "SELECT count(*) FROM accounts.codes WHERE ended_at IS NULL")
        #expect(open == 1)
    }

    @Test func `a caller that asks for many addresses has to wait`() async throws {
        let ground = try await AccountGround()
        try await ground.session.script("UPDATE accounts.rules SET codes_of_caller = 3")
        for number in 1...3 {
            let answer = try await ground.issue(
                "n\(number)@example.org", request: "\(number)", caller: "net")
            #expect(answer.reason == "ok")
        }
        let refused = try await ground.issue("n4@example.org", request: "4", caller: "net")
        #expect(refused.reason == "too_many_for_caller" && refused.askAgainAt != nil)
        #expect(try await ground.issue("n4@example.org", request: "4", caller: "x").reason == "ok")
    }

    @Test func `a new code ends the earlier one`() async throws {
        let ground = try await AccountGround()
        let old = try await ground.code(request: "1")
        let new = try await ground.code(request: "2")
        if old != new { #expect(try await ground.check(old) == "wrong 4") }
        #expect(try await ground.check(new) == "ok 1")
        let ends = try await ground.texts("SELECT end_reason FROM accounts.codes ORDER BY id")
        #expect(ends == ["replaced", "used"])
    }

    @Test func `a repeated request is answered the same and sends nothing`() async throws {
        let ground = try await AccountGround()
        let first = try await ground.issue(request: "1")
        #expect(try await ground.issue(request: "1") == first)
        try await ground.work()
        #expect(try await ground.number("SELECT count(*) FROM notification.notices") == 1)
        let other = "SELECT accounts.issue_code($1, $2, 'account', '1')"
        let (ann, bob) = (Parameter.text("ann@example.org"), Parameter.text("bob@example.org"))
        #expect(try await ground.refusal(other, [bob, .text("sign_in")]) == "23505")
        #expect(try await ground.refusal(other, [ann, .text("verify_address")]) == "23505")
        let bad = Parameter.text("no address")
        #expect(try await ground.refusal(other, [bad, .text("sign_in")]) == "22023")
        #expect(try await ground.refusal(other, [ann, .text("sign_up")]) == "22023")
    }

    // "Nobody can sign in while a stranger enters wrong codes".
    @Test func `wrong codes of another session count nothing where the app names the request`()
        async throws
    {
        let ground = try await AccountGround()
        let code = try await ground.code(request: "of-ann")
        for number in 0..<9 {
            let guess = AccountGround.other(than: code, number)
            #expect(try await ground.check(guess, issued: "of-a-stranger") == "not_issued")
        }
        #expect(try await ground.check(code, issued: "of-a-stranger") == "not_issued")
        let wrong = AccountGround.other(than: code)
        #expect(try await ground.check(wrong, issued: "of-ann") == "wrong 4")
        #expect(try await ground.check(code, issued: "of-ann") == "ok 1")
        #expect(try await ground.check(code, issued: "of-ann") == "ok 1")
        let newer = try await ground.code(request: "newer")
        #expect(try await ground.check(newer, issued: "of-ann") == "used")
        _ = try await ground.code(request: "newest")
        #expect(try await ground.check(newer, issued: "newer") == "expired")
        let answer = try await ground.texts(
            """
            SELECT reason FROM accounts.check_code('ann@example.org', 'sign_in', '000000',
                'account', 'c', issued => 'of-a-stranger')
            """)
        #expect(answer == ["not_issued"])
    }

    @Test func `an address of nobody is verified by a code`() async throws {
        let ground = try await AccountGround()
        let code = try await ground.code("new@example.org", "verify_address", request: "1")
        #expect(try await ground.check(code, "new@example.org", "verify_address") == "ok")
        #expect(try await ground.number("SELECT count(*) FROM notification.direct_mails") == 1)
    }

    @Test func `people who are blocked or under 16 get no code`() async throws {
        let ground = try await AccountGround()
        let code = try await ground.code(request: "0")
        try await ground.session.script(
            """
            UPDATE people.people SET blocked_at = now() WHERE id = 1;
            UPDATE people.people SET birth_date = current_date - 5000 WHERE id = 2
            """)
        #expect(try await ground.check(code) == "expired")
        for (address, request) in [("ann@example.org", "1"), ("bob@example.org", "2")] {
            #expect(try await ground.issue(address, request: request).reason == "ok")
            #expect(
                try await ground.issue(address, "verify_address", request: "v\(request)").reason
                    == "ok")
        }
        try await ground.work()
        #expect(try await ground.number("SELECT count(*) FROM notification.notices") == 1)
        #expect(try await ground.number("SELECT count(*) FROM notification.direct_mails") == 0)
    }

    @Test func `a crash or a dump loses the key, and codes count as expired`() async throws {
        let ground = try await AccountGround()
        let code = try await ground.code(request: "1")
        _ = try await ground.issue("nobody@example.org", request: "2")
        // What an unlogged table is after a crash.
        try await ground.session.script("TRUNCATE accounts.code_keys")
        #expect(try await ground.check(code) == "expired")
        #expect(try await ground.check(code, "nobody@example.org") == "expired")
        let next = try await ground.code(request: "3")
        #expect(try await ground.check(next) == "ok 1")
    }
}
