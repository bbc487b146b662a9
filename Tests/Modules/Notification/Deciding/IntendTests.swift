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
            "SELECT notification.intend('t.note', 1, 's', '{}', 'k', now() - interval '1 second')")
        try await ground.deliver([:])
        #expect(try await ground.statuses() == ["expired"])
    }

    @Test func `a kind or data that nobody knows do not hold up the others`() async throws {
        let ground = try await Ground()
        _ = try await ground.person()
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
}
