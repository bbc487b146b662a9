import ErrandPostgres
import ErrandTestServices
import Foundation
import Testing

/// Rows of a worker's login with numbers that are none: they end no worker, and no command.
@Suite("Attacks: numbers of rows", .serialized, .database) struct LimitAttackTests {
    /// Columns and values of a limit.
    private static let limits: [(name: String, columns: String, values: String)] = [
        ("nan", "rate_per_s", "'NaN'"), ("infinite", "rate_per_s", "'Infinity'"),
        ("huge", "rate_per_s", "1e308"), ("tiny", "rate_per_s", "1e-300"),
        ("tokens.nan", "rate_per_s, tokens", "100, 'NaN'"),
        ("tokens.infinite", "rate_per_s, tokens", "100, 'Infinity'"),
        ("tokens.minus", "rate_per_s, tokens", "100, '-Infinity'"),
        ("tokens.low", "rate_per_s, tokens", "100, -1e308"),
        ("both", "running, rate_per_s, tokens", "1, 'NaN', 'NaN'"),
        ("running", "running, tokens", "2147483647, 'NaN'"),
        ("since.ever", "rate_per_s, tokens, refilled_at", "100, 0, '-infinity'"),
        ("never", "rate_per_s, tokens, refilled_at", "100, 0, 'infinity'"),
    ]

