import ErrandPostgres
import ErrandTestServices
import Foundation
import Testing

/// Options and tags that an app may set, and those that are stored already: no value of one job
/// holds up others.
@Suite("Attacks: options and tags", .serialized, .database) struct OptionAttackTests {
    /// Has a worker declare its kinds.
    private func declared() async throws -> RoleGround {
        let ground = try await RoleGround.shared
        try await errand(
            ["work", "--drain", "--queues", "attack"],
            environment: ground.environment("errand_work")
        ).expect(0)
        return ground
    }

    private func jobs(
        options: String = "NULL", tags: String = "NULL", key: String = ""
    ) -> String {
        """
        SELECT * FROM errand.enqueue_jobs('default', 'demo.noop', 1, 2, 1, NULL, \(tags),
            \(options), ARRAY['{}'::jsonb]\(key))
        """
    }

    @Test(arguments: [
        #"{"retention_s": 1.5}"#, #"{"retention_s": 60.0}"#, #"{"retention_s": 0.00000001}"#,
        #"{"timeout_ms": 1.5}"#, #"{"timeout_ms": 1000.0}"#, #"{"timeout_ms": 1e-3}"#,
    ])
    func `an option that is no whole number is refused`(_ options: String) async throws {
        let ground = try await declared()
        #expect(
            try await ground.refusal("errand_shop", jobs(options: "'\(options)'")) == "22023")
    }

    @Test(arguments: [
        #"{"retention_s": 6e1}"#, #"{"retention_s": 0}"#, #"{"timeout_ms": 1e3}"#,
        #"{"backoff": {"base": 0.5, "factor": 1.5, "ceiling": 60.0, "jitter": 0.25}}"#,
    ])
    func `whole numbers, and fractions of a backoff, are not`(_ options: String) async throws {
        let ground = try await declared()
        #expect(try await ground.refusal("errand_shop", jobs(options: "'\(options)'")) == nil)
    }

    @Test(arguments: [
        "'{NULL}'", "'{a,NULL}'", "'{{a,b},{c,d}}'", "'{{a}}'", "'{\"\"}'", "'[5:6]={a,NULL}'",
    ])
    func `tags that no listing can read are refused`(_ tags: String) async throws {
        let ground = try await declared()
        for way in ["SELECT errand.enqueue('demo.noop', tags => \(tags))", jobs(tags: tags)] {
            #expect(try await ground.refusal("errand_shop", way) == "22023", "\(way)")
        }
    }

    @Test func `tags are stored as one list, and none as null`() async throws {
        let ground = try await declared()
        let session = ground.session("errand_shop")
        for tags in ["'{}'", "NULL", "'{a,b}'", "'[5:6]={a,b}'"] {
            for way in [
                "SELECT errand.enqueue('demo.noop', queue => 'attack.tags', tags => \(tags))",
                jobs(tags: tags).replacing("'default'", with: "'attack.tags'"),
            ] {
                _ = try await session.query(way)
            }
        }
        await session.close()
        #expect(
            try await ground.list(
                """
                SELECT DISTINCT coalesce(array_to_json(tags)::text, 'null') FROM errand.jobs
                WHERE queue = 'attack.tags' ORDER BY 1
                """) == [#"["a","b"]"#, "null"])
    }

    @Test(arguments: [
        ", NULL, NULL, 'k', 'whenever'", ", NULL, NULL, 'k', NULL",
        ", NULL, NULL, 'k', 'waiting', NULL, 'ignore'", ", NULL, NULL, 'k', 'waiting', NULL, NULL",
    ])
    func `many jobs have a known rule of their key, as one has`(_ key: String) async throws {
        let ground = try await declared()
        #expect(try await ground.refusal("errand_shop", jobs(key: key)) == "22023")
    }

    /// What an older version let an app store, and what a worker's login can.
    private static let stored = [
        #"{"retention_s": 1.5}"#, #"{"retention_s": 60.0, "timeout_ms": 60.0}"#,
        #"{"retention_s": 1e300, "timeout_ms": 1e300}"#, #"{"retention_s": 1e-300}"#,
        #"{"retention_s": -1e300, "timeout_ms": -1}"#, #"{"retention_s": "x", "timeout_ms": ""}"#,
        #"{"retention_s": "60"}"#, #"{"retention_s": [], "timeout_ms": {}}"#,
        #"{"retention_s": null, "timeout_ms": true}"#, "[]", "[1.5]", "5", #""x""#, "null",
        #"{"occurrence": {"schedule": "attacked", "due": "never"}}"#,
        #"{"occurrence": {"schedule": "attacked", "due": "2026-02-31T00:00:00Z"}}"#,
        #"{"occurrence": {"schedule": "attacked", "due": 5}}"#, #"{"occurrence": "x"}"#,
    ]

    private func store(_ columns: String = "", _ values: String = "") async throws {
        let session = try TestDatabase.here().session()
        _ = try await session.query(
            """
            INSERT INTO errand.jobs (queue, kind, max_attempts, tags, options\(columns))
            SELECT 'default', 'demo.noop', 1, (ARRAY['{NULL}', '{{a,b},{c,NULL}}', '{a}', NULL])
                    [1 + o.n % 4]::text[], o.options::jsonb\(values)
            FROM unnest($1::text[]) WITH ORDINALITY AS o (options, n)
            """, [.textArray(Self.stored)])
        await session.close()
    }

    @Test func `no stored option keeps the jobs of dead workers from being recovered`()
        async throws
    {
        try await store()
        try await change(
            """
            INSERT INTO errand.jobs (queue, kind) VALUES ('default', 'demo.noop');
            INSERT INTO errand.jobs (queue, kind, max_attempts, options, cancel_requested)
            SELECT queue, kind, 5, options, true FROM errand.jobs WHERE options IS NOT NULL;
            INSERT INTO errand.workers (host, pid, version, last_seen_at, lease_seconds, queues,
                kinds)
            SELECT 'elsewhere', n, '0', now() - interval '1 hour', 1, '{}', '{}'
            FROM generate_series(1, 2) AS n;
            UPDATE errand.jobs SET claimed_by = 1 + id % 2, claim_token = 4711, attempt = 1,
                claimed_at = now() - interval '1 hour'
            """)
        let worker = try start(["work"])
        try await eventually("all jobs to end") {
            try await number("SELECT count(*) FROM errand.jobs") == 0
        }
        worker.signal(SIGTERM)
        let run = try await finish(worker)
        run.expect(0)
        #expect(!run.errors.contains("could not be recovered"), "\(run.errors)")
        let dead = "SELECT count(*) FROM errand.finished_jobs WHERE outcome = 'dead'"
        #expect(try await number(dead) == Self.stored.count)
        #expect(
            try await number(
                "SELECT count(*) FROM errand.finished_jobs WHERE outcome = 'completed'") == 1)
    }

    @Test func `operators list, explain, cancel, retry and discard jobs with any options`()
        async throws
    {
        try await change(
            """
            INSERT INTO errand.schedules (name, recurrence, kind)
            VALUES ('attacked', '0 0 1 1 *', 'demo.noop')
            """)
        try await store()
        let session = try TestDatabase.here().session()
        let ids = try await session.query("SELECT id FROM errand.jobs").map { try $0.int64(0) }
        await session.close()
        for command in [
            ["job", "ls", "-owide"], ["job", "ls", "-ojson"], ["queue", "ls"], ["kind", "ls"],
            ["job", "ls", "--tag", "a"],
        ] {
            try await errand(command).expect(0)
        }
        for id in ids {
            try await errand("job", "show", "\(id)").expect(0)
            try await errand("job", "why", "\(id)", "-ojson").expect(0)
        }
        try await errand("job", "cancel", "--queue", "default", "--yes").expect(0)
        #expect(
            try await number("SELECT count(*) FROM errand.jobs") == 0)
        try await store(", attempt, errors", #", 1, '[{"attempt": 1, "error": "x"}]'"#)
        try await change(
            """
            WITH gone AS (DELETE FROM errand.jobs RETURNING *)
            INSERT INTO errand.finished_jobs (id, created_at, run_at, finished_at, keep_until,
                outcome, priority, attempt, max_attempts, args_version, queue, kind, reason, args,
                tags, options, errors)
            SELECT id, created_at, run_at, now(), 'infinity', 'dead', priority, attempt,
                max_attempts, args_version, queue, kind, 'x', args, tags, options, errors FROM gone
            """)
        try await errand("dead", "ls", "-ojson").expect(0)
        try await errand("dead", "redrive", "--queue", "default", "--try", "0", "--yes").expect(0)
        #expect(try await number("SELECT count(*) FROM errand.jobs") == Self.stored.count)
        try await change("UPDATE errand.jobs SET attempt = 1")
        try await errand("job", "discard", "--queue", "default", "--yes").expect(0)
        #expect(try await number("SELECT count(*) FROM errand.jobs") == 0)
    }
}
