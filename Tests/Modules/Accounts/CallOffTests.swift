import ErrandPostgres
import ErrandTestServices
import Testing

/// "Withdrawn invitations, replaced codes and used links are mailed all the same".
@Suite("Mails that are called off", .database) struct CallOffTests {
    /// The statuses of notices and direct mails by their keys.
    private func mails(_ ground: AccountGround) async throws -> [String] {
        try await ground.texts(
            """
            SELECT key || ' ' || status FROM (
                SELECT dedupe_key AS key, status::text FROM notification.notices
                UNION ALL
                SELECT dedupe_key, status::text FROM notification.direct_mails
            ) AS m ORDER BY key
            """)
    }

    private func secrets(_ ground: AccountGround) async throws -> Int64 {
        try await ground.number(
            """
            SELECT (SELECT count(*) FROM notification.secrets)
                + (SELECT count(*) FROM notification.direct_secrets)
            """)
    }

    @Test func `only the newest code is mailed`() async throws {
        let ground = try await AccountGround()
        _ = try await ground.code(request: "1")
        _ = try await ground.code("new@example.org", "verify_address", request: "2")
        _ = try await ground.code("ann@example.org", "verify_address", request: "3")
        for address in ["ann@example.org", "new@example.org"] {
            let purpose = address.hasPrefix("ann") ? "sign_in" : "verify_address"
            _ = try await ground.issue(address, purpose, request: "next-\(address)")
        }
        try await ground.work()
        #expect(
            try await mails(ground) == [
                "account.code:1 withdrawn", "account.code:2 withdrawn", "account.code:3 pending",
                "account.code:4 intended", "account.code:5 pending",
            ])
        #expect(try await secrets(ground) == 3)
    }

    @Test func `only the newest reset link is mailed`() async throws {
        let ground = try await AccountGround()
        _ = try await ground.token(request: "1")
        let token = try await ground.token(request: "2")
        #expect(
            try await mails(ground)
                == ["account.reset_link:1 withdrawn", "account.reset_link:2 intended"])
        // The code is ended by the reset, and its mail with it.
        _ = try await ground.code(request: "3")
        #expect(try await ground.use(token) == "ok 1")
        let code = try await ground.texts(
            "SELECT status || ' ' || reason FROM notification.notices WHERE kind = 'account.code'")
        #expect(code == ["withdrawn the password was reset"])
    }

    @Test func `a changed address calls off what was sent to the old one`() async throws {
        let ground = try await AccountGround()
        _ = try await ground.code(request: "1")
        _ = try await ground.token(request: "2")
        try await ground.session.script(
            "SELECT people.put_person(1, '{\"email\": \"ann@elsewhere.example\"}')")
        #expect(
            try await mails(ground)
                == ["account.code:1 withdrawn", "account.reset_link:1 withdrawn"])
        #expect(try await secrets(ground) == 0)
    }

    @Test func `an invitation that was withdrawn or replaced is not mailed`() async throws {
        let ground = try await AccountGround()
        _ = try await ground.invite("stranger@example.org", request: "1")
        _ = try await ground.invite("new@example.org", request: "2")
        _ = try await ground.invite("new@example.org", by: 2, request: "3")
        try await ground.work()
        #expect(try await ground.withdraw(1) == "ok")
        _ = try await ground.invite("new@example.org", request: "4")
        try await ground.work()
        #expect(
            try await mails(ground) == [
                "account.invitation:1 withdrawn", "account.invitation:2 withdrawn",
                "account.invitation:3 pending", "account.invitation:4 pending",
            ])
        // Nothing names the inviter any more.
        let named = try await ground.number(
            "SELECT count(*) FROM notification.direct_mails WHERE data ->> 'by' = 'Ann'")
        #expect(named == 2)
    }

    @Test func `who has accepted is not reminded`() async throws {
        let ground = try await AccountGround()
        _ = try await ground.invite("new@example.org", request: "1")
        try await ground.work()
        let token = String(try #require(try await ground.secret("link")).suffix(43))
        _ = try await ground.session.query(
            "SELECT accounts.send_link(1, now() + interval '3 days 1 minute')")
        #expect(try await ground.accept(token) == "ok 1 new@example.org")
        #expect(
            try await mails(ground) == [
                "account.invitation:1 withdrawn", "account.invitation:1:reminder withdrawn",
            ])
    }

    @Test func `an erased person and an unlocked address leave no mail`() async throws {
        let ground = try await AccountGround()
        _ = try await ground.code(request: "1")
        _ = try await ground.token(request: "2")
        _ = try await ground.invite("new@example.org", request: "3")
        try await ground.work()
        #expect(try await ground.number("SELECT accounts.unlock('ANN@example.org')") == 2)
        _ = try await ground.session.query("SELECT accounts.erase(1)")
        #expect(
            try await mails(ground) == [
                "account.code:1 withdrawn", "account.invitation:2 withdrawn",
                "account.reset_link:1 withdrawn",
            ])
        #expect(try await secrets(ground) == 0)
    }
}
