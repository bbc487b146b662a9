import ErrandPostgres
import ErrandTestServices
import Testing

/// "Reset is a **link** that opens the app; `account.password_reset` mails a code".
@Suite("Reset links", .database) struct ResetTests {
    @Test func `a reset link opens the app and is used once`() async throws {
        let ground = try await AccountGround()
        #expect(try await ground.reset("ann@EXAMPLE.org", request: "1").reason == "ok")
        try await ground.work()
        let link = try #require(try await ground.secret("link"))
        #expect(link.hasPrefix("https://app.example.com/reset?token="))
        let token = String(link.suffix(43))
        #expect(token.allSatisfy { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" })
        let opened = try await ground.texts(
            "SELECT concat_ws(' ', reason, person, app) FROM accounts.open_reset($1)",
            [.text(token)])
        #expect(opened == ["ok 1 account"])
        #expect(try await ground.use(token, request: "a") == "ok 1")
        // The answer was lost.
        #expect(try await ground.use(token, request: "a") == "ok 1")
        #expect(try await ground.use(token, request: "b") == "used")
        #expect(try await ground.use("what is this?") == "unknown")
        #expect(try await ground.use(String(repeating: "q", count: 43)) == "unknown")
    }

    @Test func `of eight connections that use a link at once, one does`() async throws {
        let ground = try await AccountGround()
        let token = try await ground.token(request: "1")
        let reasons = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<8 {
                group.addTask { try await ground.use(token, request: "use-\(number)") }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(reasons.count { $0 == "ok 1" } == 1)
        #expect(reasons.count { $0 == "used" } == 7)
    }

    @Test func `a link is good for 60 minutes by the clock of the database`() async throws {
        let ground = try await AccountGround()
        let token = try await ground.token(request: "1")
        #expect(try await ground.use(token, after: "60 minutes 1 second") == "expired")
        #expect(try await ground.use(token, after: "59 minutes") == "ok 1")
    }

    @Test func `a newer link and a changed address end a link`() async throws {
        let ground = try await AccountGround()
        let first = try await ground.token(request: "1")
        let second = try await ground.token(request: "2")
        #expect(try await ground.use(first) == "replaced")
        let code = try await ground.code(request: "3")
        let change = "SELECT people.put_person(1, jsonb_build_object('email', $1::text))"
        // Only in case.
        _ = try await ground.session.query(change, [.text("ann@example.org")])
        #expect(
            try await ground.texts("SELECT reason FROM accounts.open_reset($1)", [.text(second)])
                == ["ok"])
        _ = try await ground.session.query(change, [.text("ann@elsewhere.example")])
        #expect(try await ground.use(second) == "address_changed")
        #expect(try await ground.check(code) == "expired")
        // Also after the old address is back.
        _ = try await ground.session.query(change, [.text("ann@example.org")])
        #expect(try await ground.use(second) == "address_changed")
    }

    @Test func `a reset signs out the devices, ends codes and mails that the password changed`()
        async throws
    {
        let ground = try await AccountGround()
        let code = try await ground.code(request: "c")
        try await ground.session.script(
            "SELECT notification.register_device(1, 'vote', 'fcm', 'phone-1', 'org.example.vote')")
        let token = try await ground.token(request: "1")
        #expect(try await ground.use(token) == "ok 1")
        #expect(try await ground.check(code) == "expired")
        let devices = try await ground.texts("SELECT disabled_reason FROM notification.devices")
        #expect(devices == ["the password was changed"])
        let notices = try await ground.texts(
            "SELECT kind FROM notification.notices WHERE person_id = 1 ORDER BY kind")
        #expect(notices == ["account.code", "account.password_changed", "account.reset_link"])
    }

    @Test func `three links an hour go to an address, and 20 to a caller`() async throws {
        let ground = try await AccountGround()
        for number in 1...3 {
            let answer = try await ground.reset(request: "\(number)", caller: "net")
            #expect(answer.reason == "ok")
        }
        let refused = try await ground.reset(request: "4", caller: "net")
        #expect(refused.reason == "too_many_for_address" && refused.askAgainAt != nil)
        for number in 4...20 {
            let answer = try await ground.reset(
                "n\(number)@example.org", request: "\(number)", caller: "net")
            #expect(answer.reason == "ok")
        }
        let last = try await ground.reset("n21@example.org", request: "21", caller: "net")
        #expect(last.reason == "too_many_for_caller")
        #expect(try await ground.reset(request: "22", after: "61 minutes").reason == "ok")
    }

    @Test func `a repeated request is answered the same and mails nothing`() async throws {
        let ground = try await AccountGround()
        let first = try await ground.reset(request: "1")
        #expect(try await ground.reset(request: "1") == first)
        try await ground.work()
        #expect(try await ground.number("SELECT count(*) FROM notification.notices") == 1)
        let other = "SELECT accounts.request_reset($1, $2, '1')"
        #expect(
            try await ground.refusal(other, [.text("bob@example.org"), .text("account")])
                == "23505")
        // Without a template.
        #expect(
            try await ground.refusal(other, [.text("ann@example.org"), .text("vote")]) == "22023")
    }

    @Test(arguments: [
        ("https://app.example.com/reset?token={token}", true), ("example://reset/{token}", true),
        ("http://localhost:8080/{token}", true), ("http://app.example.com/{token}", false),
        ("https://user:pass@app.example.com/{token}", false), ("https://app.example.com/", false),
        ("https://app.example.com/{token}/{token}", false), ("javascript:{token}", false),
        ("https://app.example.com/{token} x", false), ("javascript://x?{token}", false),
        ("data://x/{token}", false), ("vbscript://x/{token}", false), ("database://{token}", true),
    ])
    func `a template has the token once, and leads by TLS or into the app`(
        _ template: String, isGood: Bool
    ) async throws {
        let ground = try await AccountGround()
        let state = try await ground.refusal(
            "UPDATE accounts.link_templates SET template = $1", [.text(template)])
        #expect((state == nil) == isGood, "\(template): \(state ?? "")")
        // "Every link job fails 20 times and dies, nothing is mailed".
        if isGood { _ = try await ground.token(request: "1") }
    }

    // "`rm-template` between request and job: the person was told `ok`, nothing is mailed, nothing
    // retries".
    @Test func `a job without its template fails until it is back`() async throws {
        let ground = try await AccountGround()
        _ = try await ground.reset(request: "1")
        _ = try await ground.reset("nobody@example.org", request: "2")
        try await ground.session.script(
            """
            CREATE TABLE kept AS TABLE accounts.link_templates;
            DELETE FROM accounts.link_templates
            """)
        let send = "SELECT accounts.send_link(id) FROM accounts.links WHERE request_id = $1"
        #expect(try await ground.refusal(send, [.text("1")]) == "22023")
        #expect(try await ground.refusal(send, [.text("2")]) == nil)
        let sent = try await ground.texts(
            "SELECT request_id FROM accounts.links WHERE sent_at IS NOT NULL")
        #expect(sent == ["2"])
        try await ground.session.script("INSERT INTO accounts.link_templates TABLE kept")
        try await ground.work()
        #expect(try await ground.secret("link") != nil)
    }
}
