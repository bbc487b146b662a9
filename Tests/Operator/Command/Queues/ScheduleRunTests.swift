import Glibc
import ErrandTestServices
import Testing

extension CommandLine {
    @Suite("errand schedule tick, run, history, backfill") struct ScheduleRunTests {
        private func add(_ name: String, _ expression: String, _ options: String...) async throws {
            try await add(name, expression, options)
        }

        private func add(
            _ name: String, _ expression: String, _ options: [String]
        ) async throws {
            let run = try await errand(
                ["schedule", "add", name, expression, "--kind", "demo.noop"] + options)
            run.expect(0)
        }

        private func tick(_ now: String) async throws -> JSON {
            try await made("schedule", "tick", "--now", now)
        }

        private func history(_ name: String, _ options: String...) async throws -> [JSON] {
            let run = try await errand(["schedule", "history", name, "-ojson"] + options)
            run.expect(0)
            return try run.records
        }

        // MARK: tick

        /// So that what comes before the times of these tests is not caught up.
        private static let starts = ["--starts", "2095-01-01T10:30:00Z"]

        @Test func `tick makes what is due, once`() async throws {
            try await add("a.b", "0 * * * *", Self.starts)
            #expect(try await tick("2095-01-01T10:30:00Z")["enqueued"] == 0)
            let done = try await tick("2095-01-01T11:00:10Z")
            #expect(done.names == ["enqueued", "held", "skipped", "missed_runs", "schedules"])
            #expect(done["enqueued"] == 1)
            #expect(try await tick("2095-01-01T11:00:10Z")["schedules"] == 0)
            // Nothing twice when the clock goes back.
            #expect(try await tick("2095-01-01T10:59:59Z")["enqueued"] == 0)
            #expect(try await tick("2095-01-01T11:00:30Z")["enqueued"] == 0)
            let job = try await made("job", "ls")
            #expect(job["schedule"] == "a.b")
            #expect(job["due_at"] == "2095-01-01T11:00:00.000000Z")
        }

        @Test func `a dry run says what would be done, and changes nothing`() async throws {
            try await add("a.b", "0 * * * *", Self.starts)
            _ = try await tick("2095-01-01T10:30:00Z")
            let state = "SELECT hashtext(string_agg(s::text, ',')) FROM errand.schedules s"
            let before = try await number(state)
            let run = try await errand(
                "schedule", "tick", "--dry-run", "--now", "2095-01-01T14:00:30Z", "-ojson")
            run.expect(0)
            let records = try run.records
            #expect(records.map { $0["action"] } == ["miss", "enqueue"])
            #expect(records[0]["due_at"] == "2095-01-01T11:00:00.000000Z")
            #expect(records[0]["reason"].text?.hasPrefix("3 up to 2095-01-01 13:00:00Z") == true)
            #expect(records[1]["due_at"] == "2095-01-01T14:00:00.000000Z")
            #expect(try await number(state) == before)
            #expect(try await number("SELECT count(*) FROM errand.jobs") == 0)
            try await errand("schedule", "tick", "--dry-run", "--now", "2095-01-01T10:31:00Z")
                .expect(0, "nothing is due at 2095-01-01T10:31:00Z")
        }

        @Test func `ticks at once make each occurrence once`() async throws {
            for name in 0..<10 { try await add("a.s\(name)", "0 * * * *", Self.starts) }
            _ = try await tick("2095-01-01T10:30:00Z")
            for hour in 11...13 {
                let now = "2095-01-01T\(hour):00:01Z"
                let racers = try (0..<4).map { _ in
                    try start(["schedule", "tick", "--now", now, "-ojson"])
                }
                for racer in racers { try await finish(racer).expect(0) }
            }
            #expect(try await number("SELECT count(*) FROM errand.jobs") == 30)
            #expect(
                try await number("SELECT count(DISTINCT job_id) FROM errand.schedule_occurrences")
                    == 30)
        }

        @Test func `tick needs PostgreSQL only, and its tables`() async throws {
            try await errand("schedule", "tick", environment: ["REDIS_URL": ""]).expect(0)
            try await errand("schedule", "tick", "--database-url", "postgresql://127.0.0.1:1/x")
                .expect(6, "PostgreSQL cannot be reached")
            let empty = try TestDatabase.url(of: "postgres")
            for verb in ["tick", "run", "ls"] {
                try await errand("schedule", verb, "--database-url", empty)
                    .expect(
                        5, "schema", "run 'errand migrate' first")
            }
        }

        // MARK: run and work

        @Test func `run makes jobs until it is told to stop`() async throws {
            try await add("a.b", "@every 1s")
            let process = try start(["schedule", "run"], environment: ["REDIS_URL": ""])
            try await eventually("two jobs") {
                try await number("SELECT count(*) FROM errand.jobs") >= 2
            }
            process.signal(SIGTERM)
            try await finish(process).expect(0)
            try await errand("schedule", "run", "--speed", "2").expect(2, "--speed needs --now")
        }

