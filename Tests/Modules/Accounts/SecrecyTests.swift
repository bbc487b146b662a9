import ErrandAccounts
import ErrandDelivery
import Errand
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Foundation
import Testing

@Suite("What nobody sees of codes and accounts", .database) struct SecrecyTests {
    /// Keeps what it was given to send, and answers that it was delivered.
    private final class Mailbox: Channel {
        let sent = Notebook<OutboundMessage>()

        func send(_ outgoing: OutboundMessage) async -> DeliveryVerdict {
            sent.add(outgoing)
            return .delivered(reply: "kept")
        }
    }

    /// The answer to an address with an account, and to one without, apart from times.
    @Test func `the same answer whether an address is known or not`() async throws {
        let ground = try await AccountGround()
        func life(_ address: String) async throws -> [String] {
            var seen: [String] = []
            for number in 1...3 {
                let issued = try await ground.issue(address, request: "\(address)-\(number)")
                seen.append("\(issued.reason) \(issued.expiresAt != nil)")
            }
            // Before and after a worker has looked for the account.
            seen.append(try await ground.check("abcdef", address))
            try await ground.work()
            let code = try await ground.secret("code") ?? "000000"
            for number in 0..<6 {
                let wrong = AccountGround.other(than: code, number)
                seen.append(try await ground.check(wrong, address))
            }
            for number in 4...6 {
                let issued = try await ground.issue(address, request: "\(address)-\(number)")
                seen.append("\(issued.reason) \(issued.askAgainAt != nil)")
            }
            for number in 1...4 {
                let answer = try await ground.reset(address, request: "\(address)-\(number)")
                seen.append("\(answer.reason) \(answer.expiresAt != nil)")
            }
            try await ground.work()
            let invited = try await ground.invite(address, request: "\(address)-i")
            seen.append("\(invited.reason) \(invited.expiresAt != nil)")
            return seen
        }
        let known = try await life("ann@example.org")
        let unknown = try await life("nobody@example.org")
        #expect(known == unknown)
        #expect(known.contains("locked 0") && known.contains("too_many_for_address true"))
        // Only one of them got mail.
        let people = try await ground.texts(
            "SELECT DISTINCT person_id::text FROM notification.notices")
        #expect(people == ["1"])
    }

    @Test func `a request does the same work whether an address is known or not`() async throws {
        let ground = try await AccountGround()
        func rows(_ address: String) async throws -> [String] {
            let before = try await counts(ground)
            _ = try await ground.issue(address, request: address)
            _ = try await ground.reset(address, request: address)
            let after = try await counts(ground)
            return zip(before, after).filter { $0 != $1 }.map { before, after in
                "\(before.0) \(after.1 - before.1)"
            }
        }
        // Makes the key of the hour.
        _ = try await ground.issue("first@example.org", request: "first")
        let known = try await rows("ann@example.org")
        #expect(try await rows("nobody@example.org") == known)
        #expect(known.count == 4, "\(known)")
    }

    private static let tables = """
        SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c
        JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema')
          AND c.relname <> 'spatial_ref_sys'
        ORDER BY 1
        """

    private func counts(_ ground: AccountGround) async throws -> [(String, Int64)] {
        var found: [(String, Int64)] = []
        for table in try await ground.texts(Self.tables) {
            found.append((table, try await ground.number("SELECT count(*) FROM \(table)")))
        }
        return found
    }

    /// The tables and sequences that hold a text, in any of their columns.
    private func places(of text: String, _ ground: AccountGround) async throws -> [String] {
        var found: [String] = []
        for table in try await ground.texts(Self.tables) {
            let count = try await ground.number(
                "SELECT count(*) FROM \(table) t WHERE t::text ~ $1",
                [.text("(^|[^0-9A-Za-z])\(text)($|[^0-9A-Za-z])")])
            if count > 0 { found.append(table) }
        }
        return found
    }

