import ErrandPostgres
import ErrandTestServices
import Testing

/// "The one who is invited cannot refuse further ones, and is reminded".
@Suite("Declined invitations", .database) struct DeclineTests {
    private func decline(_ token: String, _ ground: AccountGround) async throws -> String {
        try await ground.texts(
            "SELECT concat_ws(' ', reason, inviter, app) FROM accounts.decline_invitation($1)",
            [.text(token)])[0]
    }

    private func token(_ ground: AccountGround) async throws -> String {
        try await ground.work()
        return String(try #require(try await ground.secret("link")).suffix(43))
    }

    /// The keys of the mails that are or will be sent.
    private func mails(_ ground: AccountGround) async throws -> [String] {
        try await ground.texts(
            """
            SELECT dedupe_key FROM notification.direct_mails WHERE status = 'pending'
            ORDER BY dedupe_key
            """)
    }

    @Test func `who declines is not reminded, and not invited again by the same person`()
        async throws
    {
        let ground = try await AccountGround()
        _ = try await ground.invite("new@example.org", request: "1")
        let token = try await token(ground)
        #expect(try await decline(token, ground) == "ok 1 account")
        #expect(try await decline(token, ground) == "ok 1 account")
        #expect(try await ground.accept(token) == "declined")
        #expect(try await mails(ground) == [])
        let reminds = try await ground.session.query(
            "SELECT accounts.send_link(1, now() + interval '4 days')"
        ).bool(0, 0)
        #expect(reminds == false)
        // The inviter does not learn of it.
        let again = try await ground.invite("NEW@example.org", request: "2")
        #expect(again.reason == "ok" && again.invitation == 2)
        _ = try await ground.invite("new@example.org", by: 2, request: "3")
        _ = try await ground.invite("else@example.org", request: "4")
        try await ground.work()
        #expect(try await mails(ground) == ["account.invitation:3", "account.invitation:4"])
    }

    @Test func `one that is over can be declined, an accepted one cannot`() async throws {
        let ground = try await AccountGround()
        _ = try await ground.invite("new@example.org", request: "1")
        let first = try await token(ground)
        #expect(try await ground.withdraw(1) == "ok")
        #expect(try await decline(first, ground) == "ok 1 account")
        _ = try await ground.invite("new@example.org", by: 2, request: "2")
        let second = try await token(ground)
        #expect(try await ground.accept(second, as: 3) == "ok 2 new@example.org")
        #expect(try await decline(second, ground) == "used")
        #expect(try await decline("what is this?", ground) == "unknown")
    }

    @Test(arguments: [1, 2])
    func `it is forgotten with the inviter, with the address, and after 13 months`(
        _ person: Int64
    ) async throws {
        let ground = try await AccountGround()
        _ = try await ground.invite("BOB@example.org", request: "1")
        #expect(try await decline(try await token(ground), ground) == "ok 1 account")
        let known = try await ground.texts(
            "SELECT accounts.personal_data($1) #>> '{declined,0,address}'", [.int64(person)])
        #expect(known == [person == 1 ? "sealed" : "bob@example.org"])
        for (after, count) in [("12 months", 0), ("14 months", 1)] as [(String, Int64)] {
            let found = try await ground.number(
                """
                SELECT accounts.forget_declined(now() + $1::text::interval - keep, 10, true)
                FROM people.retention_rules WHERE name = 'accounts.declined'
                """, [.text(after)])
            #expect(found == count)
        }
        _ = try await ground.session.query("SELECT accounts.erase($1)", [.int64(person)])
        #expect(try await ground.number("SELECT count(*) FROM accounts.declined") == 0)
    }

    @Test func `what is over is deleted`() async throws {
        let ground = try await AccountGround()
        _ = try await ground.invite("bob@example.org", request: "1")
        _ = try await decline(try await token(ground), ground)
        let deleted = try await ground.number(
            "SELECT accounts.forget_declined(now() + interval '1 minute', 10, false)")
        #expect(deleted == 1)
        _ = try await ground.invite("bob@example.org", request: "2")
        try await ground.work()
        #expect(try await mails(ground) == ["account.invitation:2"])
    }
}
