import ErrandAdministration
import ErrandDelivery
import Foundation
import Errand
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

/// "A direct mail whose job died or was cancelled keeps address, facts and secret link: for months,
/// or for ever".
@Suite("Ends of mails to people without an account", .database) struct DirectMailEndTests {
    @discardableResult
    private func send(
        in ground: Ground, key: String = "invitation:4", to address: String = "kim@example.org",
        kind: String = "t.pin", expires: String = "now() + interval '89 days'"
    ) async throws -> Int64 {
        try await ground.number(
            """
            SELECT notification.mail_to('\(kind)', '\(address)', 'en', '{"title": "Hello"}',
                '{"pin": "open sesame"}', '\(key)', \(expires))
            """)
    }

    private func rows(in ground: Ground) async throws -> [String] {
        try await ground.texts(
            """
            SELECT concat_ws(' ', m.status, m.reply, m.address, m.data,
                (SELECT count(*) FROM notification.direct_secrets s WHERE s.mail_id = m.id))
            FROM notification.direct_mails m ORDER BY m.id
            """)
    }

    /// Ends all jobs as those of killed workers, on their last attempt.
    private func kill(in ground: Ground) async throws {
        try await ground.run(
            """
            WITH ended AS (DELETE FROM errand.jobs RETURNING *)
            INSERT INTO errand.finished_jobs (id, created_at, run_at, finished_at, keep_until,
                outcome, priority, attempt, max_attempts, args_version, queue, kind, reason, args)
            SELECT id, created_at, run_at, now(), 'infinity', 'dead', priority, max_attempts,
                max_attempts, args_version, queue, kind, 'worker 7 fell silent', args
            FROM ended
            """)
    }

    @Test func `the mail of a dead job fails, and keeps no address and no facts`() async throws {
        let ground = try await Ground()
        try await send(in: ground)
        try await kill(in: ground)
        let open = try await send(in: ground, key: "invitation:5")
        #expect(try await CloseUndelivered.run(in: ground.pool, now: Date()) == (0, 1))
        #expect(
            try await rows(in: ground) == [
                "failed its job died: worker 7 fell silent {} 0",
                #"pending kim@example.org {"title": "Hello"} 1"#,
            ])
        // Not the job of somebody else, while its own is alive.
        try await ground.run(
            """
            INSERT INTO errand.finished_jobs (id, created_at, run_at, finished_at, keep_until,
                outcome, priority, attempt, max_attempts, args_version, queue, kind, reason, args)
            VALUES (nextval('errand.jobs_id_seq'), now(), now(), now(), 'infinity', 'dead', 2, 1,
                1, 1, 'mail', $1, 'forged', $2)
            """, [.text(DirectMail.kind), .json(Array(#"{"mail_id": \#(open)}"#.utf8))])
        #expect(try await CloseUndelivered.run(in: ground.pool, now: Date()) == (0, 0))
        // A job that is retried finds nothing to send.
        let mail = ScriptedChannel(.delivered(reply: "250"))
        try await ground.run(
            "SELECT errand.enqueue_own('notification.direct_mail', $1)",
            [
                .json(Array(#"{"mail_id": 1}"#.utf8))
            ])
        try await ground.deliver([Provider.mail: mail])
        #expect(mail.sent.count == 1)
        #expect(
            try await rows(in: ground) == [
                "failed its job died: worker 7 fell silent {} 0", "delivered 250 {} 0",
            ])
    }

    @Test func `the mail of a cancelled job is withdrawn`() async throws {
        let ground = try await Ground()
        try await send(in: ground)
        #expect(
            try await CloseUndelivered.withdrawCancelled(in: ground.pool, now: Date()) == (0, 0))
        let jobs = try await ground.session.query("SELECT id FROM errand.jobs").map {
            try $0.int64(0)
        }
        _ = try await Inspector(session: ground.session).cancel(jobs, by: "ada")
        #expect(
            try await CloseUndelivered.withdrawCancelled(in: ground.pool, now: Date()) == (0, 1))
        #expect(try await rows(in: ground) == ["withdrawn cancelled by an operator {} 0"])
        #expect(
            try await CloseUndelivered.withdrawCancelled(in: ground.pool, now: Date()) == (0, 0))
    }

    @Test func `a mail of a kind that nobody has fails with its last attempt`() async throws {
        let ground = try await Ground()
        try await ground.run(
            """
            INSERT INTO notification.kinds (kind, app, urgency, channels, facts, secrets)
            VALUES ('t.strange', 'account', 'urgent', '{email}', '{}', '{pin}')
            """)
        try await send(in: ground, kind: "t.strange")
        try await ground.run("UPDATE errand.jobs SET max_attempts = 2")
        let mail = ScriptedChannel(.delivered(reply: "250"))
        try await ground.deliver([Provider.mail: mail])
        let why = "notice kind t.strange is not declared here"
        #expect(
            try await rows(in: ground) == [#"pending \#(why) kim@example.org {"title": "Hello"} 1"#]
        )
        try await ground.run("UPDATE errand.jobs SET run_at = now()")
        try await ground.deliver([Provider.mail: mail])
        #expect(try await rows(in: ground) == ["failed \(why) {} 0"])
        #expect(mail.sent.count == 0)
    }

    @Test func `no mail waits longer than 90 days`() async throws {
        let ground = try await Ground()
        await #expect {
            try await send(in: ground, expires: "now() + interval '91 days'")
        } throws: {
            "\($0)".contains("expires_at: expected at most 90 days from now")
        }
        // Those that wait do not keep the retention from the others.
        for key in ["a", "b", "c", "d"] { try await send(in: ground, key: key) }
        try await ground.run(
            """
            UPDATE notification.direct_mails SET created_at = now() - interval '89 days'
            """)
        try await ground.run(
            "UPDATE notification.direct_mails SET status = 'delivered' WHERE dedupe_key = 'd'")
        for (isCount, found) in [("true", 1), ("false", 1), ("false", 0)] {
            #expect(
                try await ground.number(
                    """
                    SELECT notification.forget_direct_mails(now() - interval '10 days', 1,
                        \(isCount))
                    """) == found)
        }
        #expect(try await rows(in: ground).count == 3)
    }

    // "`mail_to` mails to people who are blocked … against 'no notice'".
    @Test func `a mail to the address of a blocked person is recorded, and not sent`() async throws
    {
        let ground = try await Ground()
        let ada = try await ground.person(email: "Ada@Example.org")
        try await ground.run(
            "UPDATE people.people SET blocked_at = now() WHERE id = $1", [.int64(ada)])
        let id = try await send(in: ground, to: "ada@example.org")
        #expect(try await send(in: ground, to: "ada@example.org") == id)
        #expect(try await rows(in: ground) == ["withdrawn blocked {} 0"])
        #expect(try await ground.number("SELECT count(*) FROM errand.jobs") == 0)
        // Somebody else has the address too, and is not blocked.
        _ = try await ground.person(email: "ada@example.org")
        try await send(in: ground, key: "invitation:5", to: "ada@example.org")
        let mail = ScriptedChannel(.delivered(reply: "250"))
        try await ground.deliver([Provider.mail: mail])
        #expect(mail.sent.count == 1)
        #expect(
            try await rows(in: ground) == ["withdrawn blocked {} 0", "delivered 250 {} 0"])
    }
}
