import ErrandDelivery
import Foundation
import Errand
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Erasure of notices, and what is known of a person", .database) struct ErasureTests {
    /// Notices of all sorts to Ada, one from Ada to Bob, and one to Bob.
    private func ground() async throws -> (Ground, ada: Int64, bob: Int64) {
        let ground = try await Ground()
        let ada = try await ground.person(email: "Ada@Example.org")
        let bob = try await ground.person(email: "bob@example.org")
        try await ground.device(of: ada, "token-of-ada", app: "survey")
        try await ground.device(of: ada, "token-gone", app: "survey")
        try await ground.run(
            "UPDATE notification.devices SET disabled_at = now() WHERE token = 'token-gone'")
        try await ground.notify(ground.intent(TestNotices.note, ada, of: "Ada's own"))
        try await ground.notify(ground.intent(TestNotices.near, ada, of: "coupon:1"))
        try await ground.notify(ground.intent(TestNotices.nudge, bob, of: "from Ada", from: ada))
        try await ground.notify(ground.intent(TestNotices.news, bob, of: "for Bob"))
        try await ground.run(
            "SELECT notification.set_preference($1, 't.note', 'email', true)", [.int64(ada)])
        try await ground.run(
            """
            SELECT notification.mail_to('t.code', 'ada@example.org', 'en', '{"title": "Hi"}', NULL,
                'k', now() + interval '1 day')
            """)
        try await ground.pool.transaction { transaction in
            _ = try await NoticePlanner(
                TestNotices.catalogue, client: ground.client, parkedIn: "vote:1"
            ).notify([ground.intent(TestNotices.note, ada)], now: Ground.noon, in: transaction)
        }
        return (ground, ada, bob)
    }

    // "Notices, deliveries, inbox items are never deleted".
    @Test func `erasing a person leaves the notices of others, and is idempotent`() async throws {
        let (ground, ada, bob) = try await ground()
        func erase() async throws -> [String] {
            try await ground.texts(
                "SELECT object || ' ' || action || ' ' || rows FROM notification.erase($1)",
                [.int64(ada)])
        }
        let first = try await erase()
        #expect(
            first == [
                "notification.inbox_items deleted 2", "notification.parked_items deleted 1",
                "notification.deliveries deleted 3", "notification.parked_deliveries deleted 1",
                "notification.notices deleted 4", "notification.devices deleted 2",
                "notification.preferences deleted 1", "notification.cooldowns deleted 1",
                "notification.direct_mails deleted 1",
            ])
        #expect(try await erase().allSatisfy { $0.hasSuffix(" deleted 0") })
        #expect(
            try await ground.texts("SELECT title FROM notification.inbox($1)", [.int64(bob)])
                == ["for Bob"])
        // Their jobs find nothing to do.
        let mail = ScriptedChannel(.delivered(reply: "250"))
        let push = ScriptedChannel(.delivered(reply: "1"))
        try await ground.deliver([Provider.mail: mail, Provider.fcm: push])
        #expect(mail.sent.count == 0 && push.sent.count == 0)
        let tables = try await ground.texts(
            """
            SELECT c.oid::regclass::text FROM pg_class c
            WHERE c.relkind = 'r' AND c.relnamespace = 'notification'::regnamespace
            """)
        for table in tables {
            #expect(
                try await ground.number(
                    """
                    SELECT count(*) FROM \(table) t
                    WHERE t::text ~* 'ada@example|token-of-ada|from Ada|Ada''s own'
                    """) == 0, "\(table)")
        }
    }

    @Test func `a person's data have all rows, and say of secrets only that they are sealed`()
        async throws
    {
        let (ground, ada, _) = try await ground()
        try await ground.run(
            """
            SELECT notification.intend('t.pin', $1, 'pin', '{"title": "!"}', 'pin', '2099-01-01Z',
                secrets => '{"pin": "4815162342"}')
            """, [.int64(ada)])
        let counts = try await ground.texts(
            """
            SELECT key || ' ' || jsonb_array_length(value)
            FROM jsonb_each(notification.personal_data($1)) ORDER BY key
            """, [.int64(ada)])
        #expect(
            counts == [
                "cooldowns 1", "deliveries 3", "devices 2", "direct_mails 1", "inbox_items 1",
                "notices 4", "preferences 1", "reminders_sent 1",
            ])
        let text = try await ground.texts(
            "SELECT notification.personal_data($1)::text", [.int64(ada)])[0]
        #expect(text.contains("Ada's own") && text.contains("token-of-ada"))
        #expect(text.contains(#""secrets": "sealed""#) && !text.contains("4815162342"))
    }

    // "An erasure deletes notices of room-mates in every app, by a word that the person chose."
    @Test func `notices that name somebody are deleted for those who got them, by the id`()
        async throws
    {
        let ground = try await Ground()
        let (ada, bob) = (try await ground.person(), try await ground.person())
        func notify(_ kind: NoticeKind, _ person: Int64, _ title: String, names: [Int64])
            async throws
        {
            var intent = ground.intent(kind, person, of: title)
            intent.data = [UInt8](#"{"title":"\#(title)","named":\#(names)}"#.utf8)
            try await ground.notify(intent)
        }
        try await notify(TestNotices.nudge, ada, "Al paid", names: [7, 8])
        try await notify(TestNotices.nudge, ada, "Al is home", names: [8])
        try await notify(TestNotices.news, ada, "Al answered", names: [7])
        try await notify(TestNotices.nudge, bob, "Al paid", names: [7])
        // Their facts are gone by age.
        for title in ["by Al.", "by Alan", "Anna (x) came"] {
            try await notify(TestNotices.nudge, ada, title, names: [7])
            try await ground.run(
                """
                UPDATE notification.notices SET data = '{}', is_bare = true WHERE subject = $1
                """, [.text(title)])
        }
        let forget = """
            SELECT notification.forget_names(ARRAY[$1]::bigint[], 7, '{Al,Anna (x),""}',
                'household')
            """
        #expect(try await ground.number(forget, [.int64(ada)]) == 3)
        #expect(try await ground.number(forget, [.int64(ada)]) == 0)
        #expect(
            try await ground.texts("SELECT subject FROM notification.notices ORDER BY id")
                == ["Al is home", "Al answered", "Al paid", "by Alan"])
    }

    // "no retention of notices at all".
    @Test func `notices lose their facts, then their deliveries and items, and at last their rows`()
        async throws
    {
        let ground = try await Ground()
        let ada = try await ground.person()
        for subject in ["one", "two", "three"] {
            try await ground.notify(ground.intent(TestNotices.note, ada, of: subject))
        }
        try await ground.run(
            """
            UPDATE notification.notices
            SET status = 'sent', created_at = now() - interval '100 days'
            WHERE subject <> 'three'
            """)
        try await ground.run(
            """
            UPDATE notification.deliveries SET created_at = now() - interval '100 days'
            WHERE notice_id IN (SELECT id FROM notification.notices WHERE subject <> 'three')
            """)
        try await ground.run("SELECT notification.mark_read($1, '{1}')", [.int64(ada)])
        func run(_ routine: String, _ rows: Int = 10, count: Bool = false) async throws -> Int64 {
            try await ground.number(
                "SELECT notification.\(routine)(now() - interval '90 days', \(rows), \(count))")
        }
        #expect(try await run("bare_notices", count: true) == 2)
        #expect(try await run("bare_notices", 1) == 1)
        #expect(try await run("bare_notices", 1) == 1)
        #expect(try await run("bare_notices", 1) == 0)
        #expect(
            try await ground.texts("SELECT data::text FROM notification.notices ORDER BY id")
                == ["{}", "{}", #"{"title": "three"}"#])
        #expect(try await run("forget_deliveries", count: true) == 2)
        #expect(try await run("forget_deliveries") == 2)
        #expect(try await ground.number("SELECT count(*) FROM notification.deliveries") == 1)
        #expect(try await run("forget_read_items", count: true) == 0)
        try await ground.run(
            """
            UPDATE notification.inbox_items SET read_at = now() - interval '91 days'
            WHERE read_at IS NOT NULL
            """)
        #expect(try await run("forget_read_items", count: true) == 1)
        #expect(try await run("forget_read_items") == 1)
        // Unread items stay as long as their notices, and say what they are about.
        #expect(
            try await ground.texts(
                "SELECT subject || ' ' || data FROM notification.inbox($1)", [.int64(ada)])
                == [#"three {"title": "three"}"#, "two {}"])
        #expect(try await run("forget_notices", count: true) == 2)
        #expect(try await run("forget_notices", 1) == 1)
        #expect(try await run("forget_notices") == 1)
        #expect(try await run("forget_notices") == 0)
        #expect(try await ground.texts("SELECT subject FROM notification.notices") == ["three"])
        #expect(try await ground.number("SELECT count(*) FROM notification.inbox_items") == 1)
    }

    @Test func `direct mails are kept for a time without their address`() async throws {
        let ground = try await Ground()
        for key in ["a", "b"] {
            try await ground.run(
                """
                SELECT notification.mail_to('t.code', 'kim@example.org', 'en', '{"title": "Hi"}',
                    NULL, $1, now() + interval '1 day')
                """, [.text(key)])
        }
        try await ground.run(
            """
            UPDATE notification.direct_mails
            SET created_at = now() - interval '100 days', status = 'delivered', reply = '250'
            WHERE dedupe_key = 'a'
            """)
        for (count, rows) in [(true, 1), (false, 1), (false, 0)] {
            #expect(
                try await ground.number(
                    """
                    SELECT notification.forget_direct_mails(now() - interval '90 days', 9,
                        \(count))
                    """) == rows)
        }
        #expect(
            try await ground.texts("SELECT dedupe_key FROM notification.direct_mails") == ["b"])
    }

    @Test func `each rule names a routine of the module`() async throws {
        let ground = try await Ground()
        #expect(
            try await ground.texts(
                """
                SELECT r.name FROM people.retention_rules r
                WHERE r.module = 'notification' AND to_regprocedure('notification.' || r.routine
                    || '(timestamptz, int, boolean)') IS NULL
                """
            ).isEmpty)
        #expect(
            try await ground.texts(
                """
                SELECT keep::text FROM people.retention_rules WHERE module = 'notification'
                ORDER BY name
                """) == ["90 days", "90 days", "90 days", "90 days", "1 year 1 mon"])
    }
}
