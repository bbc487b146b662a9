import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

extension CommandLine {
    /// What the doctor says of jobs, workers and queues, beside the planted faults.
    @Suite("errand doctor and the engine") struct DoctorEngineTests {
        private func findings(
            _ code: Int32, _ check: String, at place: SourceLocation = #_sourceLocation
        ) async throws -> [JSON] {
            let run = try await errand("doctor", "-ojson")
            run.expect(code, at: place)
            return try run.records.filter { $0["check"] == .text(check) }
        }

        /// Workers that exist only in their rows.
        private func worker(
            _ version: String, _ queues: String, load: String = "{}"
        ) async throws {
            try await change(
                """
                INSERT INTO errand.workers (host, pid, version, last_seen_at, lease_seconds,
                    queues, load, kinds)
                VALUES ('elsewhere', 1, '\(version)', now() + interval '1 day', 20, '\(queues)',
                    '\(load)', '{demo.noop@1}')
                """)
        }

        @Test func `the worst comes first, and people get the commands in full`() async throws {
            try await made("enqueue", "demo.noop", "--queue", "mail")
            try await change("UPDATE errand.jobs SET run_at = now() - interval '2 min'")
            let run = try await errand("doctor", "-ojson")
            run.expect(11)
            let order = ["critical", "warning", "note", "ok"]
            let grades = try run.records.map {
                order.firstIndex(of: $0["severity"].text ?? "") ?? -1
            }
            #expect(grades == grades.sorted())
            #expect(Set(grades).isSuperset(of: [0, 1, 3]))
            let table = try await errand("doctor", environment: ["COLUMNS": "40"])
            table.expect(11)
            #expect(table.lines.contains("  errand work --queues mail"))
            try await errand("doctor", "mail").expect(2, "unexpected 'mail'")
            try await errand("doctor", "--oldest-warning", "soon").expect(2, "a duration")
            try await errand("doctor", "--oldest-warning", "1h", "--oldest-critical", "2h")
                .expect(10)
        }

        @Test func `an operation that was interrupted`() async throws {
            try await change(
                """
                INSERT INTO errand.operations (action, operator, filter, total, done)
                VALUES ('job cancel', 'somebody', '{}', 1000, 300)
                """)
            let found = try #require(try await findings(10, "operations").first)
            #expect(found["message"].text?.contains("after 300 of 1,000") == true, "\(found)")
            #expect(found["remedy"].text?.hasPrefix("errand op resume ") == true)
        }

        @Test func `workers of different versions are worth a note alone`() async throws {
            try await worker("1.0", "{}")
            try await worker("1.1", "{}")
            try await change("DELETE FROM errand.schedules")
            let leads = try await errand("doctor", "-ojson")
            let found = try leads.records.first { $0["check"] == "versions" }
            #expect(found?["severity"] == "note")
            #expect(found?["message"].text?.contains("1 of 1.0, 1 of 1.1") == true)
        }

        @Test func `why the oldest job of a queue waits`() async throws {
            try await worker(
                "1", #"{"default": {"concurrency": 3}}"#,
                load: #"{"default": {"busy": 3, "waiting": 0}}"#)
            try await change(
                """
                INSERT INTO errand.jobs (queue, kind, run_at)
                VALUES ('default', 'demo.noop', now() - interval '5 min')
                """)
            let busy = try #require(try await findings(10, "queue").first)
            #expect(busy["message"].text?.hasPrefix("default: the oldest job has waited 5") == true)
            #expect(busy["message"].text?.contains("all 3 slots are busy") == true)
            #expect(busy["remedy"] == "errand work --queues default")
            try await change(
                """
                INSERT INTO errand.queue_limits (queue, running, set_by) VALUES ('default', 1, 'x');
                WITH held AS (
                    INSERT INTO errand.jobs (queue, kind, claimed_by, claim_token)
                    SELECT 'default', 'demo.noop', id, 7 FROM errand.workers RETURNING id)
                INSERT INTO errand.slots (queue, job_id, token) SELECT 'default', id, 7 FROM held
                """)
            let limited = try #require(try await findings(10, "queue").first)
            #expect(limited["message"].text?.contains("its limit allows 1 running job") == true)
            #expect(limited["remedy"] == "errand queue limit default --running 2")
        }

        @Test func `a version of a kind that nobody knows, and a worker that died once`()
            async throws
        {
            try await worker("1", #"{"d*": {"concurrency": 3}}"#)
            try await change(
                """
                INSERT INTO errand.jobs (queue, kind, args_version, errors)
                VALUES ('default', 'demo.noop', 9, NULL), ('default', 'demo.noop', 1,
                    ('[{"attempt": 1, "error": "worker 7 (a, pid 1) died or hung while it held '
                    || 'this job; last seen then"}]')::jsonb)
                """)
            let kind = try #require(try await findings(10, "kinds").first)
            #expect(
                kind["message"].text?.contains(
                    "knows version 9 of the arguments of demo.noop, only 1: a due job") == true)
            let once = try #require(try await findings(10, "poison").first)
            #expect(once["severity"] == "note")
            #expect(once["message"].text?.contains("was running when a worker died") == true)
            #expect(once["remedy"].text?.hasPrefix("errand job show ") == true)
        }

        @Test func `a database without a schema`() async throws {
            try await change("DROP SCHEMA errand CASCADE")
            let missing = try #require(try await findings(11, "migrations").first)
            #expect(missing["remedy"] == "errand migrate")
            #expect(try await findings(11, "clock").first?["severity"] == "ok")
        }

        // MARK: db prepare

        @Test func `partitions are prepared and noted`() async throws {
            let reason = ["--reason", "long holidays"]
            let run = try await errand(["db", "prepare", "--days", "14", "-ojson"] + reason)
            run.expect(0)
            #expect(try run.records.count == 2)
            #expect(try run.records.allSatisfy { $0.names == ["table", "day"] })
            let table = try #require(try run.records.first?["table"].text)
            #expect(try await number("SELECT count(*) FROM errand.\(table)") == 0)
            let indexes = """
                SELECT count(*) FROM pg_inherits i
                JOIN pg_index x ON x.indexrelid = i.inhrelid
                WHERE x.indrelid = 'errand.\(table)'::regclass
                """
            let all =
                "SELECT count(*) FROM pg_index WHERE indrelid = 'errand.finished_jobs'::regclass"
            #expect(try await number(indexes) == number(all))
            let audit = try await errand("audit", "ls", "--action", "db", "-ojson")
            #expect(
                try audit.records.map { $0["subject"].text }
                    == run.records.map { $0["table"].text }.reversed())
            #expect(try audit.records.allSatisfy { $0["reason"] == "long holidays" })
            let again = try await errand("db", "prepare", "--days", "14")
            again.expect(0, "nothing to do: no partition is missing")
            let more = try await errand("db", "prepare", "--days", "15")
            more.expect(0)
            #expect(more.lines[0].hasPrefix("TABLE"))
        }

        @Test func `preparing needs rights and time, and bad input is named`() async throws {
            try await errand("db", "prepare", "--days", "0").expect(2, "--days")
            try await errand("db", "prepare", "now").expect(2, "unexpected 'now'")
            try await errand("db", "prepare", "--days", "13", "--read-only").expect(5)
            let session = try TestDatabase.here().session()
            try await session.script("BEGIN; LOCK TABLE errand.finished_jobs_other")
            try await errand("db", "prepare", "--days", "13").expect(8, "PostgreSQL timed out")
            try await session.script("ROLLBACK")
            await session.close()
            try await errand("db", "prepare", "--days", "13").expect(0)
        }
    }
}
