import ErrandPostgres
import ErrandTestServices
import Foundation
import Testing

/// Rows that only a worker's login can write, with extremes elsewhere than in their arguments.
@Suite("Attacks: extreme rows of workers", .serialized, .database) struct ExtremeRowsTests {
    /// No array, no objects in it, or objects with other types and sizes than Errand's.
    private static let garbage = [
        #""x""#, "5", "true", "null", "{}", #"{"error": "x"}"#, "[]", "[null]", "[[[]]]",
        #"["x", 1, {"attempt": "x", "started_together": "y", "duration_ms": "z", "error": {}}]"#,
        #"[{"attempt": 1, "duration_ms": 1e308, "error": "x", "started_together": 1e308}]"#,
        #"[{"attempt": -1, "duration_ms": -1e308, "error": "died", "started_together": -1e308}]"#,
        #"[{"attempt": 9223372036854775808, "at": "9999-99-99T00:00:00Z", "duration_ms": 1e400}]"#,
        #"[{"at": 5}, {"at": "infinity"}, {"at": "-infinity", "duration_ms": 1e308}]"#,
        "[\((0..<30).map { "\($0)" }.joined(separator: ", "))]",
    ]

    private func insert(
        kind: String, args: String = "{}", queue: String = "default", attempts: Int = 3
    ) async throws {
        let session = try TestDatabase.here().session()
        _ = try await session.query(
            """
            INSERT INTO errand.jobs (queue, kind, args, max_attempts, errors, options)
            SELECT $1, $2, $3::text::jsonb, $4, e.errors::jsonb,
                '{"backoff": {"base": 0, "factor": 1, "ceiling": 0, "jitter": 0}}'
            FROM unnest($5::text[]) AS e (errors)
            """,
            [
                .text(queue), .text(kind), .text(args), .int32(Int32(attempts)),
                .textArray(Self.garbage),
            ])
        await session.close()
    }

    @Test func `garbage in the history of a job holds up no result`() async throws {
        // Which end well, after a retry, and as dead letters.
        try await insert(kind: "demo.noop")
        try await insert(kind: "demo.fail", args: #"{"times": 1}"#)
        try await insert(kind: "demo.fail", args: #"{"times": 99}"#)
        try await insert(kind: "demo.sleep", args: #"{"ms": "no number"}"#)
        try await change("INSERT INTO errand.jobs (queue, kind) VALUES ('default', 'demo.noop')")
        let summary = try await made("work", "--drain")
        let count = Double(Self.garbage.count)
        #expect(summary["completed"].number == 2 * count + 1)
        #expect(summary["dead"].number == 2 * count)
        #expect(try await number("SELECT count(*) FROM errand.jobs") == 0)
        #expect(
            try await number(
                """
                SELECT count(*) FROM errand.finished_jobs
                WHERE kind = 'demo.fail' AND errors -> -1 ->> 'error' LIKE 'failed on purpose%'
                """) == 2 * Self.garbage.count)
        #expect(
            try await number(
                "SELECT count(*) FROM errand.finished_jobs WHERE reason LIKE '%could not be%'")
                == 0)
    }

    @Test func `garbage in the history of a job holds up no recovery`() async throws {
        try await insert(kind: "demo.noop")
        try await insert(kind: "demo.sleep", args: #"{"ms": 0}"#, attempts: 1)
        try await change(
            """
            INSERT INTO errand.jobs (queue, kind) VALUES ('default', 'demo.noop');
            INSERT INTO errand.workers (host, pid, version, last_seen_at, lease_seconds, queues,
                kinds)
            SELECT 'elsewhere', n, '0', now() - interval '1 hour', 1, '{}', '{}'
            FROM generate_series(1, 2) AS n;
            UPDATE errand.jobs j SET claim_token = 4711, attempt = 1,
                claimed_at = now() - interval '2 hours', claimed_by = (
                    SELECT w.id FROM errand.workers w ORDER BY w.id OFFSET j.id % 2 LIMIT 1)
            """)
        let worker = try start(["work"])
        try await eventually("all jobs to end") {
            try await number("SELECT count(*) FROM errand.jobs") == 0
        }
        worker.signal(SIGTERM)
        let run = try await finish(worker)
        run.expect(0)
        #expect(!run.errors.contains("could not be recovered"), "\(run.errors)")
        #expect(
            try await number(
                "SELECT count(*) FROM errand.finished_jobs WHERE outcome = 'completed'")
                == Self.garbage.count + 1)
        #expect(
            try await number(
                """
                SELECT count(*) FROM errand.finished_jobs
                WHERE outcome = 'dead' AND errors -> -1 ->> 'error' LIKE '%died or hung%'
                """) == Self.garbage.count)
    }

