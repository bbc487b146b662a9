import ErrandPostgres
import ErrandTestServices
import Testing

/// "The invitation e-mail has no kind".
@Suite("Invitations", .database) struct InvitationTests {
    private func token(_ ground: AccountGround) async throws -> String {
        try await ground.work()
        let link = try #require(try await ground.secret("link"))
        #expect(link.hasPrefix("example://join/"))
        return String(link.suffix(43))
    }

    @Test func `an invitation is accepted once`() async throws {
        let ground = try await AccountGround()
        let answer = try await ground.invite("New@example.org", request: "1")
        #expect(answer.reason == "ok" && answer.invitation == 1)
        #expect(try await ground.invite("New@example.org", request: "1") == answer)
        let token = try await token(ground)
        let opened = try await ground.texts(
            "SELECT concat_ws(' ', reason, inviter, app) FROM accounts.open_invitation($1)",
            [.text(token)])
        #expect(opened == ["ok 1 account"])
        #expect(try await ground.use(token) == "unknown")
        #expect(try await ground.accept(token, after: "14 days 1 second") == "expired")
        #expect(try await ground.accept(token, after: "13 days") == "ok 1 New@example.org")
        #expect(try await ground.accept(token) == "ok 1 New@example.org")
        #expect(try await ground.accept(token, as: 3) == "used")
    }

    @Test func `the reminder after three days has a link of its own, and both are good`()
        async throws
    {
        let ground = try await AccountGround()
        _ = try await ground.invite("new@example.org", request: "1")
        let first = try await token(ground)
        let waiting = try await ground.number(
            """
            SELECT round(extract(epoch FROM run_at - now()) / 86400)::bigint FROM errand.jobs
            WHERE kind = 'accounts.link'
            """)
        #expect(waiting == 3)
        func send(after: String) async throws -> Bool {
            try await ground.session.query(
                "SELECT accounts.send_link(1, now() + $1::text::interval)", [.text(after)]
            ).bool(0, 0)
        }
        #expect(try await send(after: "2 days") == false)
        #expect(try await send(after: "3 days 1 minute"))
        #expect(try await send(after: "3 days 2 minutes") == false)
        let second = try await token(ground)
        #expect(first != second)
        #expect(try await ground.accept(second) == "ok 1 new@example.org")
        #expect(try await ground.accept(first) == "ok 1 new@example.org")
    }

    // "A reminder that was switched off is sent; one that was moved is never sent".
    @Test func `a reminder follows the rule, also for invitations under way`() async throws {
        let ground = try await AccountGround()
        _ = try await ground.invite("new@example.org", request: "1")
        try await ground.work()
        func send(after: String) async throws -> Bool {
            try await ground.session.query(
                "SELECT accounts.send_link(1, requested_at + $1::text::interval) "
                    + "FROM accounts.links", [.text(after)]
            ).bool(0, 0)
        }
        func waiting() async throws -> [String] {
            try await ground.texts(
                """
                SELECT date_trunc('day', j.run_at - l.requested_at + interval '1 hour')::text
                FROM errand.jobs j, accounts.links l WHERE j.kind = 'accounts.link'
                """)
        }
        #expect(try await waiting() == ["3 days"])
        try await ground.session.script("UPDATE accounts.rules SET remind_after = NULL")
        #expect(try await send(after: "1 minute") == false)
        #expect(try await send(after: "3 days") == false)
        try await ground.session.script("UPDATE accounts.rules SET remind_after = '5 days'")
        // Its job runs, and once more.
        try await ground.session.script("DELETE FROM errand.jobs WHERE kind = 'accounts.link'")
        for _ in 1...2 {
            #expect(try await send(after: "3 days") == false)
            #expect(try await waiting() == ["5 days"])
        }
        #expect(try await send(after: "5 days"))
        #expect(try await ground.number("SELECT count(*) FROM notification.direct_mails") == 2)
    }

    @Test(arguments: [
        ("Ann-Marie O'Neil", true), ("J. R. R. Tolkien", true), ("Dr.-Ing. Müller", true),
        ("\u{639}\u{644}\u{6CC}\u{200C}\u{631}\u{636}\u{627}", true), ("Ann / Bob", true),
        ("Win 500 CAD at evil.example", false), ("evil.example!", false), ("T.CO", false),
        ("www.evil", false), ("https://x", false), ("ann@evil", false), ("<b>Ann</b>", false),
        ("evil\u{3002}example", false), ("1.2.3.44", false), ("Ann\u{202E}moc", false),
        ("A\u{200B}nn", false), ("Ann\u{2028}Win", false), ("Ann\nWin", false), (" ", false),
    ])
    func `the name in the mail to a stranger has no link, address or invisible character`(
        _ name: String, isGood: Bool
    ) async throws {
        let ground = try await AccountGround()
        let state = try await ground.refusal(
            "SELECT accounts.invite(1, $1, 'new@example.org', 'account', '1')", [.text(name)])
        #expect(state == (isGood ? nil : "22023"), "\(name)")
    }

    @Test func `a withdrawn invitation opens nothing and reminds of nothing`() async throws {
        let ground = try await AccountGround()
        _ = try await ground.invite("new@example.org", request: "1")
        let token = try await token(ground)
        #expect(try await ground.withdraw(1, of: 2) == "unknown")
        #expect(try await ground.withdraw(1) == "ok")
        #expect(try await ground.withdraw(1) == "ok")
        #expect(try await ground.accept(token) == "withdrawn")
        let reminds = try await ground.session.query(
            "SELECT accounts.send_link(1, now() + interval '4 days')"
        ).bool(0, 0)
        #expect(reminds == false)
    }

    @Test func `a newer invitation of the same person ends the earlier one, not that of another`()
        async throws
    {
        let ground = try await AccountGround()
        _ = try await ground.invite("new@example.org", request: "1")
        let first = try await token(ground)
        _ = try await ground.invite("new@example.org", by: 2, request: "2")
        let other = try await token(ground)
        _ = try await ground.invite("new@example.org", request: "3")
        #expect(try await ground.accept(first, as: 3) == "replaced")
        #expect(try await ground.accept(other, as: 3) == "ok 2 new@example.org")
    }

    @Test func `limits a day, blocked people and mistakes`() async throws {
        let ground = try await AccountGround()
        try await ground.session.script("UPDATE accounts.rules SET invitations_by_person = 6")
        for number in 1...5 {
            let answer = try await ground.invite("new@example.org", request: "\(number)")
            #expect(answer.reason == "ok")
        }
        let refused = try await ground.invite("new@example.org", by: 2, request: "6")
        #expect(refused.reason == "too_many_for_address")
        #expect(try await ground.invite("x@example.org", request: "7").reason == "ok")
        let more = try await ground.invite("y@example.org", request: "8")
        #expect(more.reason == "too_many_for_inviter" && more.askAgainAt != nil)
        let later = try await ground.invite("y@example.org", request: "8", after: "25 hours")
        #expect(later.reason == "ok")
        let token = try await token(ground)
        try await ground.session.script("UPDATE people.people SET blocked_at = now() WHERE id = 2")
        #expect(try await ground.accept(token, as: 2) == "blocked")
        #expect(try await ground.invite("z@example.org", by: 2, request: "9").reason == "blocked")
        let call = "SELECT accounts.invite($1, 'Ann', 'z@example.org', 'account', '1')"
        #expect(try await ground.refusal(call, [.int64(99)]) == "23503")
        #expect(try await ground.refusal(call, [.int64(1)]) == "23505")
    }
}
