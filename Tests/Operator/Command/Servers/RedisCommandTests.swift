import Foundation
import Glibc
import ErrandPostgres
import ErrandRedis
import ErrandTestServices
import Testing

extension CommandLine {
    @Suite("errand redis") struct RedisCommandTests {
        private func prefix() async throws -> String {
            let session = try TestDatabase.here().session()
            let id = try await session.query("SELECT id::text FROM errand.instance").text(0, 0)
            await session.close()
            return "errand:{\(id.prefix(8))}:"
        }

        /// A worker that leads.
        private func leader(_ server: OwnServer) async throws -> Program {
            let worker = try start(["work"], environment: server.environment)
            try await eventually("the worker to lead") {
                try await made("leader", "show", "feeder")["state"] == "active"
            }
            return worker
        }

        private func check(_ server: OwnServer) async throws -> Run {
            try await errand("redis", "check", "-ojson", environment: server.environment)
        }

        @Test func `windows, stale ids, and a rebuild that leaves others alone`() async throws {
            let server = try await OwnServer()
            try await made("queue", "pause", "default")
            let worker = try await leader(server)
            let made = try await errand(
                "enqueue", "demo.noop", "--count", "20", environment: server.environment)
            made.expect(0)
            let window = try await prefix() + "w:default:demo.noop:1"
            try await eventually("them to be staged") {
                try await server.connection.send(Command("ZCARD", window)).int == 20
            }
            let fine = try await check(server)
            fine.expect(0)
            let record = try fine.record
            #expect(record["policy"] == "noeviction")
            #expect(record["staged"] == 20)
            #expect(record["staging_marker"] == true)
            #expect(record["problems"] == [])
            let lane = record["windows"].elements.first { $0["kind"] == "demo.noop" }
            #expect(lane?["size"] == 20)
            #expect(lane?["stale"] == 0)
            // Gone from the database, and still in the window: harmless.
            try await change(
                "DELETE FROM errand.jobs WHERE id IN (SELECT id FROM errand.jobs LIMIT 5)")
            let stale = try await check(server)
            stale.expect(0)
            let windows = try stale.record["windows"].elements
            #expect(windows.first { $0["kind"] == "demo.noop" }?["stale"] == 5)
            let table = try await errand("redis", "check", environment: server.environment)
            table.expect(0)
            #expect(table.output.contains("demo.noop"))
            // Another database's keys, and another program's.
            for key in ["errand:{00000000}:w:default:demo.noop:1", "session:1"] {
                _ = try await server.connection.send(Command("SET", key, "x"))
            }
            let refused = try await errand("redis", "rebuild", environment: server.environment)
            refused.expect(5, "not confirmed")
            let rebuilt = try await errand(
                "redis", "rebuild", "--yes", "--reason", "to be sure", "-ojson",
                environment: server.environment)
            rebuilt.expect(0)
            #expect(try rebuilt.record["staged_again"] == true)
            try await eventually("what waits to be staged, and nothing else") {
                try await server.connection.send(Command("ZCARD", window)).int == 15
            }
            let keys = try await server.keys()
            #expect(keys.contains("errand:{00000000}:w:default:demo.noop:1"))
            #expect(keys.contains("session:1"))
            let audit = try await ErrandCommandTests.made("audit", "ls", "--action", "redis")
            #expect(audit["action"] == "redis rebuild")
            #expect(audit["reason"] == "to be sure")
            worker.signal(SIGTERM)
            try await finish(worker).expect(0)
        }

        @Test func `what a feeder that hangs has not staged, and a Redis that was emptied`()
            async throws
        {
            let server = try await OwnServer()
            try await made("queue", "pause", "default")
            let worker = try await leader(server)
            let prefix = try await prefix()
            try await eventually("the feeder's mark") {
                try await server.keys().contains(prefix + "fed")
            }
            worker.signal(SIGSTOP)
            try await change(
                """
                SELECT errand.enqueue('demo.noop', '{}');
                UPDATE errand.jobs SET run_at = now() - interval '1 minute';
                """)
            let missing = try await check(server)
            missing.expect(1)
            let trouble = try #require(try missing.record["problems"].elements.first)
            #expect(trouble["message"].text?.contains("due but not staged") == true)
            #expect(trouble["remedy"].text?.hasPrefix("errand redis rebuild") == true)
            _ = try await server.connection.send(Command("FLUSHALL"))
            let empty = try await errand("redis", "check", environment: server.environment)
            empty.expect(1, "Redis has lost the staged jobs", "errand redis rebuild")
            worker.signal(SIGCONT)
            try await errand("redis", "rebuild", "--yes", environment: server.environment)
                .expect(0)
            try await eventually("the job to be staged") {
                let key = prefix + "w:default:demo.noop:1"
                return try await server.connection.send(Command("ZCARD", key)).int == 1
            }
            try await check(server).expect(0)
            worker.signal(SIGTERM)
            try await finish(worker).expect(0)
        }

        @Test func `keys of another type are named, with the command that repairs them`()
            async throws
        {
            let server = try await OwnServer()
            let prefix = try await prefix()
            let lane = "default\tdemo.noop\t1"
            _ = try await server.connection.send(Command("SADD", prefix + "lanes", lane))
            for key in ["behind", "feed", "lanes:added", "w:default:demo.noop:1"] {
                _ = try await server.connection.send(Command("SET", prefix + key, "x"))
                let words = "another program has overwritten the key \(prefix)\(key) (string"
                let run = try await check(server)
                run.expect(1, words, "errand redis rebuild --yes")
                let fault = try #require(
                    try await fault(words, environment: server.environment))
                #expect(fault.remedy == "errand redis rebuild --yes")
                try await fault.mend(environment: server.environment)
                // A rebuild leaves a request for the feeder in one of them.
                let type = try await server.connection.send(Command("TYPE", prefix + key)).text
                #expect(type != "string")
                _ = try await server.connection.send(Command("SADD", prefix + "lanes", lane))
                try await check(server).expect(0)
            }
            _ = try await server.connection.send(Command("DEL", prefix + "lanes"))
            _ = try await server.connection.send(Command("SET", prefix + "lanes", "x"))
            try await check(server).expect(1, "\(prefix)lanes (string instead of set)")
        }

        @Test func `a Redis that evicts, one that is away, and bad input`() async throws {
            let server = try await OwnServer("--maxmemory-policy", "allkeys-lru")
            let run = try await check(server)
            run.expect(1)
            #expect(try run.record["policy"] == "allkeys-lru")
            let found = try run.record["problems"].elements.map { $0["remedy"].text ?? "" }
            #expect(found.contains { $0.contains("maxmemory-policy noeviction") })
            let away = ["REDIS_URL": "redis://127.0.0.1:1/0"]
            try await errand("redis", "check", environment: away).expect(
                6, "Redis is not available")
            try await errand("redis", "rebuild", "--yes", environment: away).expect(6)
            try await errand("redis", "check", "now").expect(2, "unexpected 'now'")
            try await errand("redis", "rebuild", "--timeout", "5").expect(2, "a duration")
            // Without a worker nobody fills it, which is said.
            try await errand("redis", "rebuild", "--yes", environment: server.environment)
                .expect(0, "no worker is the feeder")
        }
    }
}
