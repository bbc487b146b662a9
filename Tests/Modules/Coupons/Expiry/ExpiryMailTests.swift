import ErrandAdministration
import ErrandCoupons
import ErrandDelivery
import Foundation
import Errand
import ErrandNotification
import ErrandPostgres
import ErrandRecurrence
import ErrandTestServices
import Testing

@Suite("From a schedule to the mail of coupons that expire", .database) struct ExpiryMailTests {
    private static let queues = [WorkerOptions.Queue("coupons"), .init("mail")]

    private func drain(_ sink: MailSink) async throws -> WorkerSummary {
        var kinds = JobKinds()
        CouponKinds.add(to: &kinds, notices: Town.catalogue, sealing: nil)
        let mail = EmailChannel(
            mailer: SMTPMailer(try SMTPSettings(url: sink.url())),
            from: try Mailbox("offers@errand.example"))
        Deliveries(Town.catalogue, channels: [Provider.mail: mail]).add(to: &kinds)
        return try await TestWorker.drain(kinds, queues: Self.queues)
    }

    /// What `errand schedule tick --now` does; returns how many jobs it made.
    private func tick(_ time: String) async throws -> Int {
        let scheduler = Scheduler(
            database: try TestDatabase.here().url,
            clock: .given(Instant(date: try moment(time)), pace: 0), zones: ZoneDatabase(),
            timeout: .seconds(20), log: .silent)
        return try await scheduler.tick().enqueued
    }

    @Test func `each hour a job goes by its own time, and people get one mail`() async throws {
        let ground = try await ExpiryGround()
        let (ada, bob) = (
            try await ground.town.person("ada@example.org", zone: "America/Toronto"),
            try await ground.town.person("bob@example.org", zone: "America/Toronto")
        )
        for title in ["Café <& thé>: 2 for 1", "A surprise"] {
            _ = try await ground.town.coupon(
                of: ada, at: ground.shop, title, until: "2098-06-19T04:00:00Z")
        }
        _ = try await ground.town.coupon(
            of: bob, at: ground.shop, "A free coffee", until: "2098-06-17T04:00:00Z")
        try await withMailSink { sink in
            // The worker declares the schedule. Of all the hours since then the latest gets the
            // job, at which it is too early in the day to tell anybody. Each hour has one other
            // job, of the schedule that takes note of what has expired.
            _ = try await drain(sink)
            #expect(try await tick("2098-06-15T09:30:00Z") == 2)
            #expect(try await drain(sink).completed == 2)
            #expect(try await tick("2098-06-15T09:40:00Z") == 0)
            // Of the hours that were missed the latest gets the job.
            #expect(try await tick("2098-06-15T14:20:00Z") == 2)
            #expect(try await drain(sink).completed == 4)
            #expect(try await tick("2098-06-15T15:00:00Z") == 2)
            #expect(try await drain(sink).completed == 2)

            let jobs = try await ground.town.jobs(RemindOfExpiry.kind)
            #expect(jobs.map(\.state) == [.completed, .completed, .completed])
            #expect(jobs.allSatisfy { String(decoding: $0.args, as: UTF8.self) == "{}" })
            var mails: [ParsedMail] = []
            for entry in try sink.kept() {
                mails.append(try await ParsedMail(sink.folder.appending(path: entry.file)))
            }
            mails.sort { $0.to[1] < $1.to[1] }
            #expect(
                mails.map(\.subject) == [
                    "2 of your coupons expire in 3 days", "A free coffee expires tomorrow",
                ])
            #expect(mails.map(\.defects) == [[], []])
            #expect(
                mails.map { $0.text.split(whereSeparator: \.isNewline) } == [
                    [
                        "These coupons of yours expire in 3 days:", "    Café <& thé>: 2 for 1",
                        "    A surprise",
                        "Their last day is Wednesday 18 June. Show them in the app.",
                        "You get this because you hold coupons in the app.",
                    ],
                    [
                        "This coupon of yours expires tomorrow:", "    A free coffee",
                        "Its last day is Monday 16 June. Show it in the app.",
                        "You get this because you hold coupons in the app.",
                    ],
                ])
            #expect(mails.first?.html?.contains("Café &lt;&amp; thé&gt;: 2 for 1") == true)
            #expect(try await ground.town.notices().map(\.status) == ["sent", "sent"])
        }
    }

    @Test func `a mail that did not get out that day is not sent`() async throws {
        let ground = try await ExpiryGround()
        let ada = try await ground.person(expiring: "2026-06-16T12:00:00Z")
        #expect(try await ground.run("2026-06-15T14:00:00Z") == 1)
        try await withMailSink { sink in
            // By the real clock that day is long over.
            let summary = try await drain(sink)
            #expect(summary.cancelled == 1)
            #expect(try sink.kept().isEmpty)
        }
        let delivery = try await ground.town.session.query(
            "SELECT status::text FROM notification.deliveries")
        #expect(try delivery.map { try $0.text(0) } == ["expired"])
        // It is in the inbox all the same.
        #expect(try await ground.town.notices().map(\.status) == ["sent"])
        #expect(try await ground.reminded().map(\.person) == [ada])
    }

    @Test func `a job that no schedule made goes by the clock`() async throws {
        let ground = try await ExpiryGround()
        // A zone where it is from 14:00 to 14:59 now, or was until a moment ago.
        let hour = Int(Date().timeIntervalSince1970) / 3_600 % 24
        let ahead = 14 - hour
        let zone = "Etc/GMT\(ahead > 0 ? "-" : "+")\(abs(ahead))"
        let day = LocalDay(
            of: Int(Date().timeIntervalSince1970), adding: 1,
            in: try ZoneDatabase().zone(named: zone))
        let expiry = Instant(unixSeconds: day.seconds.lowerBound + 43_200).description
        let ada = try await ground.person(in: zone, expiring: expiry)
        let client = try await JobClient(pool: ground.town.pool)
        try await client.enqueue(RemindOfExpiry())
        try await withMailSink { sink in
            let summary = try await drain(sink)
            #expect(summary.completed == 2)
            #expect(try sink.kept().count == 1)
        }
        #expect(try await ground.reminded() == [Reminded(ada, 1, day.date, [expiry])])
    }
}