    @Test func `operators read jobs with garbage in their history`() async throws {
        try await insert(kind: "demo.noop")
        try await insert(kind: "demo.noop", queue: "other", attempts: 1)
        try await change(
            """
            UPDATE errand.jobs SET attempt = 1 WHERE queue = 'other';
            INSERT INTO errand.finished_jobs (id, created_at, run_at, started_at, finished_at,
                keep_until, outcome, priority, attempt, max_attempts, args_version, queue, kind,
                args, errors, duration_ms, reason)
            SELECT nextval('errand.jobs_id_seq'), now(), now(), now(), now(),
                'infinity', 'dead', 2, 1, 1, 1, 'default', 'demo.noop', '{}', j.errors,
                ('{NaN,Infinity,-Infinity,3e38,-3e38}'::real[])[1 + id % 5], 'x'
            FROM errand.jobs j WHERE queue = 'default'
            """)
        let session = try TestDatabase.here().session()
        let ids = try await session.query(
            """
            SELECT id FROM errand.jobs WHERE queue = 'other'
            UNION ALL SELECT id FROM errand.dead_jobs
            """
        ).map { try $0.int64(0) }
        await session.close()
        #expect(ids.count == Self.garbage.count * 2)
        for command in [
            ["status"], ["doctor", "-ojson"], ["job", "ls", "-owide"], ["job", "ls", "-ojson"],
            ["dead", "ls", "-owide"], ["dead", "ls", "-ojson"], ["queue", "ls"],
            ["job", "ls", "--error", "x"],
        ] {
            let run = try await errand(command)
            #expect([0, 10, 11].contains(run.code), "\(run)")
            #expect(!run.output.contains("cannot get array length"), "\(run.output)")
            #expect(!run.output.contains("cannot extract elements"), "\(run.output)")
        }
        for id in ids {
            try await errand("job", "show", "\(id)").expect(0)
            try await errand("job", "why", "\(id)", "-ojson").expect(0)
        }
    }

    @Test func `versions of arguments that no program has wait, and hold up no others`()
        async throws
    {
        let versions = [32_767, -32_767, -32_768, 0, -1]
        try await change(
            """
            INSERT INTO errand.jobs (queue, kind, args_version)
            SELECT 'attack.rows', k, v FROM unnest('{demo.noop,votes.count}'::text[]) AS k
            CROSS JOIN unnest('{\(versions.map { "\($0)" }.joined(separator: ","))}'::int[]) AS v;
            INSERT INTO errand.jobs (queue, kind) VALUES ('attack.rows', 'demo.noop')
            """)
        let all = try await number("SELECT count(*) FROM errand.jobs")
        let worker = try start(["work", "--queues", "attack.rows"])
        try await eventually("the one of a known version to run") {
            try await number("SELECT count(*) FROM errand.finished_jobs") == 1
        }
        let doctor = try await errand("doctor", "-ojson")
        for version in versions {
            let known = "knows version \(version) of the arguments of "
            #expect(doctor.output.contains(known), "\(version)\n\(doctor.output)")
        }
        worker.signal(SIGTERM)
        try await finish(worker).expect(0)
        #expect(
            try await number("SELECT count(*) FROM errand.jobs WHERE attempt = 0") == all - 1)
    }

    @Test func `no backoff of a row puts an attempt off for more than 30 days`() async throws {
        try await change(
            """
            INSERT INTO errand.jobs (queue, kind, args, attempt, max_attempts, options)
            SELECT 'default', 'demo.fail', '{"times": 99}', attempt, 5, jsonb_build_object(
                'backoff', jsonb_build_object('base', base, 'factor', factor, 'ceiling', ceiling,
                    'jitter', jitter))
            FROM unnest('{0,1,2,3}'::int[]) AS attempt
            CROSS JOIN unnest('{1,1e308,-1e308,0}'::numeric[]) AS base
            CROSS JOIN unnest('{1e308,-1e308,0}'::numeric[]) AS factor
            CROSS JOIN unnest('{1e308,60}'::numeric[]) AS ceiling
            CROSS JOIN unnest('{0,1e308,-1e308}'::numeric[]) AS jitter
            """)
        let all = try await number("SELECT count(*) FROM errand.jobs")
        let begun = try await session("SELECT clock_timestamp()::text")
        try await errand("work", "--drain").expect(0)
        #expect(
            try await number(
                """
                SELECT count(*) FROM errand.jobs
                WHERE claimed_by IS NOT NULL OR attempt NOT BETWEEN 1 AND 4
                    OR run_at NOT BETWEEN '\(begun)'
                        AND clock_timestamp() + interval '30 days 1 second'
                """) == 0)
        // Those without a wait have had all their attempts.
        let dead = try await number("SELECT count(*) FROM errand.dead_jobs WHERE attempt = 5")
        let waiting = try await number("SELECT count(*) FROM errand.jobs")
        #expect(dead > 0 && waiting > 0 && dead + waiting == all)
    }

    private func session(_ sql: String) async throws -> String {
        let session = try TestDatabase.here().session()
        let text = try await session.query(sql).text(0, 0)
        await session.close()
        return text
    }
}
