import Foundation
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Devices and the inbox, from SQL", .database) struct DeviceTests {
    @Test func `a token belongs to the person who registered it last`() async throws {
        let ground = try await Ground()
        let (ada, bob) = (try await ground.person(), try await ground.person())
        let device = try await ground.device(of: ada, "token")
        #expect(try await ground.device(of: bob, "token", app: "vote") == device)
        #expect(try await ground.device(of: bob, "token", platform: "apns") != device)
        let owners = try await ground.texts(
            "SELECT person_id || ' ' || app FROM notification.devices WHERE id = $1",
            [.int64(device)])
        #expect(owners == ["\(bob) vote"])
    }

    @Test func `registering again enables, and is remembered as newer`() async throws {
        let ground = try await Ground()
        let ada = try await ground.person()
        let device = try await ground.device(of: ada, "token")
        try await ground.run(
            """
            UPDATE notification.devices SET disabled_at = now(), disabled_reason = 'gone',
                registered_at = '2026-01-01Z'
            """)
        #expect(try await ground.device(of: ada, "token") == device)
        let enabled = """
            SELECT count(*) FROM notification.devices WHERE disabled_at IS NULL
                AND disabled_reason IS NULL AND registered_at > now() - interval '1 hour'
            """
        #expect(try await ground.number(enabled) == 1)
    }

    @Test(
        "what is wrong with a device is said",
        arguments: [
            ("1, 'vote', 'wns', 't'", "platform wns: expected apns or fcm"),
            ("1, 'vote', 'apns', 't'", "a device of apns needs a topic"),
            ("1, 'vote', 'fcm', NULL", "register_device needs person, app, platform and token"),
            ("2, 'vote', 'fcm', 't'", "no person has the id 2"),
            (
                "1, 'chess', 'fcm', 't'",
                "app chess: expected one of account, household, survey, vote"
            ),
            ("1, 'vote', 'fcm', 'a b'", "devices_token_check"),
        ])
    func wrong(arguments: String, message: String) async throws {
        let ground = try await Ground()
        _ = try await ground.person()
        do {
            try await ground.run("SELECT notification.register_device(\(arguments))")
            Issue.record("\(arguments) was taken")
        } catch {
            #expect("\(error)".contains(message))
        }
    }

    @Test func `the inbox shows a person's notices, newest first, and what was read`()
        async throws
    {
        let ground = try await Ground()
        let (ada, bob) = (try await ground.person(), try await ground.person())
        for subject in ["one", "two", "three"] {
            try await ground.notify(ground.intent(TestNotices.nudge, ada, of: subject))
        }
        try await ground.notify(ground.intent(TestNotices.nudge, bob, of: "other"))
        func inbox(_ more: String = "") async throws -> [String] {
            try await ground.texts(
                """
                SELECT concat_ws(' ', app, kind, title, body, data, read_at IS NOT NULL)
                FROM notification.inbox($1\(more))
                """, [.int64(ada)])
        }
        let all = ["three", "two", "one"].map {
            #"household t.nudge \#($0) t.nudge by inbox {"title": "\#($0)"} f"#
        }
        #expect(try await inbox() == all)
        #expect(try await inbox(", max_rows => 1") == [all[0]])
        let ids = try await ground.session.query(
            "SELECT id FROM notification.inbox($1)", [.int64(ada)]
        ).map { try $0.int64(0) }
        #expect(try await inbox(", after => \(ids[1])") == [all[0]])

        let mark = "SELECT notification.mark_read($1, $2)"
        #expect(try await ground.number(mark, [.int64(bob), .int64Array(ids)]) == 0)
        #expect(try await ground.number(mark, [.int64(ada), .int64Array([ids[0]])]) == 1)
        #expect(try await ground.number(mark, [.int64(ada), .int64Array(ids)]) == 2)
        #expect(try await inbox().allSatisfy { $0.hasSuffix(" t") })
    }
}
