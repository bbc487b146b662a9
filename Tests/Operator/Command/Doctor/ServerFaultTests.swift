import Foundation
import Glibc
import ErrandPostgres
import ErrandRedis
import ErrandTestServices
import Testing

extension CommandLine {
    /// Faults of the servers: each is planted, named, and mended with the line that is printed.
    @Suite("Planted faults of the servers") struct ServerFaultTests {
        @Test(arguments: ["+1h", "-1h"]) func `a wrong clock`(offset: String) async throws {
            let binary = URL(filePath: Program.errand).path
            let program = try start(
                [], through: ["/usr/bin/faketime", "-f", offset, binary, "doctor", "-ojson"])
            let run = try await finish(program)
            run.expect(10)
            let clock = try #require(try run.records.first { $0["check"] == "clock" })
            #expect(clock["severity"] == "warning")
            let side = offset == "+1h" ? "ahead of" : "behind"
            #expect(clock["message"].text?.hasPrefix("this machine is 3,") == true)
            #expect(clock["message"].text?.contains(" s \(side) PostgreSQL") == true)
            // Setting this machine's clock is not for a test: its fault is taken away instead.
            #expect(clock["remedy"] == "timedatectl set-ntp true  # here")
            #expect(try await fault("PostgreSQL, 3,6") == nil)
            try await errand("doctor").expect(0)
        }

        @Test func `a worker's wrong clock moves no deadline`() async throws {
            try await change(
                """
                SELECT errand.enqueue('demo.noop', queue => 'skewed',
                    not_after => now() + interval '1 hour')
                """)
            let binary = URL(filePath: Program.errand).path
            let program = try start(
                [],
                through: [
                    "/usr/bin/faketime", "-f", "+2h", binary, "work", "--queues", "skewed",
                    "--drain",
                ])
            try await finish(program).expect(0)
            let jobs = try await errand("job", "ls", "--queue", "skewed", "-ojson")
            #expect(try jobs.records.map { $0["state"] } == ["completed"], "\(jobs)")
        }

        @Test func `a worker's wrong clock is named`() async throws {
            try await change(
                """
                INSERT INTO errand.workers (host, pid, version, lease_seconds, queues, kinds,
                    clock_ahead_seconds)
                VALUES ('sundial', 1, '0', 600, '{}', '{}', -7200.04)
                """)
            let skewed = try await planted("the clock of worker")
            #expect(skewed.found.hasSuffix("on sundial is 7,200.0 s behind PostgreSQL's"))
            #expect(skewed.remedy == "timedatectl set-ntp true  # on sundial")
            try await change("DELETE FROM errand.workers WHERE host = 'sundial'")
            #expect(try await fault("the clock of worker") == nil)
        }

        @Test func `Redis that evicts`() async throws {
            let server = try await OwnServer()
            for words in [["maxmemory", "100mb"], ["maxmemory-policy", "allkeys-lru"]] {
                _ = try await server.connection.send(
                    Command("CONFIG", "SET", words[0], words[1]))
            }
            let words = "evicts keys when its memory is full (allkeys-lru)"
            for command in [["status", "--check"], ["redis", "check"]] {
                let run = try await errand(command, environment: server.environment)
                #expect((run.output + run.errors).contains(words), "\(run)")
            }
            let fault = try await planted(words, environment: server.environment)
            #expect(fault.remedy.hasPrefix("redis-cli -s /"))
            try await fault.mend(environment: server.environment)
            let policy = try await server.connection.send(
                Command("CONFIG", "GET", "maxmemory-policy"))
            #expect(policy.array?.last?.text == "noeviction")
            #expect(
                try await ErrandCommandTests.fault(words, environment: server.environment) == nil)
        }

