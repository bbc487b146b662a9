import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Erasure and retention of accounts", .database) struct RetentionTests {
    @Test func `a person is erased once, with what was requested for their address`() async throws {
        let ground = try await AccountGround()
        _ = try await ground.code(request: "1")
        _ = try await ground.reset(request: "2")
        _ = try await ground.invite("friend@example.org", request: "3")
        _ = try await ground.invite("ann@example.org", by: 2, request: "4")
        _ = try await ground.issue("bob@example.org", request: "5")
        let known = try await ground.texts(
            "SELECT key FROM jsonb_each(accounts.personal_data(1)) ORDER BY key")
        #expect(known == ["addresses", "codes", "links"])
        let sealed = try await ground.texts(
            "SELECT accounts.personal_data(1) #>> '{codes,0,code}'")
        #expect(sealed == ["sealed"])
        let erase = """
            SELECT concat_ws(' ', object, action, rows, reason) FROM accounts.erase(1)
            """
        #expect(
            try await ground.texts(erase) == [
                "accounts.links deleted 3", "accounts.codes deleted 1",
                "accounts.declined deleted 0", "accounts.addresses deleted 1",
            ])
        #expect(
            try await ground.texts(erase) == [
                "accounts.links deleted 0", "accounts.codes deleted 0",
                "accounts.declined deleted 0", "accounts.addresses deleted 0",
            ])
        #expect(try await ground.texts("SELECT accounts.personal_data(1)::text") == ["{}"])
        #expect(try await ground.number("SELECT count(*) FROM accounts.codes") == 1)
        // Their jobs find nothing.
        try await ground.work()
        let holders = try await ground.texts(
            "SELECT position || ' ' || blocks FROM people.holders WHERE module = 'accounts'")
        #expect(holders == ["70 false"])
    }

    @Test func `ten thousand codes and links of a person are found by indexes`() async throws {
        let ground = try await AccountGround()
        try await ground.session.script(
            """
            INSERT INTO accounts.codes (request_id, app, purpose, address, address_key, locale,
                requested_at, expires_at, key_id, person_id)
            SELECT 'c' || n, 'account', 'sign_in', 'a', 'a', 'en', now(), now(), 0, 1 + n % 2
            FROM generate_series(1, 10000) n;
            INSERT INTO accounts.links (request_id, kind, app, address, address_key, locale,
                requested_at, expires_at, inviter_id, inviter_name)
            SELECT 'l' || n, 'invitation', 'account', 'a', 'a', 'en', now(), now(), 1 + n % 2, 'A'
            FROM generate_series(1, 10000) n;
            ANALYZE accounts.codes; ANALYZE accounts.links
            """)
        let rows = try await ground.number("SELECT sum(rows)::bigint FROM accounts.erase(1)")
        #expect(rows == 10_000)
        for lookup in [
            "accounts.codes c WHERE c.person_id = 99 OR c.address_key = 'x'",
            "accounts.links l WHERE l.person_id = 99 OR l.inviter_id = 99 OR l.address_key = 'x'",
        ] {
            let plan = try await ground.texts("EXPLAIN SELECT FROM \(lookup)")
            #expect(!plan.contains { $0.contains("Seq Scan") }, "\(plan)")
        }
    }

    @Test func `codes and links are deleted soon after their end`() async throws {
        let ground = try await AccountGround()
        _ = try await ground.code(request: "1")
        let token = try await ground.token(request: "2")
        _ = try await ground.use(token)
        func rule(_ name: String, _ after: String, _ only: Bool) async throws -> Int64 {
            let routine = try await ground.texts(
                """
                SELECT format('%I.%I(now() + %L::interval - %L::interval, 100, %L)', module,
                    routine, '\(after)', keep, \(only))
                FROM people.retention_rules WHERE name = $1
                """, [.text(name)])[0]
            return try await ground.number("SELECT \(routine)")
        }
        #expect(try await rule("accounts.codes", "69 minutes", true) == 0)
        #expect(try await rule("accounts.codes", "71 minutes", true) == 1)
        #expect(try await rule("accounts.codes", "71 minutes", false) == 1)
        #expect(try await rule("accounts.codes", "71 minutes", false) == 0)
        #expect(try await rule("accounts.links", "23 hours", true) == 0)
        #expect(try await rule("accounts.links", "25 hours", false) == 1)
        #expect(try await rule("accounts.addresses", "25 hours", false) == 1)
        // Each mail deletes a few, too, and the keys of hashes that no code has.
        _ = try await ground.issue(request: "3")
        let code = try await ground.number("SELECT max(id) FROM accounts.codes")
        _ = try await ground.session.query(
            "SELECT accounts.send_code($1, now() + interval '4 hours')", [.int64(code)])
        #expect(try await ground.number("SELECT count(*) FROM accounts.codes") == 0)
        #expect(try await ground.number("SELECT count(*) FROM accounts.code_keys") == 0)
    }

    // "Rules of retention that operators lengthen are silently ignored".
    @Test func `each mail deletes as the rules say, and never what limits are counted from`()
        async throws
    {
        let ground = try await AccountGround()
        func keep(_ period: String) async throws {
            _ = try await ground.session.query(
                "UPDATE people.retention_rules SET keep = $1::text::interval "
                    + "WHERE module = 'accounts'", [.text(period)])
        }
        func rows(after: String) async throws -> [Int64] {
            _ = try await ground.session.query(
                "SELECT accounts.forget_a_few(now() + $1::text::interval)", [.text(after)])
            var found: [Int64] = []
            for table in ["codes", "links", "addresses"] {
                found.append(try await ground.number("SELECT count(*) FROM accounts.\(table)"))
            }
            return found
        }
        _ = try await ground.issue(request: "1")
        _ = try await ground.reset(request: "2")
        try await keep("7 days")
        #expect(try await rows(after: "6 days") == [1, 1, 1])
        try await keep("10 minutes")
        // The code has expired 50 minutes before, and the link 10 minutes.
        #expect(try await rows(after: "1 hour") == [1, 1, 0])
        for rule in ["codes", "links"] {
            let deleted = try await ground.number(
                "SELECT accounts.forget_\(rule)(now() + interval '50 minutes', 100, true)")
            #expect(deleted == 0)
        }
        #expect(try await rows(after: "71 minutes") == [0, 1, 0])
        #expect(try await rows(after: "24 hours") == [0, 1, 0])
        #expect(try await rows(after: "26 hours") == [0, 0, 0])
    }
}
