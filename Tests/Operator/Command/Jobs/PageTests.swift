import ErrandTestServices
import Testing

extension JobCommands {
    @Suite("errand job ls: pages that end early") struct PageTests {
        /// Jobs that have failed, with a word in the error of each two hundredth; and a database in
        /// which a look at an error takes its time, as one at millions would.
        private func ground() async throws {
            try await change(
                """
                INSERT INTO errand.jobs (id, queue, kind, attempt, errors)
                SELECT n, 'default', 'demo.noop', 1, jsonb_build_array(jsonb_build_object('error',
                    CASE WHEN n % 200 = 100 THEN 'a needle' ELSE 'hay' END))
                FROM generate_series(1, 700) n;
                INSERT INTO errand.finished_jobs (id, created_at, run_at, finished_at, keep_until,
                    outcome, priority, attempt, max_attempts, args_version, queue, kind, args,
                    errors)
                SELECT n, now(), now(), now(), 'infinity', 'dead', 2, 1, 1, 1, 'default',
                    'demo.noop', '{}', jsonb_build_array(jsonb_build_object('error',
                    CASE WHEN n % 200 = 100 THEN 'a needle' ELSE 'hay' END))
                FROM generate_series(3001, 3300) n;
                ANALYZE errand.jobs, errand.finished_jobs;
                CREATE FUNCTION public.lower(text) RETURNS text LANGUAGE plpgsql AS $$
                BEGIN
                    PERFORM pg_sleep(0.001);
                    RETURN pg_catalog.lower($1);
                END $$;
                DO $$ BEGIN
                    EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog',
                        current_database());
                END $$;
                """)
        }

        private static let words = ["job", "ls", "--state", "retrying", "--error", "NEEDLE"]

        @Test func `a note says where a page ended, and where it goes on`() async throws {
            try await ground()
            let first = try await errand(Self.words)
            first.expect(
                0,
                "stopped early after the newest 200 jobs, down to id 501; continue: errand job ls ",
                " --cursor 501, or search everything: --all-history")
            #expect(first.lines.count == 3)
            let second = try await errand(Self.words + ["--cursor", "501", "-ojson"])
            second.expect(
                0,
                "stopped early after 200 jobs, down to id 301; continue: errand job ls ",
                " --cursor 301, or")
            #expect(try second.records.map { $0["id"] } == [500])
            let last = try await errand(Self.words + ["--cursor", "200", "-ojson"])
            last.expect(0)
            #expect(last.errors.isEmpty)
            #expect(try last.records.map { $0["id"] } == [100])
            let back = try await errand(Self.words + ["--order", "oldest", "-oname"])
            back.expect(
                0,
                "stopped early after the oldest 200 jobs, up to id 200; continue: errand job ls ",
                " --cursor 200, or")
            #expect(back.output == "100\n")
            let none = try await errand("job", "ls", "--state", "retrying", "--error", "straw")
            none.expect(0, "no match so far", "down to id 501")
            #expect(none.output.isEmpty)
        }

        @Test func `all of the history is looked through when it is asked for`() async throws {
            try await ground()
            let all = try await errand(Self.words + ["--all-history", "-ojson"])
            all.expect(0)
            #expect(all.errors.isEmpty)
            #expect(try all.records.map { $0["id"] } == [700, 500, 300, 100])
            let none = try await errand(
                "job", "ls", "--state", "retrying", "--error", "straw", "--all-history")
            none.expect(0, "no jobs match")
            let full = try await errand(Self.words + ["--all-history", "--limit", "2"])
            full.expect(0, "more: errand job ls ", " --cursor 500")
            try await errand("job", "ls", "--all-history=no").expect(2)
            try await errand("dead", "group", "--all-history").expect(2, "--all-history")
            let help = try await errand("job", "ls", "--help")
            #expect(help.output.contains("--all-history"))
            #expect(help.output.contains("A search that no index serves stops early"))
        }

        @Test func `dead letters are listed the same way`() async throws {
            try await ground()
            let first = try await errand("dead", "ls", "--error", "needle", "-ojson")
            first.expect(
                0,
                "stopped early after the newest 200 jobs, down to id 3101; continue: errand dead",
                " --cursor 3101, or search everything: --all-history")
            #expect(try first.records.map { $0["id"] } == [3_300])
            let rest = try await errand(
                "dead", "ls", "--error", "needle", "--cursor", "3101", "-oname")
            rest.expect(0)
            #expect(rest.output == "3100\n")
            let all = try await errand("dead", "ls", "--error", "needle", "--all-history", "-oname")
            #expect(all.output == "3300\n3100\n")
        }

        @Test func `top looks no further either, and says so`() async throws {
            try await ground()
            let run = try await errand(
                "top", "--once", "--state", "retrying", "--error", "straw",
                environment: ["COLUMNS": "120"])
            run.expect(0)
            #expect(run.output.contains("newest jobs only"))
            #expect(run.output.contains("no jobs match among the newest 200 jobs"))
        }
    }
}
