import ErrandDelivery
import Errand
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

/// "Withdrawn invitations, replaced codes and used links are mailed all the same".
@Suite("Events that are called off", .database) struct CallOffTests {
    private func intend(in ground: Ground, _ key: String) async throws {
        try await ground.run(
            """
            SELECT notification.intend('t.pin', 1, 'pin', '{"title": "Hello"}', '\(key)',
                now() + interval '1 day', secrets => '{"pin": "4815162342"}')
            """)
    }

    private let callOff = "SELECT notification.call_off_events('{a,b,c,unknown}', 'replaced')"

    private func rows(in ground: Ground) async throws -> [String] {
        try await ground.texts(
            """
            SELECT concat_ws(' ', n.dedupe_key, n.status, n.reason,
                (SELECT string_agg(concat_ws(' ', d.provider, d.status, d.reply), ', '
                    ORDER BY d.id) FROM notification.deliveries d WHERE d.notice_id = n.id))
            FROM notification.notices n
            UNION ALL
            SELECT concat_ws(' ', m.dedupe_key, m.status, m.reply) FROM notification.direct_mails m
            ORDER BY 1
            """)
    }

    @Test func `what was not sent is withdrawn with its secrets, and other events are sent`()
        async throws
    {
        let ground = try await Ground()
        _ = try await ground.person()
        _ = try await ground.device(of: 1, "token-1", app: "survey")
        try await intend(in: ground, "a")
        try await ground.deliver([:])
        try await intend(in: ground, "b")
        try await intend(in: ground, "other")
        try await ground.run(
            """
            SELECT notification.mail_to('t.pin', 'kim@example.org', 'en', '{"title": "Hello"}',
                '{"pin": "4815162342"}', 'c', now() + interval '1 day')
            """)
        for _ in 0..<2 { try await ground.run(callOff) }
        #expect(
            try await rows(in: ground) == [
                "a withdrawn replaced fcm withdrawn replaced, mail withdrawn replaced",
                "b withdrawn replaced", "c withdrawn replaced", "other intended",
            ])
        #expect(
            try await ground.number(
                """
                SELECT (SELECT count(*) FROM notification.secrets)
                    + (SELECT count(*) FROM notification.direct_secrets)
                """) == 1)
        let channel = ScriptedChannel(.delivered(reply: "250"))
        try await ground.deliver([Provider.mail: channel, Provider.fcm: channel])
        #expect(channel.sent.count == 2)
        try await ground.run("SELECT notification.call_off_events('{other}', 'too late')")
        #expect(
            try await rows(in: ground).last
                == "other sent 250 fcm delivered 250, mail delivered 250")
    }

    @Test func `what one channel has sent counts as sent, and an inbox keeps only what was read`()
        async throws
    {
        let ground = try await Ground()
        let ada = try await ground.person()
        _ = try await ground.device(of: ada, "token-1")
        for key in ["a", "b", "c"] {
            try await ground.notify(ground.intent(TestNotices.note, ada, of: key, key: key))
        }
        try await ground.run(
            """
            UPDATE notification.deliveries d SET status = 'delivered', reply = '250'
            FROM notification.notices n
            WHERE n.id = d.notice_id AND n.dedupe_key = 'a' AND d.provider = 'fcm'
            """)
        try await ground.run(
            """
            SELECT notification.mark_read(1, ARRAY(
                SELECT n.id FROM notification.notices n WHERE n.dedupe_key = 'b'))
            """)
        try await ground.run(callOff)
        let gone = "fcm withdrawn replaced, mail withdrawn replaced"
        #expect(
            try await rows(in: ground) == [
                "a sent replaced fcm delivered 250, mail withdrawn replaced",
                "b sent replaced \(gone)", "c withdrawn replaced \(gone)",
            ])
        #expect(try await ground.texts("SELECT title FROM notification.inbox(1)") == ["b"])
    }

    @Test func `one that waits for the release of its batch is not released`() async throws {
        let ground = try await Ground()
        let ada = try await ground.person()
        let planner = NoticePlanner(
            TestNotices.catalogue, client: ground.client, parkedIn: "vote:1")
        try await ground.pool.transaction { transaction in
            _ = try await planner.notify(
                [ground.intent(TestNotices.note, ada, key: "a")], now: Ground.noon,
                in: transaction)
        }
        try await ground.run(callOff)
        #expect(try await ground.number("SELECT notification.release('vote:1')") == 0)
        #expect(
            try await rows(in: ground) == ["a withdrawn replaced mail withdrawn replaced"])
        #expect(try await ground.texts("SELECT title FROM notification.inbox(1)").isEmpty)
    }

    /// What a decision writes.
    static let decision = """
        UPDATE notification.notices SET status = 'pending', decided_at = now();
        INSERT INTO notification.deliveries (notice_id, created_at, provider)
        SELECT id, now(), 'mail' FROM notification.notices;
        INSERT INTO notification.inbox_items (notice_id, person_id, app, created_at, title, body)
        SELECT id, person_id, 'survey', now(), 'from Ada', '!' FROM notification.notices
        """

    @Test func `the deliveries of a decision under way are withdrawn too`() async throws {
        let ground = try await Ground()
        _ = try await ground.person()
        try await intend(in: ground, "a")
        _ = try await TestDatabase.here().overlap(Self.decision, "\(callOff)::text")
        #expect(
            try await rows(in: ground) == ["a withdrawn replaced mail withdrawn replaced"])
        #expect(try await ground.number("SELECT count(*) FROM notification.inbox_items") == 0)
    }

    // "`delete_notices` leaves texts behind that nothing deletes."
    @Test(
        "what a decision under way writes is deleted with its notice",
        arguments: [
            "SELECT object FROM notification.erase(1)",
            "SELECT notification.forget('{2}', 'subject')::text",
        ])
    func deleted(sql: String) async throws {
        let ground = try await Ground()
        let ada = try await ground.person()
        let bob = try await ground.person(email: "bob@example.org")
        try await ground.run(
            """
            SELECT notification.intend('t.nudge', $1, 'subject', '{"title": "from Ada"}', 'a',
                now() + interval '1 day', sender => $2)
            """, [.int64(bob), .int64(ada)])
        _ = try await TestDatabase.here().overlap(Self.decision, sql)
        for table in ["notices", "inbox_items", "deliveries"] {
            #expect(try await ground.number("SELECT count(*) FROM notification.\(table)") == 0)
        }
    }
}
