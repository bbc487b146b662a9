import ErrandPostgres
import ErrandTestServices
import Testing

/// What a hacked server of an app may enqueue, and what it may not.
@Suite("Attacks: enqueueing", .serialized, .database) struct EnqueueAttackTests {
    /// Has a worker declare its kinds.
    private func declared() async throws -> RoleGround {
        let ground = try await RoleGround.shared
        try await errand(
            ["work", "--drain", "--queues", "attack"],
            environment: ground.environment("errand_work")
        ).expect(0)
        return ground
    }

    @Test func `kinds of Errand are closed to apps, whatever the way`() async throws {
        let ground = try await declared()
        let closed = try await ground.list("SELECT kind FROM errand.kinds WHERE NOT for_apps")
        #expect(closed.count > 25)
        #expect(
            try await ground.list("SELECT kind FROM errand.kinds WHERE for_apps").allSatisfy {
                $0.hasPrefix("demo.") || $0.hasPrefix("shop.")
            })
        for kind in closed + ["unknown.kind"] {
            for way in [
                "SELECT errand.enqueue('\(kind)')",
                "SELECT errand.enqueue('\(kind)', '{}', queue => 'nowhere', unique_key => 'asked', "
                    + "unique_within => '9 years', on_duplicate => 'replace')",
                "SELECT * FROM errand.enqueue_jobs('default', '\(kind)', 1, 2, 20, NULL, NULL, "
                    + "NULL, ARRAY['{}'::jsonb])",
            ] {
                #expect(try await ground.refusal("errand_shop", way) == "42501", "\(way)")
            }
        }
    }

    @Test func `functions of the engine that check nobody are not for apps`() async throws {
        let ground = try await declared()
        for statement in [
            "SELECT errand.enqueue_own('demo.noop')",
            "SELECT * FROM errand.enqueue_job('demo.noop', '{}', 'default', now(), 2, 20, NULL, "
                + "NULL, 'waiting', NULL, 'skip', NULL, NULL, 1, NULL)",
            "INSERT INTO errand.jobs (kind, queue, args) VALUES ('demo.noop', 'default', '{}')",
            // Without the sequence.
            "INSERT INTO errand.jobs (id, kind, queue) VALUES (-1, 'demo.noop', 'default')",
            "INSERT INTO errand.queues (name) VALUES ('attack.queue')",
            "INSERT INTO errand.unique_keys (kind, key, job_id) VALUES ('votes.count', '4', 1)",
            "SET ROLE errand_worker", "SELECT set_config('role', 'errand_worker', false)",
        ] {
            #expect(try await ground.refusal("errand_shop", statement) == "42501", "\(statement)")
        }
        // The module's own functions enqueue for the app all the same.
        #expect(
            try await ground.refusal(
                "errand_shop", "SELECT household.going_shopping(1)") == nil)
    }

    @Test(arguments: [
        (#"queue => E'a\tb'"#, "22023"), (#"queue => E'\x1b[2J'"#, "22023"),
        ("args => jsonb_build_object('a', repeat('x', 12000000))", "RU001"),
        ("run_at => 'infinity'", "22023"), ("not_after => 'infinity'", "22023"),
        ("run_at => '10000-01-01'", "22023"), ("priority => 9", "23514"),
        ("max_attempts => 0", "23514"), ("max_attempts => 99999", "22003"),
        ("timeout => '-1 second'", "22023"), ("retention => '900 years'", "22023"),
        ("tags => array_fill('t'::text, ARRAY[101])", "22023"),
        ("unique_key => repeat('k', 501)", "22023"),
        ("unique_key => 'k', unique_within => '900 years'", "22023"),
    ])
    func `a bad value of an enqueue is refused`(_ value: String, _ state: String) async throws {
        let ground = try await declared()
        #expect(
            try await ground.refusal(
                "errand_shop", "SELECT errand.enqueue('demo.noop', \(value))") == state)
    }

    /// What takes the place of the parameters of `errand.enqueue_jobs`.
    private static let bulk: [([Int: String], String)] = [
        ([0: #"E'a\tb'"#], "22023"), ([0: #"E'\x1b[2J'"#], "22023"), ([0: "''"], "22023"),
        ([0: "NULL"], "22023"), ([0: "repeat('q', 64)"], "22023"),
        ([2: "99999"], "22003"), ([3: "9"], "23514"), ([3: "-1"], "23514"),
        ([3: "99999"], "22003"), ([4: "0"], "23514"), ([4: "99999"], "22003"),
        ([5: "'infinity'"], "22023"), ([5: "'10000-01-01'"], "22023"),
        ([6: "array_fill('t'::text, ARRAY[101])"], "22023"), ([6: "'{\"\"}'"], "22023"),
        ([6: "ARRAY[repeat('t', 201)]"], "22023"),
        ([8: "ARRAY[jsonb_build_object('a', repeat('x', 12000000))]"], "RU001"),
        ([8: "ARRAY['{}', jsonb_build_object('a', repeat('x', 12000000))]"], "RU001"),
        ([8: "ARRAY[NULL]::jsonb[]"], "23502"),
        ([9: "'{infinity}'"], "22023"), ([9: "'{10000-01-01}'"], "22023"),
        ([8: "ARRAY['{}', '{}']::jsonb[]", 9: "'{2026-01-01, infinity}'"], "22023"),
        ([10: "'{1}'"], "22023"), ([11: "repeat('k', 501)"], "22023"), ([11: "''"], "22023"),
        ([11: "'k'", 13: "'900 years'"], "22023"), ([11: "'k'", 13: "'-1 day'"], "22023"),
        // With a key, each job is checked for itself.
        ([11: "'k'", 0: #"E'a\tb'"#], "22023"), ([11: "'k'", 9: "'{infinity}'"], "22023"),
        ([11: "'k'", 3: "9"], "23514"),
        ([11: "'k'", 6: "array_fill('t'::text, ARRAY[101])"], "22023"),
        ([11: "'k'", 8: "ARRAY[jsonb_build_object('a', repeat('x', 12000000))]"], "RU001"),
    ]

    @Test func `a bad value of a bulk enqueue is refused`() async throws {
        let ground = try await declared()
        let good = [
            "'attack.values'", "'demo.noop'", "1", "2", "20", "NULL", "NULL", "NULL",
            "ARRAY['{}'::jsonb]", "NULL", "NULL", "NULL", "'waiting'", "NULL",
        ]
        let cases: [([Int: String], String?)] = [([:], nil)] + Self.bulk.map { ($0, $1) }
        for (change, state) in cases {
            var values = good
            for (place, value) in change { values[place] = value }
            let call = "SELECT * FROM errand.enqueue_jobs(\(values.joined(separator: ", ")))"
            #expect(try await ground.refusal("errand_shop", call) == state, "\(call)")
        }
        #expect(
            try await ground.list(
                "SELECT count(*)::text FROM errand.jobs WHERE queue = 'attack.values'") == ["1"])
    }

    @Test(arguments: [
        #"{"origin": {"operator": "alice"}}"#, #"{"origin": {"parent": 1}}"#,
        #"{"occurrence": {"schedule": "a", "at": 0}}"#, #"{"backoff": {"base": 1e300}}"#,
        #"{"backoff": {"base": -1}}"#, #"{"backoff": {"jitter": 2}}"#, #"{"backoff": 1}"#,
        #"{"backoff": {"base": "1"}}"#, #"{"timeout_ms": 1e18}"#, #"{"retention_s": -1}"#, "[]",
    ])
    func `options that forge an origin, or that no kind can have, are refused`(
        _ options: String
    ) async throws {
        let ground = try await declared()
        #expect(
            try await ground.refusal(
                "errand_shop",
                """
                SELECT * FROM errand.enqueue_jobs('default', 'demo.noop', 1, 2, 20, NULL, NULL,
                    '\(options)', ARRAY['{}'::jsonb])
                """) == "22023")
    }

    @Test func `an app's own options and parents are checked, not lost`() async throws {
        let ground = try await declared()
        let session = ground.session("errand_shop")
        let made = try await session.query(
            """
            SELECT job_id FROM errand.enqueue_jobs('attack.options', 'demo.noop', 1, 2, 20, NULL,
                '{a}', '{"timeout_ms": 1000, "retention_s": 60,
                "backoff": {"base": 1, "factor": 2, "ceiling": 9, "jitter": 0.5}}',
                ARRAY['{}', '{"b": 1}']::jsonb[], ARRAY[NULL, now() + interval '1 hour'])
            """)
        #expect(made.count == 2)
        await session.close()
        #expect(
            try await ground.list(
                """
                SELECT (options ->> 'timeout_ms') || ' ' || (run_at > now())::text
                FROM errand.jobs WHERE queue = 'attack.options' ORDER BY id
                """) == ["1000 false", "1000 true"])
        #expect(
            try await ground.refusal(
                "errand_shop",
                """
                SELECT * FROM errand.enqueue_jobs('default', 'demo.noop', 1, 2, 20, NULL, NULL,
                    NULL, ARRAY['{}'::jsonb], NULL, ARRAY[1::bigint])
                """) == "22023")
    }
}
