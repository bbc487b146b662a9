import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("How long notices keep their facts", .database) struct RetentionTests {
    /// Sent notices to one person, recorded so many days ago.
    private func add(_ days: Double..., to ground: Ground) async throws {
        _ = try await ground.person()
        try await ground.run(
            """
            INSERT INTO notification.notices (person_id, kind, subject, data, dedupe_key,
                expires_at, created_at, status)
            SELECT 1, 't.note', n, '{"title": "t"}', n, now() + interval '1 day',
                now() - days * interval '1 day', 'sent'
            FROM unnest($1::float8[]) WITH ORDINALITY AS d (days, n) ORDER BY n
            """, [.doubleArray(days)])
    }

    /// All batches of a run, and the subjects of the notices that have their facts afterwards.
    private func bare(_ ground: Ground, rows: Int64 = 2) async throws -> [String] {
        while try await ground.number(
            "SELECT notification.bare_notices(now() - interval '90 days', \(rows), false)") >= rows
        {}
        return try await ground.texts(
            """
            SELECT subject FROM notification.notices WHERE data <> '{}' AND NOT is_bare ORDER BY id
            """)
    }

    // "Facts of some notices outlive '90 days' by ten months": "(a) The mark moves past notices
    // that are still intended, held or pending".
    @Test func `a notice that ends late loses its facts in the next run`() async throws {
        let ground = try await Ground()
        try await add(100, 100, 100, 10, to: ground)
        try await ground.run(
            "UPDATE notification.notices SET status = 'pending' WHERE subject IN ('1', '2')")
        // Nothing can be sent of it, whatever became of its job.
        try await ground.run(
            "UPDATE notification.notices SET expires_at = now() WHERE subject = '2'")
        #expect(try await bare(ground) == ["1", "4"])
        #expect(try await bare(ground) == ["1", "4"])
        try await ground.run(
            "UPDATE notification.notices SET status = 'failed' WHERE subject = '1'")
        #expect(try await bare(ground) == ["4"])
        #expect(try await ground.number("SELECT count(*) FROM notification.unbared") == 0)
    }

    // "(b) Ids and times are only roughly in one order".
    @Test func `one that is younger than the next loses its facts when its own time has come`()
        async throws
    {
        let ground = try await Ground()
        try await add(100, 89.9, 90.1, 10, to: ground)
        #expect(try await bare(ground, rows: 10) == ["2", "4"])
        try await ground.run(
            "UPDATE notification.notices SET created_at = created_at - interval '1 hour'")
        #expect(try await bare(ground, rows: 10) == ["2", "4"])
        try await ground.run(
            "UPDATE notification.notices SET created_at = created_at - interval '3 hours'")
        #expect(try await bare(ground, rows: 10) == ["4"])
    }

    // "`errand retention run --dry-run` reads all notices and deliveries."
    @Test(
        "a count stops at its limit",
        arguments: [
            "bare_notices", "forget_notices", "forget_deliveries", "forget_read_items",
            "forget_direct_mails",
        ])
    func counts(routine: String) async throws {
        let ground = try await Ground()
        try await add(100, 100, 100, 100, 10, to: ground)
        try await ground.run(
            """
            INSERT INTO notification.deliveries (notice_id, created_at, provider)
            SELECT id, created_at, 'mail' FROM notification.notices;
            """)
        try await ground.run(
            """
            INSERT INTO notification.inbox_items (notice_id, person_id, app, created_at, title,
                body, read_at)
            SELECT id, 1, 'survey', created_at, 't', 't', created_at FROM notification.notices
            """)
        try await ground.run(
            """
            INSERT INTO notification.direct_mails (kind, locale, data, dedupe_key, created_at,
                expires_at, status)
            SELECT 't.pin', 'en', '{}', id, created_at, now(), 'delivered'
            FROM notification.notices
            """)
        for (rows, found) in [(3, 3), (1_000_000, 4)] as [(Int, Int64)] {
            #expect(
                try await ground.number(
                    """
                    SELECT notification.\(routine)(now() - interval '90 days', \(rows), true)
                    """) == found)
        }
    }
}
