import ErrandDelivery
import Foundation
import Errand
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Mails that are switched off by one click", .database) struct UnsubscribeTests {
    private static func page() throws -> UnsubscribePage {
        try UnsubscribePage(url: "https://survey.example/off?lang=en")
    }

    private func mails(_ sink: MailSink) throws -> [String: any Channel] {
        [
            Provider.mail: EmailChannel(
                mailer: SMTPMailer(try SMTPSettings(url: sink.url())),
                from: try Mailbox("offers@errand.example"))
        ]
    }

    private func token(_ ground: Ground, _ person: Int64) async throws -> String {
        try await ground.texts(
            "SELECT unsubscribe_token::text FROM people.people WHERE id = $1",
            [.int64(person)])[0]
    }

    private func unsubscribe(_ ground: Ground, _ token: String, _ kind: String) async throws -> Bool
    {
        try await ground.session.query(
            "SELECT notification.unsubscribe($1::text::uuid, $2)", [.text(token), .text(kind)]
        ).bool(0, 0)
    }

    private func choices(_ ground: Ground) async throws -> [String] {
        try await ground.texts(
            """
            SELECT concat_ws(' ', person_id, kind, channel, is_on)
            FROM notification.preferences ORDER BY person_id, kind, channel
            """)
    }

    @Test func `a mail has the link in its headers, its text and its HTML`() async throws {
        let ground = try await Ground()
        let ada = try await ground.person()
        let intent = Intent(
            "company.news", to: ada, of: "news:1",
            data: [UInt8](#"{"headline": "H", "summary": "S", "body": "B"}"#.utf8),
            dedupeKey: "news:1", expiresAt: Instant.now().adding(.seconds(86_400)))
        try await withMailSink { sink in
            let catalogue = try NoticeCatalogue.of([])
            let planner = NoticePlanner(catalogue, client: ground.client)
            try await ground.run("UPDATE people.people SET notice_time = '00:00'")
            // By its own time at least, or at once an hour after it.
            try await ground.pool.transaction { transaction in
                var calendar = Calendar(identifier: .gregorian)
                calendar.timeZone = .gmt
                let midnight = calendar.startOfDay(for: Date())
                try await planner.notify([intent], now: midnight, in: transaction)
            }
            var kinds = JobKinds()
            Deliveries(catalogue, channels: try mails(sink), unsubscribePage: try Self.page())
                .add(to: &kinds)
            _ = try await TestWorker.drain(kinds, queues: [.init("mail")])
            let entry = try #require(try sink.kept().first)
            let mail = try await ParsedMail(sink.folder.appending(path: entry.file))
            let link =
                "https://survey.example/off?lang=en&person=\(try await token(ground, ada))"
                + "&kind=company.news"
            #expect(mail.unsubscribe == "<\(link)>")
            #expect(mail.text.contains("\n\(link)"))
            #expect(mail.html?.contains(link.replacing("&", with: "&amp;")) == true)
            let raw = String(decoding: try sink.content(of: entry), as: UTF8.self)
            #expect(raw.contains("\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n"))
        }
    }

    @Test func `what is urgent has none, and without a page nothing has`() async throws {
        let ground = try await Ground()
        let ada = try await ground.person()
        try await ground.notify(
            ground.intent(TestNotices.code, ada), ground.intent(TestNotices.note, ada), now: Date())
        let channel = ScriptedChannel(.delivered(reply: "ok"))
        try await ground.deliver([Provider.mail: channel], unsubscribePage: try Self.page())
        let sent = Dictionary(uniqueKeysWithValues: channel.sent.all.map { ($0.kind.name, $0) })
        #expect(sent["t.code"]?.unsubscribe == nil)
        #expect(sent["t.code"]?.words.text == "t.code by email")
        let link = "https://survey.example/off?lang=en&person=\(try await token(ground, ada))"
        #expect(sent["t.note"]?.unsubscribe?.url == "\(link)&kind=t.note")
        #expect(sent["t.note"]?.words.text == "t.note by email, not at \(link)&kind=t.note")
        try await ground.notify(ground.intent(TestNotices.note, ada), now: Date())
        try await ground.deliver([Provider.mail: channel])
        #expect(channel.sent.all.last?.unsubscribe == nil)
    }

    @Test func `one click switches one kind of mail off, for one person, once and again`()
        async throws
    {
        let ground = try await Ground()
        let (ada, bob) = (try await ground.person(), try await ground.person())
        let (adas, bobs) = (try await token(ground, ada), try await token(ground, bob))
        #expect(adas != bobs)
        #expect(try await unsubscribe(ground, adas, "t.note"))
        #expect(try await unsubscribe(ground, adas, "t.note"))
        #expect(try await choices(ground) == ["\(ada) t.note email f"])
        try await ground.run("UPDATE notification.preferences SET is_on = true")
        #expect(try await unsubscribe(ground, adas, "*"))
        #expect(try await choices(ground) == ["\(ada) * email f", "\(ada) t.note email f"])
    }

    @Test func `a token that nobody has, and what is no kind, change nothing`() async throws {
        let ground = try await Ground()
        let ada = try await token(ground, try await ground.person())
        #expect(try await !unsubscribe(ground, UUID().uuidString, "t.note"))
        for kind in ["", "T.note", "t.note; DROP", String(repeating: "k", count: 101)] {
            #expect(try await !unsubscribe(ground, ada, kind), "\(kind)")
        }
        let rows = try await ground.session.query(
            """
            SELECT notification.unsubscribe(NULL, 't.note'),
                notification.unsubscribe($1::text::uuid, NULL)
            """, [.text(ada)])
        #expect(try rows.bool(0, 0) == false && rows.bool(0, 1) == false)
        #expect(try await choices(ground).isEmpty)
    }

    @Test func `a mail on its way is not sent after the click, and other ways stay`() async throws {
        let ground = try await Ground()
        let ada = try await ground.person()
        try await ground.device(of: ada, "token-1")
        try await ground.notify(ground.intent(TestNotices.note, ada), now: Date())
        _ = try await unsubscribe(ground, try await token(ground, ada), "t.note")
        let channel = ScriptedChannel(.delivered(reply: "ok"))
        try await ground.deliver([Provider.mail: channel, Provider.fcm: channel])
        #expect(channel.sent.count == 1)
        let rows = try await ground.texts(
            """
            SELECT concat_ws(' ', provider, status, reply) FROM notification.deliveries
            ORDER BY provider
            """)
        #expect(
            rows == ["fcm delivered ok", "mail withdrawn the person has switched it off"])
        #expect(try await ground.statuses() == ["sent"])
    }

    @Test func `a digest's link switches off the kind that it is of`() async throws {
        let ground = try await Ground()
        let ada = try await ground.person(quiet: ("00:00", "23:59"))
        for subject in ["one", "two"] {
            try await ground.notify(ground.intent(TestNotices.note, ada, of: subject))
        }
        try await ground.run("UPDATE people.people SET quiet_from = NULL, quiet_until = NULL")
        try await ground.decide(now: Ground.noon.addingTimeInterval(86_400))
        let channel = ScriptedChannel(
            .deferred(reason: "later", retryAfter: nil), .delivered(reply: "ok"))
        try await ground.deliver([Provider.mail: channel], unsubscribePage: try Self.page())
        let digest = try #require(channel.sent.all.first)
        #expect(digest.kind.name == "t.note.digest")
        let link = try #require(digest.unsubscribe)
        #expect(link.url.hasSuffix("&kind=t.note"))
        #expect(try await unsubscribe(ground, link.token, "t.note"))
        try await ground.hurry()
        try await ground.deliver([Provider.mail: channel])
        #expect(channel.sent.count == 1)
    }

    @Test(
        "what is no plain https address is refused",
        arguments: [
            "", "survey.example/off", "http://survey.example/off", "https://", "https:///off",
            "https://me:secret@survey.example/", "https://survey.example/off#top",
            "https://survey.example/o ff", "https://survey.example/?kind=x",
            "https://survey.example/<>", "https://survey.example/\r\nBcc: x",
            "https://survey.example/" + String(repeating: "k", count: 700),
        ])
    func badPage(url: String) {
        #expect(throws: DeliverySettingsError.self) { try UnsubscribePage(url: url) }
    }

    @Test func `a server that names the link for its refusal does not bring it into our rows`()
        async throws
    {
        let ground = try await Ground()
        let ada = try await ground.person()
        let token = try await token(ground, ada)
        try await ground.notify(ground.intent(TestNotices.note, ada), now: Date())
        let rule = "end=554 5.6.0 listed: https://x.example/?person=\(token.uppercased())&kind=k"
        try await withMailSink(["--fail", rule]) { sink in
            try await ground.deliver(try mails(sink), unsubscribePage: try Self.page())
        }
        let rows = try await ground.texts(
            """
            SELECT reply FROM notification.deliveries
            UNION ALL SELECT f::text FROM errand.finished_jobs f
            """)
        #expect(rows.contains { $0.contains("?person=***&kind=k") })
        #expect(!rows.contains { $0.lowercased().contains(token) })
    }
}
