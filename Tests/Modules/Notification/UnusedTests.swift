import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("What people get before their unused account is erased", .database) struct UnusedTests {
    // "accounts unused 24 months are warned, then erased 30 days later"
    @Test func `its person is mailed once, with the day in their time zone`() async throws {
        let ground = try await Ground()
        _ = try await ground.session.query(try NoticeCatalogue.of([]).declaration())
        let ada = try await ground.person()
        try await ground.run(
            "UPDATE people.people SET time_zone = 'Pacific/Auckland' WHERE id = $1", [.int64(ada)])
        for _ in 0..<2 {
            try await ground.run(
                "SELECT notification.tell_unused($1, '2098-07-01T13:00:00Z')", [.int64(ada)])
        }
        #expect(
            try await ground.texts(
                "SELECT kind || ' ' || (data ->> 'on') || ' ' || status FROM notification.notices")
                == ["account.unused 2098-07-02 intended"])
    }

    @Test func `the nightly rule tells everybody whom it finds`() async throws {
        let ground = try await Ground()
        _ = try await ground.session.query(try NoticeCatalogue.of([]).declaration())
        let ada = try await ground.person()
        let bob = try await ground.person(email: "b@example.org")
        try await ground.run(
            """
            UPDATE people.people SET created_at = now() - interval '3 years',
                last_seen_at = now() - interval '25 months' WHERE id = $1
            """, [.int64(ada)])
        try await ground.run(
            """
            UPDATE people.people SET created_at = now() - interval '3 years', last_seen_at = now()
            WHERE id = $1
            """, [.int64(bob)])
        try await ground.run(
            """
            INSERT INTO people.seeing (since) VALUES (now() - interval '3 years')
            ON CONFLICT (single) DO UPDATE SET since = excluded.since
            """)
        #expect(
            try await ground.number(
                "SELECT people.warn_unused(now() - interval '24 months', 10, false)") == 1)
        #expect(
            try await ground.number(
                """
                SELECT count(*) FROM notification.notices
                WHERE kind = 'account.unused' AND person_id = $1
                """, [.int64(ada)]) == 1)
    }

    /// The statuses and ways of what a person was told.
    private func told(_ person: Int64, in ground: Ground) async throws -> [String] {
        try await ground.run(
            "SELECT notification.tell_unused($1, '2098-07-01T13:00:00Z')", [.int64(person)])
        return try await ground.texts(
            """
            SELECT concat_ws(' ', 'notice', n.status) FROM notification.notices n
            WHERE n.person_id = $1
            UNION ALL
            SELECT concat_ws(' ', 'mail to', m.address, m.status)
            FROM notification.direct_mails m ORDER BY 1
            """, [.int64(person)])
    }

    // "a person whose address is refused or missing, or who is muted, must not be erased untold".
    @Test func `an address that was refused is tried once more`() async throws {
        let ground = try await Ground()
        _ = try await ground.session.query(try NoticeCatalogue.of([]).declaration())
        let ada = try await ground.person()
        let refuse = "UPDATE people.people SET email_refused_at = now(), muted_until = 'infinity'"
        try await ground.run(refuse)
        #expect(try await told(ada, in: ground) == ["mail to ada@example.org pending"])
        #expect(try await told(ada, in: ground) == ["mail to ada@example.org pending"])
        // One that no server takes is no reason to stop the rule.
        let bob = try await ground.person(email: "nobody")
        try await ground.run(refuse)
        #expect(try await told(bob, in: ground).contains("notice intended"))
    }

    @Test func `a device gets a push, also beside a refused address or while all is muted`()
        async throws
    {
        let ground = try await Ground()
        _ = try await ground.session.query(try NoticeCatalogue.of([]).declaration())
        let ada = try await ground.person()
        _ = try await ground.device(of: ada, "token-1", app: "survey")
        try await ground.run(
            "UPDATE people.people SET email_refused_at = now(), muted_until = 'infinity'")
        #expect(
            try await told(ada, in: ground)
                == ["mail to ada@example.org pending", "notice intended"])
        try await ground.decide(by: try NoticeCatalogue.of([]))
        #expect(
            try await ground.texts(
                """
                SELECT concat_ws(' ', n.status, d.provider) FROM notification.notices n
                JOIN notification.deliveries d ON d.notice_id = n.id
                """) == ["pending fcm"])
    }

    @Test func `who has no way is recorded as told nothing`() async throws {
        let ground = try await Ground()
        _ = try await ground.session.query(try NoticeCatalogue.of([]).declaration())
        let ada = try await ground.person(email: nil)
        #expect(try await told(ada, in: ground) == ["notice intended"])
        try await ground.decide(by: try NoticeCatalogue.of([]))
        #expect(
            try await ground.texts("SELECT status || ' ' || reason FROM notification.notices")
                == ["dropped no device of the app and no address that takes mail"])
    }
}
