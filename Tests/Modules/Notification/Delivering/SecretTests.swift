import ErrandDelivery
import Foundation
import Errand
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Secret facts", .database) struct SecretTests {
    private static let secrets = "SELECT count(*) FROM notification.secrets"
    private static let pin = "4815162342"

    private func intend(in ground: Ground, expires: String = "2099-01-01Z") async throws -> Int64 {
        try await ground.number(
            """
            SELECT notification.intend('t.pin', 1, 'pin', '{"title": "Hello"}', 'pin-1',
                '\(expires)', secrets => '{"pin": "\(Self.pin)"}')
            """)
    }

    /// Every table with a row that contains the secret.
    private func places(in ground: Ground) async throws -> [String] {
        var found: [String] = []
        let tables = try await ground.texts(
            """
            SELECT c.oid::regclass::text FROM pg_class c
            JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE c.relkind = 'r' AND n.nspname IN ('notification', 'errand', 'people') ORDER BY 1
            """)
        for table in tables {
            let rows = try await ground.number(
                "SELECT count(*) FROM \(table) t WHERE t::text LIKE '%\(Self.pin)%'")
            if rows > 0 { found.append(table) }
        }
        return found
    }

    // "E-mail codes lie in clear in `notification.notices.data` for ever".
    @Test func `a secret stands in one unlogged table, and is deleted when the notice has ended`()
        async throws
    {
        let ground = try await Ground()
        _ = try await ground.person()
        _ = try await ground.device(of: 1, "token-1", app: "survey")
        let id = try await intend(in: ground)
        #expect(try await intend(in: ground) == id)
        #expect(try await places(in: ground) == ["notification.secrets"])
        #expect(
            try await ground.texts(
                """
                SELECT relpersistence::text FROM pg_class
                WHERE oid = 'notification.secrets'::regclass
                """
            ) == ["u"])
        // One channel has the answer at once, the other fails first and quotes what it refuses.
        let mail = ScriptedChannel(
            .deferred(reason: "451 no \(Self.pin) now", retryAfter: nil), .delivered(reply: "250"))
        let push = ScriptedChannel(.delivered(reply: "message 5"))
        try await ground.deliver([Provider.mail: mail, Provider.fcm: push])
        #expect(push.sent.all.map(\.words.text) == ["t.pin by push: \(Self.pin)"])
        #expect(
            push.sent.all.allSatisfy { !String(decoding: $0.data, as: UTF8.self).contains("pin") })
        #expect(try await places(in: ground) == ["notification.secrets"])
        #expect(try await ground.answers().contains("pending pending 1 451 no *** now"))
        try await ground.hurry()
        try await ground.deliver([Provider.mail: mail, Provider.fcm: push])
        #expect(mail.sent.all.last?.words.text == "t.pin by email: \(Self.pin)")
        #expect(try await ground.statuses() == ["sent"])
        #expect(try await places(in: ground).isEmpty)
    }

    @Test(
        "however a notice ends, its secrets go",
        arguments: [
            "UPDATE notification.notices SET status = 'withdrawn', reason = 'wrong'",
            "UPDATE notification.notices SET status = 'failed', reason = 'its job died'",
            "DELETE FROM notification.notices", "SELECT notification.erase(1)",
            "SELECT notification.expire_secrets('2099-01-02Z')",
        ])
    func ends(sql: String) async throws {
        let ground = try await Ground()
        _ = try await ground.person()
        _ = try await intend(in: ground)
        #expect(try await ground.number(Self.secrets) == 1)
        try await ground.run(sql)
        #expect(try await ground.number(Self.secrets) == 0)
    }

    @Test func `after a crash of the server the mail says that its secrets are gone`() async throws
    {
        let ground = try await Ground()
        _ = try await ground.person()
        _ = try await intend(in: ground)
        try await ground.run("TRUNCATE notification.secrets")
        let mail = ScriptedChannel(.delivered(reply: "250"))
        try await ground.deliver([Provider.mail: mail])
        #expect(mail.sent.count == 0)
        #expect(try await ground.statuses() == ["failed"])
        #expect(try await ground.reasons()[0].hasPrefix("its secret facts are gone"))
    }

    // "if `secrets` are too large the error says 'data: … found object of 40 bytes'".
    @Test func `data and secrets that are too large are told apart`() async throws {
        let ground = try await Ground()
        _ = try await ground.person()
        let large = String(repeating: "€", count: 30_000)
        for (data, secret, message) in [
            ("!", large, "secrets: expected a JSON object of at most 64 KiB"),
            (large, "1", "data: expected a JSON object of at most 64 KiB, found object of 900"),
        ] {
            await #expect {
                try await ground.run(
                    """
                    SELECT notification.intend('t.pin', 1, 's',
                        jsonb_build_object('title', $1::text), 'k', '2099-01-01Z',
                        secrets => jsonb_build_object('pin', $2::text))
                    """, [.text(data), .text(secret)])
            } throws: {
                "\($0)".contains(message) && !"\($0)".contains("€")
            }
        }
    }

    @Test func `secrets are expected apart from the data, and a job cannot record them`()
        async throws
    {
        let ground = try await Ground()
        let ada = try await ground.person()
        for (data, secrets, message) in [
            (#"{"title": "!", "pin": "1"}"#, "NULL", "pin: expected in secrets, not in data"),
            (#"{"title": "!"}"#, "NULL", "pin: expected a text in secrets"),
            (#"{"title": "!"}"#, #"'{"pin": 1}'"#, "pin: expected a text in secrets"),
            (#"{"title": "!"}"#, #"'{"pin": "1", "x": 1}'"#, "x: not a secret fact of this kind"),
            (#"{"title": "!"}"#, "'[1]'", "secrets: expected a JSON object"),
        ] {
            await #expect {
                try await ground.run(
                    """
                    SELECT notification.intend('t.pin', 1, 's', '\(data)', 'k', '2099-01-01Z',
                        secrets => \(secrets))
                    """)
            } throws: {
                "\($0)".contains(message)
            }
        }
        await #expect(throws: JobError.self) {
            try await ground.notify(ground.intent(TestNotices.pin, ada))
        }
        #expect(try await ground.statuses().isEmpty)
    }
}

@Suite("Mails to people without an account", .database) struct DirectMailTests {
    private static let address = "kim@example.org"

    private func send(
        in ground: Ground, key: String = "invitation:4", to address: String = address,
        secret: String = "open sesame"
    ) async throws -> Int64 {
        try await ground.number(
            """
            SELECT notification.mail_to('t.pin', '\(address)', 'en', '{"title": "Hello"}',
                '{"pin": "\(secret)"}', '\(key)', now() + interval '14 days')
            """)
    }

    private func rows(in ground: Ground) async throws -> [String] {
        try await ground.texts(
            """
            SELECT concat_ws(' ', m.status, m.attempts, m.reply, m.address, m.data,
                (SELECT count(*) FROM notification.direct_secrets))
            FROM notification.direct_mails m ORDER BY m.id
            """)
    }

    @Test func `a mail is sent once, and then its address, facts and secrets are deleted`()
        async throws
    {
        let ground = try await Ground()
        let id = try await send(in: ground)
        #expect(try await send(in: ground) == id)
        #expect(try await rows(in: ground) == [#"pending 0 \#(Self.address) {"title": "Hello"} 1"#])
        #expect(
            try await ground.texts("SELECT args::text FROM errand.jobs") == [
                #"{"mail_id": \#(id)}"#
            ])
        let mail = ScriptedChannel(
            .unavailable(reason: "421", retryAfter: nil), .delivered(reply: "250"))
        try await ground.deliver([Provider.mail: mail])
        #expect(
            try await rows(in: ground) == [#"pending 0 421 \#(Self.address) {"title": "Hello"} 1"#])
        try await ground.hurry()
        try await ground.deliver([Provider.mail: mail])
        #expect(try await rows(in: ground) == ["delivered 1 250 {} 0"])
        let sent = try #require(mail.sent.all.last)
        #expect(sent.words.text == "t.pin by email: open sesame")
        guard case .mail(Self.address) = sent.address else {
            Issue.record("sent to \(sent.address)")
            return
        }
        // Its address cannot be compared any more.
        #expect(try await send(in: ground, to: "ann@example.org") == id)
        try await ground.deliver([Provider.mail: mail])
        #expect(mail.sent.count == 2)
    }

    @Test func `another address by the same key is an error, and other kinds are not mailed so`()
        async throws
    {
        let ground = try await Ground()
        _ = try await send(in: ground)
        await #expect { _ = try await send(in: ground, to: "ann@example.org") } throws: {
            "\($0)".contains("has this dedupe_key with another kind, address or other data")
        }
        await #expect { _ = try await send(in: ground, to: "no address") } throws: {
            "\($0)".contains("address: expected an address") && !"\($0)".contains("no address")
        }
        await #expect {
            try await ground.run(
                """
                SELECT notification.mail_to('t.note', 'a@example.org', 'en', '{"title": "!"}', NULL,
                    'k', now() + interval '1 day')
                """)
        } throws: {
            "\($0)".contains("expected an urgent kind that is sent by email")
        }
    }

    @Test func `a mail that is refused, withdrawn or late keeps no address`() async throws {
        let ground = try await Ground()
        let mail = ScriptedChannel(.addressGone(reason: "550 no open sesame here", since: nil))
        _ = try await send(in: ground)
        try await ground.deliver([Provider.mail: mail])
        let second = try await send(in: ground, key: "invitation:5")
        #expect(
            try await ground.texts(
                "SELECT notification.call_off_mail(\(second), 'removed')::text") == ["true"])
        _ = try await send(in: ground, key: "invitation:6")
        try await CloseUndelivered.expireSecrets(
            in: ground.pool, now: Date(timeIntervalSince1970: 4_102_444_800))
        #expect(
            try await rows(in: ground) == [
                "gone 1 550 no *** here {} 0", "withdrawn 0 removed {} 0",
                "expired 0 the mail has expired {} 0",
            ])
        try await ground.deliver([Provider.mail: mail])
        #expect(mail.sent.count == 1)
    }
}
