import ErrandAdministration
import ErrandCoupons
import ErrandDelivery
import Foundation
import Errand
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("From a position to a mail", .database) struct MailTests {
    let town: Town
    let here = Place.montreal
    static let queues = [WorkerOptions.Queue("coupons"), .init("mail")]

    init() throws { town = try Town() }

    func kinds(
        _ sink: MailSink, _ catalogue: NoticeCatalogue = Town.catalogue
    ) throws -> JobKinds {
        var kinds = JobKinds()
        CouponKinds.add(to: &kinds, notices: Town.catalogue, sealing: nil)
        let mail = EmailChannel(
            mailer: SMTPMailer(try SMTPSettings(url: sink.url())),
            from: try Mailbox("offers@errand.example", displayName: "Errand"))
        Deliveries(catalogue, channels: [Provider.mail: mail]).add(to: &kinds)
        return kinds
    }

    /// A person with one coupon, 42 metres from where it counts.
    func person(_ email: String? = "ada@example.org") async throws -> Int64 {
        let person = try await town.person(email, zone: "America/Toronto")
        let cafe = try await town.establishment(at: here.north(42))
        _ = try await town.coupon(
            of: person, at: cafe, "Café <& thé>: 2 for 1", until: "2098-07-01T04:00:00Z")
        return person
    }

    func drain(_ sink: MailSink) async throws -> WorkerSummary {
        try await TestWorker.drain(try kinds(sink), queues: Self.queues)
    }

    func mailJob() async throws -> JobRecord {
        let jobs = try await town.jobs(EmailDelivery.kind)
        #expect(jobs.count == 1)
        return try #require(jobs.first)
    }

    func notice() async throws -> Notice {
        let notices = try await town.notices()
        #expect(notices.count == 1)
        return try #require(notices.first)
    }

    @Test func `a report becomes one mail with the right address and words`() async throws {
        try await withMailSink { sink in
            let id = try await town.reportPosition(try await person(), here)
            let summary = try await drain(sink)
            #expect(summary.completed == 2)

            let kept = try sink.kept()
            #expect(kept.map(\.to) == [["ada@example.org"]])
            #expect(kept.map(\.from) == ["offers@errand.example"])
            let entry = try #require(kept.first)
            let mail = try await ParsedMail(sink.folder.appending(path: entry.file))
            #expect(mail.to == ["", "ada@example.org"])
            #expect(mail.from == ["Errand", "offers@errand.example"])
            #expect(mail.subject == "Café <& thé>: 2 for 1, 40 m from you")
            #expect(
                mail.text.split(whereSeparator: \.isNewline) == [
                    "You are about 40 m from Branch 1, where your coupon counts:",
                    "    Café <& thé>: 2 for 1",
                    "It is good until Monday 30 June. Show it in the app.",
                    "You get this because you asked for offers near you; turn it off in the app.",
                ])
            #expect(mail.html?.contains("Café &lt;&amp; thé&gt;: 2 for 1") == true)
            #expect(mail.html?.contains("<& thé>") == false)
            #expect(mail.defects.isEmpty)
            let publicID = try await town.session.query(
                "SELECT public_id::text FROM notification.notices"
            ).text(0, 0)
            #expect(mail.message_id == "<\(publicID)@errand.example>")

            #expect(try await town.job(id)?.state == .completed)
            let job = try await mailJob()
            #expect(job.state == .completed)
            #expect(job.attempt == 1)
            let notice = try await notice()
            #expect(notice.status == "sent")
            #expect(notice.reason == "250 2.0.0 kept")
        }
    }

    @Test func `the same walk reported again and again stays one mail`() async throws {
        try await withMailSink { sink in
            let person = try await person()
            for step in 0..<5 {
                try await town.reportPosition(person, here.north(Double(step)))
                _ = try await drain(sink)
            }
            #expect(try sink.kept().count == 1)
            #expect(
                try await town.jobs(PositionReport.kind).map(\.state)
                    == Array(repeating: .completed, count: 5))
        }
    }

    @Test func `why a report led to nothing can be looked up`() async throws {
        let ada = try await person()
        let late = try await town.reportPosition(
            ada, here, at: Date(timeIntervalSinceNow: -1_200))
        let poor = try await town.reportPosition(
            try await person("bob@example.org"), here, accuracy: 400)
        let unknown = try await town.reportPosition(999, here)
        try await withMailSink { sink in
            let summary = try await drain(sink)
            #expect(summary.cancelled == 3)
            #expect(try sink.kept().isEmpty)
        }
        var found: [String] = []
        for id in [late, poor, unknown] {
            let job = try #require(try await town.job(id))
            #expect(job.state == .cancelled)
            found.append(job.reason ?? "")
        }
        let age = try #require(found[0].wholeMatch(of: /too old: ([0-9]+) s; the limit is 600 s/))
        #expect(try #require(Int(age.output.1)) >= 1_200)
        #expect(found[1] == "accuracy 400 m is worse than the radius of 150 m")
        #expect(found[2] == "no consent to notices by place")
        #expect(try await town.notices().isEmpty)
    }

    @Test(
        "a server that refuses for now is asked again, and the mail is sent once",
        arguments: [
            ("rcpt#1=450 4.2.0 greylisted", "450 4.2.0 greylisted"),
            ("end#1=451 4.3.0 later", "451 4.3.0 later"),
        ])
    func temporaryRefusal(rule: String, words: String) async throws {
        try await withMailSink(["--fail", rule]) { sink in
            try await town.reportPosition(try await person(), here)
            let summary = try await drain(sink)
            #expect(summary.retried == 1)
            let waiting = try await mailJob()
            #expect(waiting.state == .retrying)
            #expect(String(decoding: waiting.errors, as: UTF8.self).contains(words))
            #expect(waiting.runAt > .now())
            #expect(try await notice().status == "pending")
            #expect(try sink.kept().isEmpty)

            // The operator's way of not waiting longer.
            _ = try await Inspector(session: town.session).retry([waiting.id])
            #expect(try await drain(sink).completed == 1)
            #expect(try sink.kept().map(\.to) == [["ada@example.org"]])
            let job = try await mailJob()
            #expect(job.state == .completed)
            #expect(job.attempt == 2)
            #expect(try await notice().status == "sent")
        }
    }

    @Test func `a server that takes nothing at all costs no attempt`() async throws {
        try await withMailSink(["--fail", "connect#1=421 4.3.2 too busy"]) { sink in
            try await town.reportPosition(try await person(), here)
            #expect(try await drain(sink).snoozed == 1)
            try await town.session.script("UPDATE errand.jobs SET run_at = clock_timestamp()")
            #expect(try await drain(sink).completed == 1)
            #expect(try await mailJob().attempt == 1)
        }
    }

    @Test func `when the server's answer is lost, both copies have one Message-ID`() async throws {
        try await withMailSink(["--fail", "end#1=drop"]) { sink in
            try await town.reportPosition(try await person(), here)
            #expect(try await drain(sink).retried == 1)
            let waiting = try await mailJob()
            #expect(
                String(decoding: waiting.errors, as: UTF8.self).contains("may have accepted"))
            _ = try await Inspector(session: town.session).retry([waiting.id])
            #expect(try await drain(sink).completed == 1)
            let kept = try sink.kept()
            #expect(kept.count == 2)
            #expect(Set(kept.map(\.message_id)).count == 1)
        }
    }

    @Test func `an address that is refused for good is not asked again`() async throws {
        try await withMailSink(["--fail", "rcpt=550 5.1.1 no such user"]) { sink in
            let person = try await person()
            try await town.reportPosition(person, here)
            let summary = try await drain(sink)
            #expect(summary.cancelled == 1)
            #expect(summary.retried == 0)
            let job = try await mailJob()
            #expect(job.state == .cancelled)
            #expect(job.attempt == 1)
            let first = try await notice()
            #expect(first.status == "failed")
            #expect(first.reason?.contains("550 5.1.1 no such user") == true)
            #expect(job.reason == "failed: \(first.reason ?? "")")

            // The address is known to be bad now, and the server is not asked again.
            let bakery = try await town.establishment(at: here)
            _ = try await town.coupon(of: person, at: bakery)
            let next = try await town.reportPosition(person, here)
            #expect(try await drain(sink).cancelled == 1)
            #expect(
                try await town.job(next)?.reason
                    == "no device of the app and no address that takes mail")
            #expect(try await town.notices().map(\.status) == ["failed"])
        }
    }

    @Test(
        "a server that names the person's address does not make us tell it",
        arguments: ["550 5.1.1", "450 4.2.0", "550 5.7.1"])
    func namedAddress(code: String) async throws {
        let answer = "\(code) <ada@example.org>: Recipient address rejected"
        try await withMailSink(["--fail", "rcpt=\(answer)"]) { sink in
            try await town.reportPosition(try await person(), here)
            let lines = Notebook<String>()
            let log = Log(minimum: .debug) { lines.add("\($0.message) \($0.fields)") }
            _ = try await TestWorker.drain(try kinds(sink), queues: Self.queues, log: log)
            let rows = try await town.session.query(
                """
                SELECT j::text FROM errand.jobs j UNION ALL
                SELECT f::text FROM errand.finished_jobs f UNION ALL
                SELECT n::text FROM notification.notices n
                """)
            let told = lines.all + (try rows.map { try $0.text(0) })
            #expect(told.contains { $0.contains("\(code) <address>: Recipient address") })
            #expect(told.filter { $0.contains("ada@") }.isEmpty)
        }
    }

    @Test func `a mail that is refused for its content does not condemn the address`() async throws
    {
        try await withMailSink(["--fail", "end=554 5.6.0 no"]) { sink in
            let ada = try await person()
            try await town.reportPosition(ada, here)
            #expect(try await drain(sink).dead == 1)
            #expect(try await mailJob().reason?.contains("554 5.6.0 no") == true)
            let refused = try await town.number(
                "SELECT count(*) FROM people.people WHERE email_refused_at IS NOT NULL")
            #expect(refused == 0)
            // The same words would be refused again: not before the person's next turn.
            try await town.reportPosition(ada, here)
            #expect(try await drain(sink).completed == 1)
            #expect(try await town.notices().count == 1)
        }
    }

    @Test(
        "who was not told can be told by the next report",
        arguments: [
            ("UPDATE notification.notices SET expires_at = now()", nil, "expired"),
            ("UPDATE people.people SET email = 'no address'", nil, "failed"),
            ("UPDATE people.people SET email = NULL", nil, "failed"),
            ("SELECT 1", "rcpt#1=550 5.1.1 no such user", "failed"),
        ] as [(String, String?, String)])
    func notTold(sql: String, rule: String?, status: String) async throws {
        try await withMailSink(rule.map { ["--fail", $0] } ?? []) { sink in
            let ada = try await person()
            try await town.reportPosition(ada, here)
            _ = try await TestWorker.drain(try kinds(sink), queues: [.init("coupons")])
            try await town.run(sql)
            _ = try await TestWorker.drain(try kinds(sink), queues: [.init("mail")])
            #expect(try await town.notices().map(\.status) == [status])
            #expect(try sink.kept().isEmpty)

            try await town.run(
                "UPDATE people.people SET email = 'ada@example.com', email_refused_at = NULL")
            try await town.reportPosition(ada, here)
            _ = try await drain(sink)
            #expect(try await town.notices().map(\.status) == [status, "sent"])
            #expect(try sink.kept().map(\.to) == [["ada@example.com"]])
        }
    }

    @Test func `an address that was changed while the mail was on its way is not blamed`()
        async throws
    {
        let ada = try await person()
        try await town.session.script(
            """
            CREATE FUNCTION public.move() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                UPDATE people.people SET email = 'ada@example.com';
                RETURN NEW;
            END $$;
            CREATE TRIGGER move BEFORE UPDATE ON notification.notices
                FOR EACH ROW EXECUTE FUNCTION public.move();
            """)
        try await withMailSink(["--fail", "rcpt:*@example.org=550 5.1.1 no such user"]) { sink in
            try await town.reportPosition(ada, here)
            #expect(try await drain(sink).cancelled == 1)
            try await town.reportPosition(ada, here)
            #expect(try await drain(sink).completed == 2)
            #expect(try sink.kept().map(\.to) == [["ada@example.com"]])
        }
    }

    @Test func `an address that no mail can be sent to is not tried again`() async throws {
        let ada = try await person("no address")
        try await withMailSink { sink in
            try await town.reportPosition(ada, here)
            #expect(try await drain(sink).cancelled == 1)
            let next = try await town.reportPosition(ada, here)
            #expect(try await drain(sink).cancelled == 1)
            #expect(
                try await town.job(next)?.reason
                    == "no device of the app and no address that takes mail")
            #expect(try await town.notices().map(\.status) == ["failed"])
        }
    }

    @Test func `a notice that comes too late leaves the wait after a later one alone`()
        async throws
    {
        let ada = try await person()
        let now = Date()
        let late = try await town.look(ada, at: here, now: now.addingTimeInterval(-90_000)).notices
        #expect(late.count == 1)
        try await town.look(ada, at: here.north(1_000), now: now.addingTimeInterval(-80_000))
        #expect(try await town.look(ada, at: here, now: now).notices.count == 1)
        try await withMailSink { sink in
            let summary = try await drain(sink)
            #expect(summary.cancelled == 1)
            #expect(summary.completed == 1)
        }
        #expect(try await town.notices().map(\.status) == ["expired", "sent"])
        try await town.look(ada, at: here.north(1_000), now: now.addingTimeInterval(50))
        let later = try await town.look(ada, at: here, now: now.addingTimeInterval(60))
        #expect(later.notices.isEmpty)
    }
}
