import ErrandPostgres
import ErrandTestServices
import Testing

extension CommandLine {
    @Suite("errand db") struct DatabaseTests {
        @Test func `status tells size, tables, settings and who is in the way`() async throws {
            try await made("enqueue", "demo.noop", "--count", "10")
            try await change("ANALYZE errand.jobs")
            let database = try TestDatabase.here()
            let holder = database.session("holder")
            let waiter = database.session("waiter")
            try await holder.script("BEGIN; LOCK TABLE errand.demo_ledger; SELECT 1")
            try await holder.script("SELECT pg_current_xact_id(), 'geheim', 4711")
            let waiting = Task {
                _ = try? await waiter.query("SELECT count(*) FROM errand.demo_ledger")
            }
            try await eventually("the wait to be seen") {
                try await !made("db", "status")["lock_waits"].elements.isEmpty
            }
            let status = try await made("db", "status")
            #expect(status["server_version"].text?.hasPrefix("15") == true)
            #expect(status["size"].number ?? 0 > 1_000_000)
            #expect(status["pending_migrations"] == 0)
            #expect(status["applied_migrations"].number ?? 0 > 5)
            #expect(status["partition_days_ahead"].number ?? 0 > 5)
            #expect(status["fsync"].text != nil)
            #expect(status["autovacuum"] == "on")
            #expect(status["hidden_sessions"] == 0)
            let tables = status["tables"].elements
            let jobs = try #require(tables.first { $0["name"] == "jobs" })
            #expect(jobs["rows"] == 10)
            #expect(jobs["analyzed_at"].text?.hasSuffix("Z") == true)
            let finished = try #require(tables.first { $0["name"] == "finished_jobs" })
            #expect(finished["partitions"].number ?? 0 > 5)
            let oldest = try #require(status["oldest_transactions"].elements.first)
            #expect(oldest["application"] == "holder")
            #expect(oldest["state"] == "idle in transaction")
            #expect(oldest["blocks_vacuum"] == true)
            // What it asks is not shown: it may be a vote or a password.
            #expect(oldest["waits_for"] == "Client: ClientRead" && !oldest.names.contains("query"))
            let wait = try #require(status["lock_waits"].elements.first)
            #expect(wait["application"] == "waiter")
            #expect(wait["object"].text?.hasSuffix("demo_ledger") == true)
            #expect(wait["blocked_by"].elements.first?.text == oldest["pid"].id)
            let table = try await errand("db", "status")
            table.expect(0)
            #expect(table.output.contains("idle in transaction"))
            await holder.close()
            await waiting.value
            await waiter.close()
        }

        @Test func `bloat names dead rows, the index and the pin, with what mends each`()
            async throws
        {
            try await made("enqueue", "demo.noop", "--count", "30000")
            try await change("UPDATE errand.jobs SET errors = '[]' WHERE id % 300 = 0")
            try await change("ANALYZE errand.jobs")
            let failed = try await made("db", "bloat")["indexes"].elements
                .first { $0["index"] == "jobs_failed" }
            #expect(failed?["expected"].number ?? .infinity < 100_000, "a few rows of 30,000")
            let pinning = try TestDatabase.here().session("pinning")
            try await pinning.script("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
            try await change("DELETE FROM errand.jobs WHERE id % 100 > 0")
            try await eventually("the dead rows to be counted") {
                let bloat = try await made("db", "bloat", "--older", "0s")
                let jobs = bloat["tables"].elements.first { $0["table"] == "jobs" }
                return jobs?["remedy"] == "VACUUM (ANALYZE) errand.jobs;"
            }
            let bloat = try await made("db", "bloat", "--older", "0s")
            let pin = try #require(
                bloat["pins"].elements.first { $0["who"] == "pinning" })
            #expect(pin["what"] == "transaction")
            #expect(pin["remedy"].text == "SELECT pg_terminate_backend(\(pin["name"].text ?? ""));")
            #expect(pin["age_transactions"].number ?? 0 > 0)
            let table = try await errand("db", "bloat", "--older", "0s")
            table.expect(0)
            for piece in ["VACUUM (ANALYZE) errand.jobs;", "pg_terminate_backend", "SHOULD BE"] {
                #expect(table.output.contains(piece), "\(table.output)")
            }
            #expect(try await made("db", "bloat", "--older", "1h")["pins"] == [])
            // Its own remedy, then the others'.
            try await change(try #require(pin["remedy"].text))
            try await eventually("the pin to be gone") {
                try await made("db", "bloat", "--older", "0s")["pins"] == []
            }
            try await change("VACUUM (ANALYZE) errand.jobs")
            let cleaned = try await made("db", "bloat")
            let jobs = try #require(
                cleaned["tables"].elements.first { $0["table"] == "jobs" })
            #expect(jobs["remedy"] == .null)
            #expect(jobs["expected"].number ?? .infinity < jobs["size"].number ?? 0)
            let indexes = cleaned["indexes"].elements
            let lane = try #require(indexes.first { $0["index"] == "jobs_lane" })
            #expect(lane["remedy"] == "REINDEX INDEX CONCURRENTLY errand.jobs_lane;")
            try await change("REINDEX INDEX CONCURRENTLY errand.jobs_lane")
            let mended = try await made("db", "bloat")["indexes"].elements
            #expect(mended.first { $0["index"] == "jobs_lane" }?["remedy"] == .null)
            await pinning.close()
        }

        @Test func `an ordinary role sees less, and is told so`() async throws {
            let database = try TestDatabase.here()
            let name = "plain_\(try await number("SELECT pg_backend_pid()"))"
            try await change(
                """
                CREATE ROLE \(name) LOGIN;
                GRANT USAGE ON SCHEMA errand TO \(name);
                GRANT SELECT ON ALL TABLES IN SCHEMA errand TO \(name);
                REVOKE SELECT ON errand.migrations FROM \(name);
                """)
            let plain = database.url + "&user=\(name)"
            let other = database.session("other")
            try await other.script("SELECT 1")
            let status = try await errand("db", "status", "-ojson", "--database-url", plain)
            status.expect(0, "GRANT pg_read_all_stats", "errand.migrations")
            #expect(try status.record["hidden_sessions"].number ?? 0 > 0)
            #expect(try status.record["pending_migrations"] == nil)
            let bloat = try await errand("db", "bloat", "--database-url", plain)
            bloat.expect(0, "GRANT pg_read_all_stats")
            await other.close()
        }

        @Test func `bad input, and a server that is away`() async throws {
            for verb in ["status", "bloat"] {
                try await errand("db", verb, "x").expect(2, "takes no argument")
                try await errand("db", verb, "--database-url", "postgresql://127.0.0.1:1/x")
                    .expect(6, "PostgreSQL cannot be reached")
            }
            try await errand("db", "bloat", "--older", "5").expect(2, "a duration")
        }
    }
}
