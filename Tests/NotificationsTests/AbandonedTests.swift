import Delivery
import Foundation
import JobQueue
import Notifications
import Postgres
import TestServices
import Testing

@Suite("Notices whose jobs have died", .database) struct AbandonedTests {
    /// What a worker that was killed on a job's last attempt leaves behind.
    private func kill(_ kind: String, in ground: Ground) async throws {
        try await ground.run(
            """
            WITH ended AS (DELETE FROM errand.jobs WHERE kind = $1 RETURNING *)
            INSERT INTO errand.finished_jobs (id, created_at, run_at, finished_at, keep_until,
                outcome, priority, attempt, max_attempts, args_version, queue, kind, reason, args)
            SELECT id, created_at, run_at, now(), 'infinity', 'dead', priority, max_attempts,
                max_attempts, args_version, queue, kind, 'worker 7 fell silent', args
            FROM ended
            """, [.text(kind)])
    }

    private func rows(_ ground: Ground) async throws -> [String] {
        try await ground.texts(
            """
            SELECT concat_ws(', ', n.status, n.reason, d.status, d.reply)
            FROM notification.notices n
            LEFT JOIN notification.deliveries d ON d.notice_id = n.id ORDER BY n.id
            """)
    }

    @Test func `a delivery is failed, its notice with it, and the person may be told again`()
        async throws
    {
        let ground = try await Ground()
        let ada = try await ground.person()
        try await ground.device(of: ada, "token-1", app: "survey", platform: "apns")
        try await ground.tell(ground.intent(TestNotices.near, ada), now: Date())
        #expect(try await EndAbandoned.run(in: ground.pool, now: Date()) == (0, 0))
        #expect(try await rows(ground) == ["pending, pending"])
        try await kill(PushDelivery.kind, in: ground)
        #expect(try await EndAbandoned.run(in: ground.pool, now: Date()) == (0, 1))
        let why = "its job died: worker 7 fell silent"
        #expect(try await rows(ground) == ["failed, \(why), failed, \(why)"])
        #expect(try await ground.number("SELECT count(*) FROM notification.cooldowns") == 0)
        #expect(try await EndAbandoned.run(in: ground.pool, now: Date()) == (0, 0))
    }

    @Test func `what was answered before its job died stays as it is`() async throws {
        let ground = try await Ground()
        let ada = try await ground.person()
        try await ground.device(of: ada, "token-1", app: "survey", platform: "apns")
        try await ground.tell(ground.intent(TestNotices.near, ada), now: Date())
        try await ground.run(
            "UPDATE notification.deliveries SET status = 'delivered', answered_at = now()")
        try await kill(PushDelivery.kind, in: ground)
        #expect(try await EndAbandoned.run(in: ground.pool, now: Date()) == (0, 0))
        #expect(try await rows(ground) == ["pending, delivered"])
    }

    @Test func `a notice of a kind that nobody declares is failed when its job is dead`()
        async throws
    {
        let ground = try await Ground()
        let ada = try await ground.person()
        try await ground.run(
            """
            SELECT notification.intend('t.strange', $1, 'subject', '{}', 'event', now() + '1 day')
            """, [.int64(ada)])
        try await ground.run("UPDATE errand.jobs SET max_attempts = 1")
        try await ground.deliver([:])
        #expect(try await rows(ground) == ["intended"])
        #expect(try await EndAbandoned.run(in: ground.pool, now: Date()) == (1, 0))
        let row = try #require(try await rows(ground).first)
        #expect(row.hasPrefix("failed, its job died: "), "\(row)")
        #expect(row.contains("no notices of kind t.strange are declared here"), "\(row)")
    }

    @Test func `one that was held again after a job for it died waits for its own time`()
        async throws
    {
        let ground = try await Ground()
        let ada = try await ground.person(quiet: ("00:00", "23:59"))
        try await ground.tell(ground.intent(TestNotices.note, ada))
        try await kill(DecideNotice.kind, in: ground)
        #expect(try await EndAbandoned.run(in: ground.pool, now: Date()) == (0, 0))
        #expect(try await ground.statuses() == ["held"])
        try await ground.run(
            "UPDATE notification.notices SET hold_until = now() - interval '1 hour'")
        #expect(try await EndAbandoned.run(in: ground.pool, now: Date()) == (1, 0))
        #expect(try await ground.statuses() == ["failed"])
    }

    @Test func `jobs with arguments of any form do no harm`() async throws {
        let ground = try await Ground()
        for args in ["{}", #"{"delivery_id": "x"}"#, #"{"delivery_id": 1e300}"#, "[]"] {
            try await ground.run(
                "SELECT errand.enqueue('notification.push', $1::jsonb)", [.json(Array(args.utf8))])
        }
        try await kill(PushDelivery.kind, in: ground)
        #expect(try await EndAbandoned.run(in: ground.pool, now: Date()) == (0, 0))
    }
}