        @Test func `a missing partition, whose jobs lie where all others do`() async throws {
            let job = try await made("enqueue", "demo.noop")["id"]
            try await made("work", "--drain")
            let partition = try await place(of: job)
            try await change(
                """
                CREATE TEMPORARY TABLE kept AS SELECT * FROM errand.\(partition);
                DROP TABLE errand.\(partition);
                INSERT INTO errand.finished_jobs SELECT * FROM kept
                """)
            #expect(
                try await place(of: job) == "finished_jobs_other")
            let day = try await column("keep_until::text", of: job)
            let words = "finished jobs that are kept until \(day) have no partition: 1 are in"
            let fault = try await planted(words)
            #expect(fault.remedy == "errand db prepare")
            try await fault.mend()
            #expect(try await ErrandCommandTests.fault("have no partition") == nil)
            // Its retention is the same, without a partition of its own.
            #expect(try await place(of: job) == "finished_jobs_long")
            #expect(try await column("long_until::text", of: job) == day)
            #expect(try await state(of: job) == "completed")
        }

        /// The partition that a finished job lies in.
        private func place(of job: JSON) async throws -> String {
            try await column(
                "(SELECT relname::text FROM pg_class c WHERE c.oid = f.tableoid)", of: job)
        }

        private func column(_ expression: String, of job: JSON) async throws -> String {
            let session = try TestDatabase.here().session()
            let text = try await session.query(
                "SELECT \(expression) FROM errand.finished_jobs f WHERE id = \(job.id)"
            ).text(0, 0)
            await session.close()
            return text
        }

        @Test func `a pending migration`() async throws {
            let older = ["DATABASE_URL": try await TestDatabase.url(ofOlder: 3)]
            let fault = try await planted("pending in engine", environment: older)
            #expect(fault.remedy == "errand migrate")
            _ = try await planted(
                "pending migrations", by: ["status", "--check"], environment: older)
            // It runs the checks that work, and names the others.
            _ = try await planted("could not be checked: queues", environment: older)
            try await fault.mend(environment: older)
            #expect(try await ErrandCommandTests.fault("pending", environment: older) == nil)
            try await errand("enqueue", "demo.noop", environment: older).expect(0)
            let drained = try await errand("work", "--drain", "-ojson", environment: older)
            drained.expect(0)
            #expect(try drained.record["completed"] == 1)
        }

        @Test func `a transaction that pins dead rows`() async throws {
            let session = try TestDatabase.here().session()
            try await session.script(
                "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM errand.jobs")
            let pid = try await session.query("SELECT pg_backend_pid()").int32(0, 0)
            let command = ["doctor", "--transaction-warning", "0s"]
            let fault = try await planted("(pid \(pid), errand-test)", by: command)
            _ = try await planted(
                "(pid \(pid), ", by: ["status", "--check", "--transaction-warning", "0s"])
            #expect(fault.remedy.hasPrefix("psql "))
            try await fault.mend()
            try await eventually("its end") {
                try await number(
                    "SELECT count(*) FROM pg_stat_activity WHERE pid = \(pid)") == 0
            }
            #expect(try await ErrandCommandTests.fault("(pid \(pid), ", by: command) == nil)
            await session.close()
        }

        @Test func `Redis that was emptied`() async throws {
            let server = try await OwnServer()
            let worker = try await signedOn(environment: server.environment)
            try await eventually("the feeder's mark") {
                try await server.keys().contains { $0.hasSuffix(":fed") }
            }
            // A feeder that works would mend it within a second.
            worker.signal(SIGSTOP)
            let run = try await errand(
                "enqueue", "demo.noop", "-ojson", environment: server.environment)
            let job = try run.record["id"]
            _ = try await server.connection.send(Command("FLUSHALL"))
            let why = try await ErrandCommandTests.fault(
                of: job, cause: "redis_emptied", environment: server.environment)
            #expect(why.remedy.hasPrefix("errand redis rebuild --yes"))
            let words = "Redis has lost the staged jobs"
            let fault = try await planted(words, environment: server.environment)
            let rebuild = try fault.paste(environment: server.environment)
            try await eventually("it to begin") {
                try await number(
                    "SELECT count(*) FROM errand.audit WHERE action = 'redis rebuild'") == 1
            }
            worker.signal(SIGCONT)
            try await finish(rebuild).expect(0)
            try await completed(job)
            #expect(
                try await ErrandCommandTests.fault(words, environment: server.environment) == nil)
            try await stop(worker)
        }
    }
}
