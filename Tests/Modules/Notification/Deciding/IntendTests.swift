import ErrandDelivery
import Foundation
import Errand
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Intents from SQL", .database) struct IntendTests {
    private static let good = """
        SELECT notification.intend('t.note', 1, 'a subject', '{"title": "Hello"}', 'event-1',
            '2099-01-01Z')
        """

    @Test func `an intent becomes a notice that a job decides, the same event only once`()
        async throws
    {
        let ground = try await Ground()
        let ada = try await ground.person()
        #expect(ada == 1)
        let id = try await ground.number(Self.good)
        #expect(try await ground.statuses() == ["intended"])
        #expect(try await ground.number(Self.good) == id)
        let jobs = try await ground.texts("SELECT queue || ' ' || args FROM errand.jobs")
        #expect(jobs == [#"notices {"notice_id": \#(id)}"#])

        let mail = ScriptedChannel(.delivered(reply: "250 kept"))
        try await ground.deliver([Provider.mail: mail])
        #expect(try await ground.statuses() == ["sent"])
        #expect(mail.sent.all.map(\.words.title) == ["Hello"])
        // Told already, whatever the app says afterwards.
        #expect(try await ground.number(Self.good) == id)
        try await ground.deliver([Provider.mail: mail])
        #expect(mail.sent.count == 1)
    }

    @Test func `an intent that was rolled back never was`() async throws {
        let ground = try await Ground()
        _ = try await ground.person()
        try await ground.session.script("BEGIN")
        try await ground.run(Self.good)
        try await ground.session.script("ROLLBACK")
        #expect(try await ground.statuses().isEmpty)
        #expect(try await ground.number("SELECT count(*) FROM errand.jobs") == 0)
    }

    @Test(
        "what is wrong is said at once",
        arguments: [
            ("'t.note'", "NULL", "intend needs kind, person, subject, data, dedupe_key and"),
            ("'t.note'", "'No Kind'", "kind No Kind: expected up to 100 of a-z"),
            ("'t.note'", "'t.bogus'", "kind t.bogus: no program has declared this kind"),
            (#"{"title": "Hello"}"#, "{}", "the facts of t.note: title: expected a text"),
            (#""Hello""#, "7", "the facts of t.note: title: expected a text"),
            ("'2099-01-01Z')", #"'2099-01-01Z', secrets => '{"pin": "1"}')"#, "not a secret fact"),
            ("1", "2", "no person has the id 2"),
            ("'a subject'", "''", "subject: expected 1 to 200 characters in one line"),
            ("'a subject'", "E'a\\nb'", "subject: expected 1 to 200 characters in one line"),
            ("'event-1'", "''", "dedupe_key: expected 1 to 300 characters in one line"),
            ("'event-1'", "'digest:1'", "dedupe_key: expected 1 to 300 characters in one line"),
            (#"'{"title": "Hello"}'"#, "'[1]'", "data: expected a JSON object of at most 64 KiB"),
            ("'2099-01-01Z'", "'infinity'", "expected a time in the years 1970 to 9999"),
            ("'2099-01-01Z')", "'2099-01-01Z', 7)", "no person has the id 7"),
        ])
    func wrong(part: String, replacement: String, message: String) async throws {
        let ground = try await Ground()
        _ = try await ground.person()
        let place = try #require(Self.good.range(of: part))
        let sql = Self.good.replacingCharacters(in: place, with: replacement)
        do {
            try await ground.run(sql)
            Issue.record("\(sql) was taken")
        } catch {
            #expect("\(error)".contains(message))
        }
        #expect(try await ground.statuses().isEmpty)
    }

    @Test func `one that comes too late is recorded as expired`() async throws {
        let ground = try await Ground()
        _ = try await ground.person()
        try await ground.run(
            """
            SELECT notification.intend('t.note', 1, 's', '{"title": "!"}', 'k',
                now() - interval '1 second')
            """)
        try await ground.deliver([:])
        #expect(try await ground.statuses() == ["expired"])
    }

    @Test func `a kind or data that nobody knows do not hold up the others`() async throws {
        let ground = try await Ground()
        _ = try await ground.person()
        // As declared by a program with other versions of the kinds.
        try await ground.declare("t.strange")
        try await ground.run("UPDATE notification.kinds SET facts = '{}' WHERE kind LIKE 't.%'")
        for (kind, data, key) in [
            ("t.strange", #"{"title": "?"}"#, "1"), ("t.note", #"{"name": "?"}"#, "2"),
            ("t.code", #"{"name": "?"}"#, "3"), ("t.note", #"{"title": "!"}"#, "4"),
        ] {
            try await ground.run(
                "SELECT notification.intend($1, 1, 's', $2, $3, '2099-01-01Z')",
                [.text(kind), .json([UInt8](data.utf8)), .text(key)])
        }
        let mail = ScriptedChannel(.delivered(reply: "250 kept"))
        let summary = try await ground.deliver([Provider.mail: mail])
        #expect(summary.retried == 1)
        #expect(try await ground.statuses() == ["intended", "dropped", "dropped", "sent"])
        #expect(
            try await ground.reasons()[1...2].allSatisfy {
                $0 == "cannot render the notice: there is no title"
            })
        let errors = try await ground.texts("SELECT errors::text FROM errand.jobs")
        #expect(errors.count == 1)
        #expect(errors[0].contains("notice kind t.strange is not declared here"))
    }

    private func error(_ sql: String, in ground: Ground) async throws -> ServerError? {
        do {
            try await ground.run(sql)
            return nil
        } catch PostgresError.server(let error) {
            return error
        }
    }

    // "`notification.intend` takes any kind and any facts: `('coupon.bogus', …, '{}')` gives an
    // id, as does `payout.issued` with none of its facts".
    @Test func `unknown kinds and missing facts are refused, and nothing is recorded`() async throws
    {
        let ground = try await Ground()
        _ = try await ground.person()
        func intend(_ kind: String, _ data: String = "{}") async throws -> ServerError? {
            try await error(
                "SELECT notification.intend('\(kind)', 1, 's', '\(data)', 'k', '2099-01-01Z')",
                in: ground)
        }
        let bogus = try #require(try await intend("coupon.bogus"))
        #expect(bogus.sqlState == "22023")
        #expect(bogus.hint?.contains("coupon.nearby") == true)
        let payout = try #require(try await intend("payout.issued"))
        #expect(payout.sqlState == "22023")
        #expect(
            payout.message
                == "the facts of payout.issued: amount: expected an amount such as "
                + #"{"minor": 1230, "currency": "CAD"}; cheque: expected a text; "#
                + #"pay_date: expected a day such as "2026-11-20""#)
        try await ground.run("DELETE FROM notification.kinds")
        let early = try #require(try await intend("payout.issued"))
        #expect(early.sqlState == "RU002")
        #expect(early.hint == "Run errand migrate or start a worker, and call again.")
        #expect(try await ground.statuses().isEmpty)
        #expect(try await ground.number("SELECT count(*) FROM errand.jobs") == 0)
    }

    // "a `dedupe_key` used by another kind returns that other kind's event (7450 both times), in
    // silence".
    @Test(
        "the same key with other content is an error that names the notice",
        arguments: [
            ("'t.note'", "'t.code'"), ("', 1, '", "', 2, '"), ("'a subject'", "'another'"),
            ("Hello", "Good day"), ("'2099-01-01Z'", "'2099-01-01Z', 2"),
        ])
    func sameKey(part: String, replacement: String) async throws {
        let ground = try await Ground()
        for _ in 1...2 { _ = try await ground.person() }
        let id = try await ground.number(Self.good)
        let other = Self.good.replacing(part, with: replacement)
        #expect(other != Self.good)
        let refused = try #require(try await error(other, in: ground))
        #expect(refused.sqlState == "23505")
        #expect(refused.message.hasPrefix("notice \(id) has this dedupe_key with another kind"))
        #expect(try await ground.number(Self.good) == id)
        // Once its facts are deleted, they cannot be compared.
        try await ground.run("UPDATE notification.notices SET data = '{}', is_bare = true")
        #expect(try await ground.number(Self.good) == id)
    }

    @Test
    func `a notice to a blocked person is dropped without its facts, to an erased one not kept`()
        async throws
    {
        let ground = try await Ground()
        let ada = try await ground.person()
        try await ground.run("UPDATE people.people SET blocked_at = now()")
        let id = try await ground.number(Self.good)
        #expect(try await ground.number(Self.good) == id)
        #expect(try await ground.reasons() == ["blocked"])
        #expect(try await ground.texts("SELECT data::text FROM notification.notices") == ["{}"])
        #expect(try await ground.number("SELECT count(*) FROM errand.jobs") == 0)
        let answers = try await ground.notify(ground.intent(TestNotices.code, ada))
        #expect(answers.map(\.objection) == ["blocked"])
        #expect(
            try await ground.texts(
                "SELECT DISTINCT status || ' ' || data FROM notification.notices")
                == ["dropped {}"])
        try await ground.run("UPDATE people.people SET erased_at = now()")
        try await ground.run("DELETE FROM notification.notices")
        #expect(
            try await ground.texts(
                """
                SELECT notification.intend('t.code', 1, 's', '{"title": "!"}', 'x', '2099-01-01Z')
                    ::text
                """) == ["-"])
        let later = try await ground.notify(ground.intent(TestNotices.code, ada))
        #expect(later.map(\.objection) == ["the person was erased"])
        #expect(try await ground.statuses().isEmpty)
    }
}
