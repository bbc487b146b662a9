import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Requests for accounts at the same time", .database) struct LockTests {
    // "Limits by caller and inviter are not counted one by one".
    @Test(arguments: ["codes", "resets", "invitations"])
    func `requests of one source for several addresses are counted one by one`(
        _ what: String
    ) async throws {
        let ground = try await AccountGround()
        try await ground.session.script(
            """
            UPDATE accounts.rules SET codes_of_caller = 1, resets_of_caller = 1,
                invitations_by_person = 1
            """)
        func ask(_ address: String, _ request: String) async throws -> String {
            switch what {
            case "codes":
                try await ground.issue(address, request: request, caller: "net").reason
            case "resets":
                try await ground.reset(address, request: request, caller: "net").reason
            default: try await ground.invite(address, request: request).reason
            }
        }
        let call =
            switch what {
            case "codes":
                "issue_code('a@example.org', 'sign_in', 'account', '1', caller => 'net')"
            case "resets": "request_reset('a@example.org', 'account', '1', caller => 'net')"
            default: "invite(1, 'Ann', 'a@example.org', 'account', '1')"
            }
        // The first job of a queue adds its lane, for which others wait.
        _ = try await ground.issue("first@example.org", request: "first")
        _ = try await ground.reset("first@example.org", request: "first")
        let other = try TestDatabase.here().session()
        try await other.script("BEGIN; SELECT accounts.\(call)")
        async let second = ask("b@example.org", "2")
        try await ground.waitsForLock()
        try await other.script("COMMIT")
        let reason = try await second
        #expect(reason == (what == "invitations" ? "too_many_for_inviter" : "too_many_for_caller"))
        await other.close()
    }

    @Test func `requests of different sources do not wait for each other`() async throws {
        let ground = try await AccountGround()
        // The first job of a queue adds its lane, for which others wait.
        _ = try await ground.issue("first@example.org", request: "first")
        let other = try TestDatabase.here().session()
        try await other.script(
            """
            BEGIN;
            SELECT accounts.issue_code('a@example.org', 'sign_in', 'account', '1', caller => 'x');
            SELECT accounts.issue_code('b@example.org', 'sign_in', 'account', '2')
            """)
        #expect(try await ground.issue("c@example.org", request: "3", caller: "y").reason == "ok")
        #expect(try await ground.issue("d@example.org", request: "4").reason == "ok")
        try await other.script("ROLLBACK")
        await other.close()
    }

    // Any login may take advisory locks, and keep them.
    @Test func `an advisory lock of another login holds up no request`() async throws {
        let ground = try await AccountGround()
        let other = try TestDatabase.here().session()
        try await other.script(
            "SELECT pg_advisory_lock(hashtextextended('accounts.caller:net', 0))")
        try await ground.session.script("SET lock_timeout = '5s'")
        let reason = try await ground.session.query(
            "SELECT reason FROM accounts.issue_code('ann@example.org', 'sign_in', 'account', '1', "
                + "caller => 'net')")[0].text(0)
        #expect(reason == "ok")
        await other.close()
    }

    // "Erasure and a request for the same address deadlock".
    @Test(arguments: ["accounts.erase(1)", "accounts.unlock('ann@example.org')"])
    func `an erasure waits for a request of the same address`(_ deletion: String) async throws {
        let ground = try await AccountGround()
        _ = try await ground.code(request: "1")
        let other = try TestDatabase.here().session()
        // What a request does first.
        try await other.script(
            "BEGIN; SELECT accounts.lock_address('ann@example.org', clock_timestamp())")
        let pool = ground.pool
        async let deleted = pool.withSession { session in
            try await session.query("SELECT count(*) FROM \(deletion)").int64(0, 0)
        }
        try await ground.waitsForLock()
        // And then: it ends the code that the erasure deletes.
        try await other.script(
            "SELECT accounts.issue_code('ann@example.org', 'sign_in', 'account', '2'); COMMIT")
        #expect(try await deleted > 0)
        #expect(try await ground.number("SELECT count(*) FROM accounts.codes") == 0)
        await other.close()
    }

    // A reset locks its link, then the codes of its person; so does what deletes both.
    @Test(arguments: ["accounts.erase(1)", "accounts.unlock('ann@example.org')"])
    func `an erasure waits for a reset of the same person`(_ deletion: String) async throws {
        let ground = try await AccountGround()
        _ = try await ground.code(request: "1")
        let token = try await ground.token(request: "2")
        let other = try TestDatabase.here().session()
        // What the use of a link does first.
        try await other.script("BEGIN; SELECT accounts.link_of('\(token)', true)")
        let pool = ground.pool
        async let deleted = pool.withSession { session in
            try await session.query("SELECT count(*) FROM \(deletion)").int64(0, 0)
        }
        try await ground.waitsForLock()
        try await other.script("SELECT accounts.use_reset('\(token)', 'use'); COMMIT")
        #expect(try await deleted > 0)
        #expect(try await ground.number("SELECT count(*) FROM accounts.links") == 0)
        await other.close()
    }
}
