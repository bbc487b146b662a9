import ErrandPostgres
import ErrandTestServices
import Testing

/// "Whose address once bounced can never sign in or reset again, and everybody says `sent`".
@Suite("Addresses that have refused mail", .database) struct RefusedAddressTests {
    private func refuse(_ ground: AccountGround) async throws {
        try await ground.session.script(
            "UPDATE people.people SET email_refused_at = now(), email_bounces = '{1,2,3}'")
    }

    /// Whether Ann's address refuses mail.
    private func isRefused(_ ground: AccountGround) async throws -> Bool {
        try await ground.session.query(
            """
            SELECT email_refused_at IS NOT NULL OR email_bounces <> '{}' FROM people.people
            WHERE id = 1
            """
        ).bool(0, 0)
    }

    /// The kinds of the mails that no refusal stops.
    private func direct(_ ground: AccountGround) async throws -> [String] {
        try await ground.texts(
            "SELECT kind || ' ' || address FROM notification.direct_mails ORDER BY id")
    }

    @Test func `a code is mailed all the same, and the right one ends the refusal`() async throws {
        let ground = try await AccountGround()
        try await refuse(ground)
        let code = try await ground.code(request: "1")
        #expect(try await direct(ground) == ["account.code ann@example.org"])
        #expect(try await ground.check(AccountGround.other(than: code)) == "wrong 4")
        #expect(try await isRefused(ground))
        #expect(try await ground.check(code) == "ok 1")
        #expect(try await isRefused(ground) == false)
        // Others keep theirs, and Ann gets notices again.
        let others = try await ground.number(
            "SELECT count(*) FROM people.people WHERE email_refused_at IS NOT NULL")
        #expect(others == 2)
        _ = try await ground.code(request: "2")
        #expect(try await ground.number("SELECT count(*) FROM notification.notices") == 1)
    }

    @Test func `a reset link is mailed all the same, and its use ends the refusal`() async throws {
        let ground = try await AccountGround()
        try await refuse(ground)
        let token = try await ground.token(request: "1")
        #expect(try await direct(ground) == ["account.reset_link ann@example.org"])
        #expect(try await ground.use(token) == "ok 1")
        #expect(try await isRefused(ground) == false)
    }

    @Test func `an accepted invitation ends the refusal of the invited address`() async throws {
        let ground = try await AccountGround()
        try await refuse(ground)
        _ = try await ground.invite("ANN@example.org", by: 2, request: "1")
        try await ground.work()
        let token = String(try #require(try await ground.secret("link")).suffix(43))
        #expect(try await ground.accept(token, as: 1) == "ok 2 ANN@example.org")
        #expect(try await isRefused(ground) == false)
    }

    @Test func `a person whom another transaction has locked is not waited for`() async throws {
        let ground = try await AccountGround()
        try await refuse(ground)
        let code = try await ground.code(request: "1")
        let other = try TestDatabase.here().session()
        try await other.script("BEGIN; SELECT FROM people.people WHERE id = 1 FOR NO KEY UPDATE")
        #expect(try await ground.check(code) == "ok 1")
        try await other.script("ROLLBACK")
        await other.close()
        // The repeated check of the same request ends it.
        #expect(try await isRefused(ground))
        #expect(try await ground.check(code) == "ok 1")
        #expect(try await isRefused(ground) == false)
    }
}