    @Test func `a limit of any rate and tokens ends no worker, and its queue works`() async throws {
        let ground = try await RoleGround.shared
        let session = ground.session("errand_work")
        var queues: [String] = []
        for (name, columns, values) in Self.limits {
            let queue = "attack.\(name)"
            queues.append(queue)
            _ = try await session.query(
                "SELECT errand.enqueue('demo.noop', queue => '\(queue)') FROM generate_series(1, 3)"
            )
            _ = try await session.query(
                """
                INSERT INTO errand.queue_limits (queue, set_by, \(columns))
                VALUES ('\(queue)', 'x', \(values))
                """)
        }
        // The queue beside them is in the same rounds of the claimer.
        _ = try await session.query("SELECT errand.enqueue('demo.noop', queue => 'attack.beside')")
        await session.close()
        // A rate below one a year starts the first job alone.
        let drained = queues.filter { $0 != "attack.tiny" } + ["attack.beside"]
        try await errand(
            ["work", "--drain", "--queues", drained.joined(separator: ",")],
            environment: ground.environment("errand_work")
        ).expect(0)
        let left = try await ground.list(
            "SELECT DISTINCT queue FROM errand.jobs WHERE queue = ANY ($1)", [.textArray(drained)])
        #expect(left == [])
        #expect(
            try await ground.list(
                """
                SELECT count(*)::text FROM errand.finished_jobs
                WHERE queue = ANY ($1) AND outcome = 'completed'
                """, [.textArray(drained)]) == ["\(3 * (drained.count - 1) + 1)"])
        let worker = try start(
            ["work", "--queues", "attack.tiny,attack.beside"],
            environment: ground.environment("errand_work"))
        try await eventually("the first job") {
            try await ground.list(
                "SELECT count(*)::text FROM errand.jobs WHERE queue = 'attack.tiny'") == ["2"]
        }
        let own = ground.environment("errand_owner")
        for queue in queues {
            try await errand(["queue", "show", queue], environment: own).expect(0)
        }
        try await errand(["queue", "ls", "-ojson"], environment: own).expect(0)
        worker.signal(SIGTERM)
        try await finish(worker).expect(0)
        _ = try await ground.list(
            "DELETE FROM errand.queue_limits WHERE queue = ANY ($1) RETURNING queue",
            [.textArray(queues)])
        _ = try await ground.list(
            "DELETE FROM errand.jobs WHERE queue = 'attack.tiny' RETURNING queue")
    }

    @Test(arguments: [
        "lease_seconds = 'NaN'", "lease_seconds = 'Infinity'", "lease_seconds = -1",
        "queues = '[]'", "queues = '5'", "load = '[1]'", "load = 'null'", "kinds = '{NULL}'",
        "kinds = '{{a,b}}'", "roles = '{NULL}'", "running = '{{1}}'", "running = '{NULL}'",
    ])
    func `a worker cannot write of itself what others cannot read`(_ change: String) async throws {
        let ground = try await RoleGround.shared
        let session = ground.session("errand_work")
        let id = try await session.query(
            """
            INSERT INTO errand.workers (host, pid, version, lease_seconds, queues, kinds)
            VALUES ('attacker', 1, '0', 1, '{}', '{}') RETURNING id
            """
        ).int64(0, 0)
        await session.close()
        #expect(
            try await ground.refusal(
                "errand_work", "UPDATE errand.workers SET \(change) WHERE id = \(id)") == "23514")
        _ = try await ground.list(
            "DELETE FROM errand.workers WHERE id = \(id) RETURNING id::text")
    }

    @Test func `the rest of what it writes is read, whatever it is`() async throws {
        try await change(
            """
            INSERT INTO errand.workers (host, pid, version, lease_seconds, last_seen_at, queues,
                load, kinds, clock_ahead_seconds)
            SELECT 'attacker', n, '0', 600, s.at, q.value::jsonb, q.value::jsonb,
                '{demo.noop@x,demo.noop@,demo.noop@99999999999999999999,@,demo.noop@-1}', c.ahead
            FROM unnest('{NaN,Infinity,-Infinity,1e308}'::float8[]) WITH ORDINALITY AS c (ahead, n)
            CROSS JOIN unnest(ARRAY[
                '{"default": {"busy": 1e300, "waiting": -1e300, "concurrency": 1e400, "rate": 1e300,
                    "weight": 1e300, "finished": 9223372036854775807, "failed": 1.5}}',
                '{"default": {"busy": 9223372036854775807, "rate": 1e-300, "concurrency": 1.5}}',
                '{"default": {"busy": "x", "rate": "NaN", "concurrency": [], "waiting": {}}}',
                '{"default": 5, "*": null}', '{"default": []}']) AS q (value)
            CROSS JOIN unnest('{now,infinity,-infinity}'::timestamptz[]) AS s (at);
            INSERT INTO errand.jobs (queue, kind) VALUES ('default', 'demo.noop');
            INSERT INTO errand.jobs (queue, kind, attempt) VALUES ('default', 'demo.noop', 32767);
            INSERT INTO errand.activity (minute, worker, queue, kind, completed, wait_buckets,
                wait_counts, run_buckets, run_counts)
            SELECT date_trunc('minute', now()), n, 'default', 'demo.noop', 2147483647,
                b.value::smallint[], b.value::int[], '{1,2,3}', '{1}'
            FROM unnest(ARRAY['{-32768,32767,NULL,5}', '{NULL}', '{}', '{{1,2},{3,4}}']) WITH
                ORDINALITY AS b (value, n);
            INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts, sensitive)
            VALUES ('demo.noop', 1, 'default', 2, 20, '{{NULL,secret}}');
            INSERT INTO errand.schedules (name, recurrence, kind, catch_up_window_s, jitter_ms)
            VALUES ('attacked', '0 0 1 1 *', 'demo.noop', 9223372036854775807, 9223372036854775807);
            INSERT INTO missions.runs (started_at, total_score, bound, missions, slots, shoppers,
                candidates, offered, seconds, is_optimal)
            SELECT now(), 1, 1, 1, 1, 1, 1, 1, seconds, true
            FROM unnest('{NaN,Infinity,-Infinity,3e38,-3e38}'::real[]) AS seconds;
            INSERT INTO errand.operations (action, operator, filter, rate_per_s, total)
            SELECT 'job retry', 'x', f.filter::jsonb, rate, 9223372036854775807
            FROM unnest('{NaN,Infinity,1e308,1e-300}'::float8[]) AS rate
            CROSS JOIN unnest(ARRAY['{}', '5', '[]', '{"queue": 5}']) AS f (filter)
            """)
        let job = try await number("SELECT min(id) FROM errand.jobs")
        let worker = try await number("SELECT max(id) FROM errand.workers")
        for command in [
            ["status"], ["status", "-ojson"], ["doctor", "-ojson"], ["queue", "ls", "-ojson"],
            ["queue", "show", "default"], ["kind", "ls"], ["worker", "ls"],
            ["worker", "ls", "-ojson"], ["worker", "show", "\(worker)"],
            ["job", "why", "\(job)", "-ojson"], ["job", "ls"], ["op", "ls"],
            ["op", "ls", "-ojson"],
            ["schedule", "ls"], ["schedule", "show", "attacked"],
            ["schedule", "show", "attacked", "-ojson"], ["mission", "runs"],
            ["mission", "runs", "-ojson"],
        ] {
            let run = try await errand(command)
            #expect([0, 10, 11].contains(run.code), "\(run)")
            for error in ["could not be read", "invalid input syntax", "out of range"] {
                #expect(!run.output.contains(error) && !run.errors.contains(error), "\(run)")
            }
        }
        #expect(
            try await number("SELECT running FROM errand.queue_depth WHERE queue = 'default'")
                >= 0)
        try await errand("work", "--drain").expect(0)
        #expect(try await number("SELECT count(*) FROM errand.jobs") == 0)
    }
}