        @Test func `run rehearses a night with a clock of its own`() async throws {
            try await add("a.b", "30 1 * * *", "--tz", "America/Toronto", "--repeat", "both")
            let process = try start([
                "schedule", "run", "--now", "2026-11-01T05:00:00Z", "--speed", "1200",
            ])
            try await eventually("both passes") {
                try await number("SELECT count(*) FROM errand.schedule_occurrences") >= 2
            }
            process.signal(SIGINT)
            try await finish(process).expect(0)
            let dues = try await history("a.b").map { $0["due_at"] }
            #expect(
                dues.suffix(2) == ["2026-11-01T06:30:00.000000Z", "2026-11-01T05:30:00.000000Z"])
        }

        @Test func `work runs the schedules, unless it is told not to`() async throws {
            let schedulers = """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND application_name LIKE 'errand-schedule%'
                """
            let job = try await made("enqueue", "demo.noop")
            let idle = try start(["work", "--no-schedules"])
            try await eventually("a job to be done") {
                try await made("job", "show", job["id"].id)["state"] == "completed"
            }
            #expect(try await number(schedulers) == 0)
            idle.signal(SIGTERM)
            try await finish(idle).expect(0)
            try await add("a.b", "@every 1s")
            let worker = try start(["work"])
            try await eventually("a job of the schedule to be done") {
                try await number(
                    """
                    SELECT count(*) FROM errand.schedule_occurrences WHERE outcome = 'completed'
                    """) >= 1
            }
            worker.signal(SIGTERM)
            try await finish(worker).expect(0)
        }

        // MARK: history

        @Test func `history tells of jobs and of what was missed`() async throws {
            try await add("a.b", "0 * * * *", Self.starts)
            for now in ["10:30:00", "11:00:00", "15:30:00"] {
                _ = try await tick("2095-01-01T\(now)Z")
            }
            let entries = try await history("a.b")
            #expect(entries.map { $0["outcome"] } == ["available", "missed", "available"])
            #expect(entries.map { $0["count"] } == [1, 3, 1])
            #expect(entries.map { $0["origin"] } == ["catch-up", "schedule", "schedule"])
            #expect(entries[1]["due_at"] == "2095-01-01T12:00:00.000000Z")
            #expect(entries[1]["last_due"] == "2095-01-01T14:00:00.000000Z")
            #expect(entries[1]["reason"].text?.contains("only the latest was run") == true)
            #expect(
                entries[0].names == [
                    "due_at", "last_due", "count", "decided_at", "late", "job", "origin",
                    "outcome", "merged_into", "ended_at", "reason",
                ])
            let first = try await errand("schedule", "history", "a.b", "--limit", "1")
            first.expect(0, "--cursor 2095-01-01T15:00:00Z")
            #expect(first.lines[0].hasPrefix("DUE"))
            let rest = try await history("a.b", "--cursor", "2095-01-01T15:00:00Z")
            #expect(rest.count == 2)
            let table = try await errand("schedule", "history", "a.b")
            #expect(table.output.contains("3 up to 2095-01-01 14:00:00Z: no scheduler ran"))
            try await add("a.c", "0 * * * *")
            try await errand("schedule", "history", "a.c")
                .expect(0, "a.c has had no occurrence yet")
        }

        // MARK: backfill

        private let span = ["--from", "2026-11-01T00:00:00Z", "--to", "2026-11-02T00:00:00Z"]

        @Test func `backfill makes what is missing, once`() async throws {
            try await add("a.b", "0 * * * *")
            let dry = try await errand(
                ["schedule", "backfill", "a.b", "--dry-run", "-ojson"] + span)
            dry.expect(0)
            #expect(
                try dry.record
                    == .object([
                        "schedule": "a.b", "missing": 24, "already_run": 0,
                        "first": "2026-11-01T00:00:00.000000Z",
                        "last": "2026-11-01T23:00:00.000000Z",
                    ]))
            try await errand(["schedule", "backfill", "a.b"] + span)
                .expect(5, "create 24 jobs of a.b now?", "--yes")
            #expect(try await number("SELECT count(*) FROM errand.jobs") == 0)
            let run = try await errand(
                ["schedule", "backfill", "a.b", "--yes", "-ojson"] + span)
            run.expect(0)
            #expect(try run.record["created"] == 24)
            let again = try await errand(["schedule", "backfill", "a.b", "--yes"] + span)
            again.expect(0, "nothing to do")
            #expect(again.output.contains("already run  24"))
            #expect(try await number("SELECT count(*) FROM errand.jobs") == 24)
        }

        @Test func `what backfill refuses`() async throws {
            try await add("a.b", "* * * * * *")
            for (times, code, text) in [
                (["2026-11-02T00:00:00Z", "2026-11-01T00:00:00Z"], 2, "is not after"),
                (["2026-11-01T00:00:00Z", "2095-11-01T00:00:00Z"], 5, "is in the future"),
                (["2026-01-01T00:00:00Z", "2026-11-01T00:00:00Z"], 5, "more than 100,000"),
            ] as [([String], Int32, String)] {
                try await errand(
                    "schedule", "backfill", "a.b", "--yes", "--from", times[0], "--to", times[1]
                ).expect(code, text)
            }
            try await errand(
                "schedule", "backfill", "a.b", "--from", "2026-01-01T00:00:00Z", "--to",
                "2026-11-01T00:00:00Z"
            ).expect(5, "--to 2026-01-02T03:46:40Z covers the first 100,000")
            try await errand(["schedule", "backfill", "a.c"] + span).expect(3, "did you mean a.b?")
            try await errand("schedule", "backfill", "a.b").expect(2, "--from TIME is required")
        }

        @Test func `a backfill that is interrupted says how far it came`() async throws {
            try await add("a.b", "* * * * * *")
            let process = try start([
                "schedule", "backfill", "a.b", "--yes", "--from", "2026-11-01T00:00:00Z",
                "--to", "2026-11-02T00:00:00Z",
            ])
            try await eventually("some jobs") {
                try await number("SELECT count(*) FROM errand.schedule_occurrences") > 0
            }
            process.signal(SIGINT)
            let run = try await finish(process)
            run.expect(
                7, "interrupted: ", " of 86,400 jobs were created", "run the same command again")
            let count = try await number("SELECT count(*) FROM errand.jobs")
            #expect(count < 86_400)
            #expect(count % 500 == 0)
        }
    }
}
