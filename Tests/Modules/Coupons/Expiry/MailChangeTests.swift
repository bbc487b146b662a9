import ErrandAdministration
import ErrandCoupons
import Foundation
import Errand
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

/// What happens between a decision and its mail.
extension MailTests {
    @Test func `only what depends on a place needs consent to notices by place`() async throws {
        let ada = try await town.person(agrees: false)
        let client = try await JobClient(pool: town.pool, redis: TestDatabase.here().redis)
        for kind in ["coupon.nearby", "account.changed"] {
            let delivery = try await town.number(
                """
                WITH made AS (
                    INSERT INTO notification.notices (person_id, kind, subject, dedupe_key,
                        expires_at, status)
                    VALUES ($1, $2, 'account', $2, now() + interval '1 hour', 'pending')
                    RETURNING id
                )
                INSERT INTO notification.deliveries (notice_id, provider, created_at)
                SELECT id, 'mail', now() FROM made RETURNING id
                """, [.int64(ada), .text(kind)])
            try await client.enqueue(EmailDelivery(deliveryID: delivery))
        }
        let account = NoticeCatalogue(
            [
                NoticeKind.couponNearby,
                NoticeKind("account.changed", app: .account, channels: [.email], fields: [:]),
            ],
            wording: AnyWording())
        try await withMailSink { sink in
            _ = try await TestWorker.drain(try kinds(sink, account), queues: Self.queues)
            #expect(try await town.notices().map(\.status) == ["withdrawn", "sent"])
            #expect(try sink.kept().count == 1)
        }
    }

    @Test(
        "what changed between the notice and its mail is heeded",
        arguments: [
            (
                "UPDATE people.people SET location_consent_at = NULL", "withdrawn",
                "withdrawn: the person has not agreed to notices by place"
            ),
            (
                "UPDATE notification.notices SET expires_at = now()", "expired",
                "expired: the notice has expired"
            ),
            (
                "UPDATE people.people SET email = NULL", "failed",
                "failed: there is no address that takes mail"
            ),
            (
                "UPDATE people.people SET email = 'no address'", "failed",
                "failed: the address is malformed"
            ),
            ("UPDATE notification.notices SET status = 'sent'", "sent", nil),
            ("DELETE FROM notification.notices", nil, "the notice is gone"),
        ] as [(String, String?, String?)])
    func changed(sql: String, status: String?, reason: String?) async throws {
        try await withMailSink { sink in
            try await town.reportPosition(try await person(), here)
            _ = try await TestWorker.drain(try kinds(sink), queues: [.init("coupons")])
            try await town.run(sql)
            _ = try await TestWorker.drain(try kinds(sink), queues: [.init("mail")])
            #expect(try sink.kept().isEmpty)
            let job = try await mailJob()
            #expect(job.state == (reason == nil ? .completed : .cancelled))
            #expect(job.reason == reason)
            #expect(try await town.notices().first?.status == status)
        }
    }
}
