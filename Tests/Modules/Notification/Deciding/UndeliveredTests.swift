import ErrandAdministration
import ErrandDelivery
import Foundation
import Errand
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
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
        try await ground.notify(ground.intent(TestNotices.near, ada), now: Date())
        #expect(try await CloseUndelivered.run(in: ground.pool, now: Date()) == (0, 0))
        #expect(try await rows(ground) == ["pending, pending"])
        try await kill(PushDelivery.kind, in: ground)
        #expect(try await CloseUndelivered.run(in: ground.pool, now: Date()) == (0, 1))
        let why = "its job died: worker 7 fell silent"
        #expect(try await rows(ground) == ["failed, \(why), failed, \(why)"])
        #expect(try await ground.number("SELECT count(*) FROM notification.cooldowns") == 0)
        #expect(try await CloseUndelivered.run(in: ground.pool, now: Date()) == (0, 0))
    }

    @Test func `what was answered before its job died stays as it is`() async throws {
        let ground = try await Ground()
        let ada = try await ground.person()
        try await ground.device(of: ada, "token-1", app: "survey", platform: "apns")
        try await ground.notify(ground.intent(TestNotices.near, ada), now: Date())
        try await ground.run(
            "UPDATE notification.deliveries SET status = 'delivered', answered_at = now()")
        try await kill(PushDelivery.kind, in: ground)
        #expect(try await CloseUndelivered.run(in: ground.pool, now: Date()) == (0, 0))
        #expect(try await rows(ground) == ["pending, delivered"])
    }

    @Test func `a notice of a kind that nobody declares is failed when its job is dead`()
        async throws
    {
        let ground = try await Ground()
        let ada = try await ground.person()
        try await ground.declare("t.strange")
        try await ground.run(
            """
            SELECT notification.intend('t.strange', $1, 'subject', '{}', 'event', now() + '1 day')
            """, [.int64(ada)])
        try await ground.run("UPDATE errand.jobs SET max_attempts = 1")
        try await ground.deliver([:])
        #expect(try await rows(ground) == ["intended"])
        #expect(try await CloseUndelivered.run(in: ground.pool, now: Date()) == (1, 0))
        let row = try #require(try await rows(ground).first)
        #expect(row.hasPrefix("failed, its job died: "), "\(row)")
        #expect(row.contains("notice kind t.strange is not declared here"), "\(row)")
    }

    @Test func `one that was held again after a job for it died waits for its own time`()
        async throws
    {
        let ground = try await Ground()
        let ada = try await ground.person(quiet: ("00:00", "23:59"))
        try await ground.notify(ground.intent(TestNotices.note, ada))
        try await kill(DecideNotice.kind, in: ground)
        #expect(try await CloseUndelivered.run(in: ground.pool, now: Date()) == (0, 0))
        #expect(try await ground.statuses() == ["held"])
        try await ground.run(
            "UPDATE notification.notices SET hold_until = now() - interval '1 hour'")
        #expect(try await CloseUndelivered.run(in: ground.pool, now: Date()) == (1, 0))
        #expect(try await ground.statuses() == ["failed"])
    }

    @Test func `jobs with arguments of any form do no harm`() async throws {
        let ground = try await Ground()
        for args in ["{}", #"{"delivery_id": "x"}"#, #"{"delivery_id": 1e300}"#, "[]"] {
            try await ground.run(
                "SELECT errand.enqueue('notification.push', $1::jsonb)", [.json(Array(args.utf8))])
        }
        try await kill(PushDelivery.kind, in: ground)
        #expect(try await CloseUndelivered.run(in: ground.pool, now: Date()) == (0, 0))
    }

    // MARK: Jobs of others

    /// A dead job that somebody has enqueued for a delivery or notice that is not theirs.
    private func forge(_ kind: String, _ args: String, in ground: Ground) async throws {
        try await ground.run(
            """
            INSERT INTO errand.finished_jobs (id, created_at, run_at, finished_at, keep_until,
                outcome, priority, attempt, max_attempts, args_version, queue, kind, reason, args)
            VALUES (nextval('errand.jobs_id_seq'), now(), now(), now(), 'infinity', 'dead', 2, 1,
                1, 1, 'mail', $1, 'forged', $2)
            """, [.text(kind), .json(Array(args.utf8))])
    }

    @Test func `a forged dead job ends no delivery whose own job is alive`() async throws {
        let ground = try await Ground()
        let ada = try await ground.person()
        try await ground.device(of: ada, "token-1", app: "survey", platform: "apns")
        try await ground.notify(ground.intent(TestNotices.near, ada), now: Date())
        let id = try await ground.number("SELECT id FROM notification.deliveries")
        for args in [#"{"delivery_id": "\#(id)"}"#, #"{"delivery_id": \#(id)}"#] {
            for kind in [PushDelivery.kind, EmailDelivery.kind] {
                try await forge(kind, args, in: ground)
            }
        }
        #expect(try await CloseUndelivered.run(in: ground.pool, now: Date()) == (0, 0))
        #expect(try await rows(ground) == ["pending, pending"])
        // A text is never a delivery's own, also when no other job is there.
        try await ground.run("DELETE FROM errand.jobs")
        try await ground.run(
            "DELETE FROM errand.finished_jobs WHERE args -> 'delivery_id' = $1",
            [.json(Array("\(id)".utf8))])
        #expect(try await CloseUndelivered.run(in: ground.pool, now: Date()) == (0, 0))
        #expect(try await rows(ground) == ["pending, pending"])
    }

    @Test func `a forged dead job ends no notice, parked delivery or event of another`()
        async throws
    {
        let ground = try await Ground()
        let ada = try await ground.person(quiet: ("00:00", "23:59"))
        try await ground.notify(ground.intent(TestNotices.note, ada))
        try await ground.run(
            "UPDATE notification.notices SET hold_until = now() - interval '1 hour'")
        let notice = try await ground.number("SELECT id FROM notification.notices")
        try await forge(DecideNotice.kind, #"{"notice_id": \#(notice)}"#, in: ground)
        #expect(try await CloseUndelivered.run(in: ground.pool, now: Date()) == (0, 0))
        #expect(try await ground.statuses() == ["held"])

        let parked = try await ground.number(
            """
            WITH made AS (
                INSERT INTO notification.deliveries (notice_id, created_at, provider)
                VALUES ($1, now(), 'mail') RETURNING id
            ) INSERT INTO notification.parked_deliveries (delivery_id, batch, queue, kind,
                args_version, priority, max_attempts)
            SELECT id, 'vote:1', 'mail', 'notification.email', 1, 2, 20 FROM made
            RETURNING delivery_id
            """, [.int64(notice)])
        try await forge(EmailDelivery.kind, #"{"delivery_id": \#(parked)}"#, in: ground)
        let event = try await ground.number(
            """
            WITH made AS (
                INSERT INTO notification.event_deliveries (event_id, endpoint_id) VALUES (1, 1)
                RETURNING id
            ) SELECT made.id FROM made, errand.enqueue('notification.webhook',
                jsonb_build_object('delivery_id', made.id))
            """)
        try await forge(WebhookDelivery.kind, #"{"delivery_id": \#(event)}"#, in: ground)
        #expect(try await CloseUndelivered.run(in: ground.pool, now: Date()) == (0, 0))
        let states = try await ground.texts(
            """
            SELECT status::text FROM notification.deliveries
            UNION ALL SELECT status::text FROM notification.event_deliveries
            """)
        #expect(states == ["pending", "pending"])
        // Without the true job, the dead one may be its own.
        try await ground.run("DELETE FROM errand.jobs WHERE kind = 'notification.webhook'")
        #expect(try await CloseUndelivered.run(in: ground.pool, now: Date()) == (0, 1))
    }

    // MARK: Cancelled

    private func cancelJobs(_ ground: Ground, reason: String? = nil) async throws {
        let jobs = try await ground.session.query("SELECT id FROM errand.jobs").map {
            try $0.int64(0)
        }
        #expect(!jobs.isEmpty)
        _ = try await Inspector(session: ground.session)
            .cancel(jobs, by: "ada", reason: reason)
    }

    @Test func `a delivery whose job was cancelled is withdrawn, and its notice with it`()
        async throws
    {
        let ground = try await Ground()
        let ada = try await ground.person()
        try await ground.device(of: ada, "token-1", app: "survey", platform: "apns")
        try await ground.notify(ground.intent(TestNotices.near, ada), now: Date())
        #expect(
            try await CloseUndelivered.withdrawCancelled(in: ground.pool, now: Date()) == (0, 0))
        try await cancelJobs(ground, reason: "failed: as it seems")
        #expect(
            try await CloseUndelivered.withdrawCancelled(in: ground.pool, now: Date()) == (0, 1))
        let why = "cancelled by an operator"
        #expect(try await rows(ground) == ["withdrawn, \(why), withdrawn, \(why)"])
        #expect(try await ground.number("SELECT count(*) FROM notification.cooldowns") == 0)
        #expect(
            try await CloseUndelivered.withdrawCancelled(in: ground.pool, now: Date()) == (0, 0))
    }

    @Test func `a notice whose job was cancelled is withdrawn, recorded or held`() async throws {
        let ground = try await Ground()
        let ada = try await ground.person(quiet: ("00:00", "23:59"))
        try await ground.notify(ground.intent(TestNotices.note, ada))
        try await ground.run(
            """
            SELECT notification.intend('t.note', $1, 'subject', '{"title": "t"}', 'event',
                now() + '1 day')
            """, [.int64(ada)])
        #expect(try await ground.statuses() == ["held", "intended"])
        try await cancelJobs(ground)
        #expect(
            try await CloseUndelivered.withdrawCancelled(in: ground.pool, now: Date()) == (2, 0))
        #expect(try await ground.statuses() == ["withdrawn", "withdrawn"])
        #expect(try await Set(ground.reasons()) == ["cancelled by an operator"])
    }

    @Test func `one that is held again after its job was cancelled waits for its own time`()
        async throws
    {
        let ground = try await Ground()
        let ada = try await ground.person(quiet: ("00:00", "23:59"))
        try await ground.notify(ground.intent(TestNotices.note, ada))
        try await cancelJobs(ground)
        try await ground.run(
            "UPDATE notification.notices SET hold_until = hold_until + interval '1 day'")
        #expect(
            try await CloseUndelivered.withdrawCancelled(in: ground.pool, now: Date()) == (0, 0))
        #expect(try await ground.statuses() == ["held"])
    }

    @Test func `what ends because its notice came to nothing is not looked at again`()
        async throws
    {
        let ground = try await Ground()
        let ada = try await ground.person()
        try await ground.device(of: ada, "token-1", app: "survey", platform: "apns")
        for sql in ["SET expires_at = now()", "SET location_consent_at = NULL", ""] {
            try await ground.notify(
                ground.intent(TestNotices.near, ada, of: sql), now: Date())
            if sql.contains("consent") {
                try await ground.run("UPDATE people.people \(sql)")
            } else if !sql.isEmpty {
                try await ground.run("UPDATE notification.notices \(sql)")
            }
            try await ground.deliver([
                Provider.apns: ScriptedChannel(.addressGone(reason: "410", since: nil))
            ])
            try await ground.run("UPDATE people.people SET location_consent_at = now()")
        }
        let reasons = try await ground.texts(
            "SELECT split_part(reason, ':', 1) FROM errand.finished_jobs ORDER BY id")
        #expect(reasons == ["expired", "withdrawn", "failed"])
        let size = try await ground.number(
            """
            SELECT count(*) FROM errand.finished_jobs
            WHERE outcome = 'cancelled' AND reason !~ '^(failed|expired|withdrawn): '
            """)
        #expect(size == 0)
    }

    @Test func `events that are long over are forgotten with their deliveries`() async throws {
        let ground = try await Ground()
        try await ground.run(
            """
            INSERT INTO notification.events (kind, owner, data, occurred_at, expires_at, dedupe_key)
            SELECT 'sale', 'app:survey', '{}', now(), now() - n * interval '1 day', 'sale:' || n
            FROM generate_series(1, 1200) AS n
            """, [])
        try await ground.run(
            """
            INSERT INTO notification.event_deliveries (event_id, endpoint_id)
            SELECT e.id, n FROM notification.events e, generate_series(1, 2) AS n
            """, [])
        async let first = ForgetEvents.run(in: ground.pool, now: Date())
        async let second = ForgetEvents.run(in: ground.pool, now: Date())
        #expect(try await first + second == 1_111)
        let left = try await ground.texts(
            """
            SELECT e.dedupe_key || ' ' || count(d.id) FROM notification.events e
            LEFT JOIN notification.event_deliveries d ON d.event_id = e.id
            GROUP BY e.id ORDER BY e.id
            """)
        #expect(left == (1..<90).map { "sale:\($0) 2" })
        #expect(
            try await ground.texts("SELECT count(*)::text FROM notification.event_deliveries")
                == ["178"])
    }
}