    // "E-mail codes lie in clear in `notification.notices.data` for ever".
    @Test func `after the mail was sent nothing of code or link is in a table, job or log`()
        async throws
    {
        let ground = try await AccountGround()
        let mailbox = Mailbox()
        let catalogue = try NoticeCatalogue.of([])
        var kinds = ground.kinds
        NoticeDecisionJobs(catalogue).add(to: &kinds)
        Deliveries(catalogue, channels: [Provider.mail: mailbox]).add(to: &kinds)
        DirectMails(catalogue, by: mailbox).add(to: &kinds)
        let lines = Notebook<String>()
        let log = Log(minimum: .debug) { entry in lines.add("\(entry)") }
        _ = try await ground.issue(request: "1")
        _ = try await ground.issue("new@example.org", "verify_address", request: "2")
        _ = try await ground.reset(request: "3")
        _ = try await ground.invite("friend@example.org", request: "4")
        _ = try await TestWorker.drain(
            kinds, queues: [.init("notices"), .init("mail")], log: log)
        let texts = mailbox.sent.all.map(\.words.text)
        #expect(texts.count == 4)
        let codes = texts.compactMap { $0.firstMatch(of: /\b[0-9]{6}\b/).map { String($0.output) } }
        let tokens = texts.compactMap {
            $0.firstMatch(of: /[A-Za-z0-9_-]{43}/).map { String($0.output) }
        }
        #expect(codes.count == 2 && tokens.count == 2)
        for secret in codes + tokens {
            #expect(try await places(of: secret, ground) == [], "\(secret)")
            #expect(!lines.all.contains { $0.contains(secret) })
        }
        // The search finds what there is.
        let friend = try await places(of: "friend@example.org", ground)
        #expect(friend == ["accounts.addresses", "accounts.links"])
        // They still work; the mails arrive in any order.
        var (checks, uses): ([String], [String]) = ([], [])
        for code in codes { checks.append(try await ground.check(code)) }
        for token in tokens { uses.append(try await ground.use(token)) }
        #expect(checks.contains("ok 1"))
        #expect(uses.sorted() == ["ok 1", "unknown"])
    }

    private static let groups = [
        "errand_worker", "errand_scheduler", "errand_app", "errand_till", "errand_inspector",
        "errand_autoscaler",
    ]

    @Test(arguments: groups)
    func `no login reads a key, a hash or a counter, and only the app checks codes`(
        _ group: String
    ) async throws {
        let ground = try await AccountGround()
        _ = try await ground.code(request: "1")
        let (session, _) = try await TestDatabase.here().login(as: group)
        func state(_ sql: String) async throws -> String? {
            do throws(PostgresError) {
                _ = try await session.query(sql)
                return nil
            } catch { return error.sqlState }
        }
        for sql in [
            "SELECT * FROM accounts.code_keys", "SELECT mac FROM accounts.codes",
            "SELECT salt FROM accounts.codes", "SELECT token_hash FROM accounts.links",
            "SELECT reminder_hash FROM accounts.links", "DELETE FROM accounts.codes",
            "UPDATE accounts.codes SET tries = 0", "UPDATE accounts.links SET ended_at = NULL",
            "SELECT setval('accounts.tries_0', 1)", "SELECT last_value FROM accounts.tries_0",
            "SELECT accounts.code_mac(1, 1, '', '123456')",
            "UPDATE accounts.rules SET tries = 20", "SELECT * FROM accounts.codes FOR UPDATE",
            "SELECT accounts.check_code_at('ann@example.org', 'sign_in', '123456', 'account', '1', "
                + "NULL, now())",
        ] { #expect(try await state(sql) == "42501", "\(sql)") }
        let check = "SELECT accounts.check_code('ann@example.org', 'sign_in', '1', 'account', '1')"
        #expect((try await state(check) == nil) == (group == "errand_app"))
        let set = "UPDATE accounts.link_templates SET template = template"
        #expect((try await state(set) == nil) == (group == "errand_worker"))
        await session.close()
    }

    @Test func `a dump has no key, whatever its options`() async throws {
        let ground = try await AccountGround()
        _ = try await ground.code(request: "1")
        let key = try await ground.texts("SELECT encode(key, 'hex') FROM accounts.code_keys")[0]
        let program = try Program(
            "/usr/bin/env", ["pg_dump", "--schema", "accounts", try TestDatabase.here().url])
        #expect(try await program.end(within: .seconds(60)) == .exited(0), "\(program.errors)")
        #expect(program.output.contains("accounts.code_keys"))
        #expect(!program.output.contains(key))
    }

    // "While a mail waits, code and reset link stand in clear in `notification.secrets.facts`, a
    // plain column: `pg_dump -Fc`, which FAILOVER.md recommends, copies them".
    @Test func `a dump without the data of unlogged tables has no code and no link`() async throws {
        let ground = try await AccountGround()
        let code = try await ground.code(request: "1")
        let token = try await ground.token(request: "2")
        _ = try await ground.invite("friend@example.org", request: "3")
        try await ground.work()
        let guide = try String(
            contentsOf: Checkout.root.appending(path: "deploy/postgres/FAILOVER.md"),
            encoding: .utf8)
        #expect(guide.contains("`pg_dump -Fc --no-unlogged-table-data`"))
        let program = try Program(
            "/usr/bin/env",
            ["pg_dump", "--no-unlogged-table-data", try TestDatabase.here().url])
        #expect(try await program.end(within: .seconds(60)) == .exited(0), "\(program.errors)")
        #expect(program.output.contains("COPY accounts.links"))
        #expect(!program.output.contains(token))
        #expect(!program.output.contains(/example:\/\/join\/[A-Za-z0-9_-]{43}/))
        #expect(!program.output.contains("\"code\": \"\(code)\""))
    }
}
