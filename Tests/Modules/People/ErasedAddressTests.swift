import ErrandPostgres
import ErrandTestServices
import Testing

// "Addresses are not found in jobs and logs when a delimiter touches them; others' addresses are
// mangled"
@Suite("Mail addresses of erased people", .database) struct ErasedAddressTests {
    /// The text in a job of somebody else, and what is left of it.
    ///
    /// Erased are `o'brien@example.org`, `ann@x.org`, `nann@x.org` and `"ann b\c"@q.org`.
    private static let texts: [(String, String)] = [
        ("ann@x.org", "[erased]"), ("for ANN@X.ORG.", "for [erased]."),
        ("o'brien@example.org", "[erased]"), ("<O'Brien@Example.org>", "<[erased]>"),
        ("mailto:ann@x.org?subject=x", "mailto:[erased]?subject=x"),
        ("https://a.example/?to=ann@x.org&n=1", "https://a.example/?to=[erased]&n=1"),
        ("a:ann@x.org/b", "a:[erased]/b"), ("to ann@x.org!", "to [erased]!"),
        ("line\nann@x.org\nline", "line\n[erased]\nline"), ("\tnann@x.org", "\t[erased]"),
        ("ann@x.org,ann@x.org;nann@x.org", "[erased],[erased];[erased]"),
        (#""ann b\c"@q.org"#, "[erased]"), (#"x: "Ann B\C"@Q.org, y"#, "x: [erased], y"),
        ("joann@x.org and ann@x.org", "joann@x.org and [erased]"),
        // Those of others.
        ("joann@x.org", "joann@x.org"), ("ann@x.org.uk", "ann@x.org.uk"),
        ("ann@x.org-b.org", "ann@x.org-b.org"), ("x+ann@x.org", "x+ann@x.org"),
        ("brien@example.org", "brien@example.org"), ("line\njann@x.org", "line\njann@x.org"),
        ("c\"@q.org", "c\"@q.org"), ("ann@y.org", "ann@y.org"), ("@", "@"), ("a@", "a@"),
    ]

    private static let people = #"""
        UPDATE people.people p SET email = e.email
        FROM (VALUES (1, 'o''brien@example.org'), (2, 'ann@x.org'), (3, 'nann@x.org'),
            (4, '"ann b\c"@q.org')) AS e (id, email) WHERE p.id = e.id
        """#

    private func erase(_ ground: PeopleGround) async throws {
        // Without a worker, which deletes keys without a job.
        for person in 1...4 {
            _ = try await ground.request(person, id: "r\(person)")
            for _ in 1...3 { _ = try await ground.text("SELECT people.erase_step(\(person))") }
        }
        while try await ground.text("SELECT people.sweep_jobs()::text") == "true" {}
        #expect(try await ground.number("SELECT count(*) FROM people.certificates") == 4)
    }

    @Test func `are removed from jobs whatever is around them, and those of others are not`()
        async throws
    {
        let ground = try await PeopleGround()
        try await ground.run(Self.people)
        for (number, text) in Self.texts.enumerated() {
            _ = try await ground.session.query(
                """
                INSERT INTO errand.finished_jobs (id, created_at, run_at, finished_at, keep_until,
                    outcome, priority, attempt, max_attempts, args_version, queue, kind, args,
                    errors, reason, tags, unique_key)
                VALUES (nextval('errand.jobs_id_seq'), now(), now(), now(), current_date + 3,
                    'completed', 2, 1, 1, 1, 'default', 'k' || $2::int8,
                    jsonb_build_object('a', ARRAY[$1], $1, 7), jsonb_build_array($1), $1,
                    ARRAY['a', $1], $1)
                """, [.text(text.0), .int64(Int64(number))])
            _ = try await ground.session.query(
                """
                SELECT errand.enqueue_own('live' || $2::int8, jsonb_build_object('a', $1),
                    tags => ARRAY[$1], unique_key => $1)
                """, [.text(text.0), .int64(Int64(number))])
        }
        try await erase(ground)
        for (number, text) in Self.texts.enumerated() {
            let row = try await ground.session.query(
                """
                SELECT f.args #>> '{a,0}', (SELECT k FROM jsonb_object_keys(f.args - 'a') AS k),
                    f.errors ->> 0, f.reason, f.tags[2], f.unique_key, j.args ->> 'a', j.tags[1],
                    j.unique_key
                FROM errand.finished_jobs f, errand.jobs j
                WHERE f.kind = 'k' || $1::int8 AND j.kind = 'live' || $1::int8
                """, [.int64(Int64(number))])[0]
            for column in 0..<9 {
                #expect(try row.text(column) == text.1, "column \(column) of \(text.0)")
            }
        }
    }

    @Test func `are removed from the log and from keys, and those of others are not`()
        async throws
    {
        let ground = try await PeopleGround()
        try await ground.run(Self.people)
        for (number, text) in Self.texts.enumerated() {
            _ = try await ground.session.query(
                """
                INSERT INTO errand.audit (operator, action, subject, reason, change)
                VALUES ('eve', 'test ' || $2::int8, $1, $1, jsonb_build_object('a', $1))
                """, [.text(text.0), .int64(Int64(number))])
            _ = try await ground.session.query(
                """
                INSERT INTO errand.unique_keys (kind, key, job_id)
                VALUES ('k' || $2::int8, $1, 0)
                """,
                [.text(text.0), .int64(Int64(number))])
        }
        try await erase(ground)
        for (number, text) in Self.texts.enumerated() {
            let row = try await ground.session.query(
                """
                SELECT a.subject, a.reason, a.change ->> 'a', (
                    SELECT count(*) FROM errand.unique_keys u WHERE u.kind = 'k' || $1::int8)
                FROM errand.audit a WHERE a.action = 'test ' || $1::int8
                """, [.int64(Int64(number))])[0]
            for column in 0..<3 {
                #expect(try row.text(column) == text.1, "column \(column) of \(text.0)")
            }
            #expect(try row.int64(3) == (text.0 == text.1 ? 1 : 0), "the key of \(text.0)")
        }
        // Nothing is counted for those of others.
        let changed = Self.texts.count { $0.0 != $0.1 }
        #expect(
            try await ground.number(
                "SELECT count(*) FROM errand.audit WHERE subject LIKE '%[erased]%'") == changed)
    }
}
