import Foundation
import Glibc
import ErrandPostgres
import ErrandTestServices
import Testing

extension CommandLine {
    @Suite("errand status") struct StatusTests {
        private func checks(
            _ code: Int32, _ arguments: String..., environment: [String: String] = [:],
            at place: SourceLocation = #_sourceLocation
        ) async throws -> [JSON] {
            let run = try await errand(
                ["status", "--check", "-ojson"] + arguments, environment: environment)
            run.expect(code, at: place)
            for record in try run.records {
                #expect(record.names == ["check", "severity", "message", "remedy"])
            }
            return try run.records
        }

        private func calm() async throws {
            try await change("DELETE FROM errand.schedules")
        }

        @Test func `all is well`() async throws {
            try await calm()
            #expect(try await checks(0).isEmpty)
            let run = try await errand("status", "--check")
            run.expect(0)
            #expect(run.output == "ok\n")
            let screen = try await errand("status")
            screen.expect(0)
            for name in [
                "leaders", "workers", "schedules", "dead", "redis", "transaction", "schema",
            ] {
                #expect(screen.lines.contains { $0.hasPrefix("\(name) ") }, "\(name)")
            }
            #expect(screen.lines.count < 24)
        }

        @Test func `JSON has stable names`() async throws {
            let status = try await made("status")
            #expect(
                status.names == [
                    "at", "workers", "stopping_workers", "unresponsive_workers", "dead",
                    "dead_estimated", "dead_last_hour", "schedules", "overdue_schedules",
                    "longest_overdue", "oldest_transaction", "oldest_transaction_pid",
                    "pending_migrations", "redis", "leaders", "queues", "problems",
                ])
            #expect(status["redis"]["reachable"] == true)
            #expect(status["redis"]["used_bytes"].number ?? 0 > 0)
            #expect(status["pending_migrations"] == 0)
            let queue = try #require(status["queues"].elements.first)
            #expect(
                queue.names.isSuperset(of: [
                    "available", "oldest", "p95_wait", "rate_in", "rate_out", "busy", "slots",
                    "drain_time", "estimated", "paused_by",
                ]))
        }

        @Test func `it names who leads`() async throws {
            let worker = try start(["work"])
            try await eventually("it to lead") {
                let leaders = try await made("status")["leaders"].elements
                let id = try await number("SELECT coalesce(max(id), 0) FROM errand.workers")
                return leaders.map { $0["role"] } == ["feeder", "scheduler"]
                    && leaders.allSatisfy { $0["worker"].number == Double(id) }
            }
            let run = try await errand("status")
            #expect(run.output.contains("feeder: worker "))
            #expect(run.output.contains("1 alive, 0 unresponsive"))
            worker.signal(SIGTERM)
            try await finish(worker).expect(0)
        }

        @Test func `a queue with due jobs and no worker is critical`() async throws {
            try await calm()
            try await made("enqueue", "demo.noop", "--queue", "mail")
            let found = try await checks(10)
            #expect(found.map { $0["severity"] } == ["warning"])
            #expect(found[0]["remedy"] == "errand work --queues mail")
            #expect(try await checks(11, "--oldest-warning", "0s")[0]["severity"] == "critical")
            let run = try await errand("status")
            #expect(run.output.contains("→ errand work --queues mail"))
            // Paused on purpose is no trouble.
            try await made("queue", "pause", "mail", "--reason", "rent day")
            #expect(try await checks(0).isEmpty)
            let paused = try await errand("status")
            #expect(paused.output.contains("mail by tester"))
            #expect(paused.output.contains("rent day  → errand queue resume mail"))
            try await change("UPDATE errand.jobs SET run_at = run_at - interval '1 hour'")
            #expect(try await checks(10)[0]["remedy"] == "errand queue resume mail")
        }

        @Test func `the thresholds are options`() async throws {
            try await calm()
            try await change(
                """
                INSERT INTO errand.workers (host, pid, version, last_seen_at, lease_seconds,
                    queues, kinds) VALUES ('elsewhere', 1, '0', now() + interval '1 day', 20,
                    '{"default": {"concurrency": 3}}', '{demo.noop@1}')
                """)
            try await change(
                """
                INSERT INTO errand.jobs (queue, kind, run_at)
                VALUES ('default', 'demo.noop', now() - interval '5 min')
                """)
            func grades(_ arguments: String..., code: Int32) async throws -> [JSON] {
                let run = try await errand(["status", "--check", "-ojson"] + arguments)
                run.expect(code)
                return try run.records.filter { $0["check"] == "queue" }.map { $0["severity"] }
            }
            #expect(try await grades(code: 10) == ["warning"])
            #expect(try await grades("--oldest-critical", "2m", code: 11) == ["critical"])
            let lax = ["--oldest-warning", "1h", "--oldest-critical", "2h"]
            #expect(try await grades(lax[0], lax[1], lax[2], lax[3], code: 10).isEmpty)
            try await errand("status", "--check", "--oldest-warning", "soon")
                .expect(2, "--oldest-warning")
            try await errand("status", "--check", "--dead-warning", "0").expect(2, "--dead-warning")
        }

        @Test func `dead letters of the last hour`() async throws {
            try await calm()
            try await made("enqueue", "demo.fail", #"{"times": 1}"#, "--max-attempts", "1")
            #expect(try await made("work", "--drain")["dead"] == 1)
            let status = try await made("status")
            #expect(status["dead"] == 1 && status["dead_last_hour"] == 1)
            #expect(status["queues"].elements.first?["dead"] == 1)
            let found = try await checks(10)
            #expect(found.map { $0["check"] } == ["dead"])
            #expect(try await checks(11, "--dead-critical", "1")[0]["severity"] == "critical")
            #expect(try await checks(0, "--dead-warning", "2").isEmpty)
            try await change(
                "UPDATE errand.dead_jobs SET finished_at = finished_at - interval '2 hours'")
            #expect(try await checks(0).isEmpty)
        }

        @Test func `silent workers and overdue schedules are warnings`() async throws {
            try await calm()
            try await change(
                """
                INSERT INTO errand.workers (host, pid, version, last_seen_at, lease_seconds,
                    queues, kinds)
                VALUES ('gone', 1, '0', now() - interval '1 hour', 20, '{}', '{}');
                INSERT INTO errand.schedules (name, recurrence, kind, next_at, next_due, replan)
                VALUES ('late', '0 4 * * *', 'demo.noop', now() - interval '5 min',
                    now() - interval '5 min', NULL)
                """)
            let found = try await checks(10)
            #expect(found.map { $0["check"] } == ["workers", "schedules"])
            #expect(found[1]["message"].text?.contains("late") == true)
            #expect(found[1]["message"].text?.contains("no scheduler is running") == true)
        }

        @Test func `Redis that is down is shown, and stops nothing`() async throws {
            try await calm()
            try await made("enqueue", "demo.noop", "--in", "1h")
            let down = ["REDIS_URL": "redis://127.0.0.1:1"]
            let screen = try await errand("status", environment: down)
            screen.expect(0)
            #expect(screen.lines.contains { $0.hasPrefix("redis ") && $0.contains("not usable") })
            #expect(screen.output.contains("default"))
            let json = try await errand("status", "-ojson", environment: down)
            #expect(try json.record["redis"]["reachable"] == false)
            let found = try await checks(11, environment: down)
            #expect(found.map { $0["check"] } == ["redis"])
        }

        @Test func `PostgreSQL that is down is critical`() async throws {
            let down = ["DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"]
            let found = try await checks(11, environment: down)
            #expect(found.map { $0["check"] } == ["postgresql"])
            try await errand("status", environment: down).expect(6, "cannot be reached")
        }

        @Test func `a schema that is behind is shown, and stops nothing`() async throws {
            try await calm()
            try await change(
                """
                DROP TABLE errand.activity;
                DELETE FROM errand.migrations WHERE file = 'routines/live_jobs.sql'
                """)
            let found = try await checks(10)
            #expect(found.map { $0["remedy"] } == ["errand migrate"])
            let screen = try await errand("status")
            screen.expect(0)
            #expect(screen.output.contains("pending migrations: 1"))
            #expect(screen.output.contains("0 alive, 0 unresponsive"))
            // Nothing of ours at all.
            try await change("DROP SCHEMA errand CASCADE")
            #expect(try await checks(11)[0]["remedy"] == "errand migrate")
            try await errand("status").expect(5, "run 'errand migrate' first")
        }

        @Test func `an old transaction is found`() async throws {
            try await calm()
            let session = try TestDatabase.here().session()
            try await session.script("BEGIN; SELECT 1")
            let found = try await checks(
                10, "--transaction-warning", "0s", "--transaction-critical", "1d")
            #expect(found.map { $0["check"] } == ["transaction"])
            try await session.script("ROLLBACK")
            await session.close()
        }
    }
}
