import Foundation
import ErrandRedis
import ErrandTestServices
import Testing

/// A Redis with the users of `deploy/redis/users.acl`: each does its work, and nothing else.
@Suite("Redis users", .serialized, .database) struct RedisRoleTests {
    /// A Redis that knows the users by these passwords.
    private struct GuardedRedis {
        let program: Program
        let socket: String

        init() async throws {
            let folder = FileManager.default.temporaryDirectory
                .appending(path: "errand-acl-\(UUID().uuidString.prefix(8))")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let delivered = RoleGround.checkout.appending(path: "deploy/redis/users.acl")
            var users = try String(contentsOf: delivered, encoding: .utf8)
            for name in ["worker", "client", "inspector"] {
                let place = "#\(name.uppercased())_PASSWORD_SHA256"
                #expect(users.contains(place))
                users = users.replacing(place, with: ">\(name)-secret")
            }
            let acl = folder.appending(path: "users.acl").path
            try users.write(toFile: acl, atomically: true, encoding: .utf8)
            // As delivered, but for what belongs to the machine.
            let settings = try String(
                contentsOf: RoleGround.checkout.appending(path: "deploy/redis/redis.conf"),
                encoding: .utf8
            ).replacing("aclfile /etc/redis/users.acl", with: "aclfile \(acl)")
                .replacing("bind 127.0.0.1 -::1", with: "")
            let path = folder.appending(path: "redis.conf").path
            try settings.write(toFile: path, atomically: true, encoding: .utf8)
            socket = folder.appending(path: "redis.sock").path
            program = try Program(
                "/usr/bin/env",
                ["redis-server", path, "--port", "0", "--unixsocket", socket, "--dir", folder.path])
            let worker = connection("worker")
            let running = program
            try await eventually("the guarded Redis answers") {
                if !running.isRunning { throw Program.Trouble(running.output) }
                return (try? await worker.send(Command("PING"))) != nil
            }
        }

        func url(_ user: String) -> String {
            "unix://errand-\(user):\(user)-secret@\(socket)"
        }

        func connection(_ user: String) -> Connection {
            // Its text is right: it was made here.
            guard let address = try? RedisAddress(url: url(user)) else { preconditionFailure() }
            return Connection(address, name: "role")
        }

        func environment(_ user: String) -> [String: String] { ["REDIS_URL": url(user)] }

        /// How a user's command is refused; nil when it is done.
        func refusal(_ user: String, _ words: [String]) async -> String? {
            var command = Command()
            for word in words { command.append(word) }
            let sent = command
            do throws(RedisError) {
                _ = try await connection(user).send(sent)
                return nil
            } catch { return "\(error)" }
        }
    }

    @Test func `clients enqueue, workers work, inspectors look`() async throws {
        let redis = try await GuardedRedis()
        try await errand(
            "enqueue", "demo.noop", "--count", "300", environment: redis.environment("client")
        ).expect(0)
        try await errand(
            "enqueue", "demo.fail", "{\"times\": 1}", environment: redis.environment("client")
        ).expect(0)
        // A client alone fills a window; the worker's feeder does the rest.
        let worker = try start(
            ["work", "--queues", "default,coupons,votes,notices"],
            environment: redis.environment("worker"))
        try await eventually("all have run") {
            try await number("SELECT count(*) FROM errand.finished_jobs WHERE kind LIKE 'demo.%'")
                == 301
        }
        // Enqueued while it waits: by the fast path.
        try await errand("enqueue", "demo.noop", environment: redis.environment("client")).expect(0)
        try await eventually("the last has run") {
            try await number("SELECT count(*) FROM errand.finished_jobs WHERE kind = 'demo.noop'")
                == 301
        }
        for words in [["redis", "check"], ["status"], ["job", "why", "1"], ["queue", "ls"]] {
            let run = try await errand(words, environment: redis.environment("inspector"))
            #expect(!run.errors.contains("NOPERM") && run.code != 1, "\(run)")
        }
        let doctor = try await errand(
            "doctor", "--output", "json", environment: redis.environment("inspector"))
        for finding in try doctor.records where finding["check"].text?.hasPrefix("redis") == true {
            #expect(finding["severity"] == "ok", "\(finding)")
        }
        // Operators' commands are a worker's.
        try await errand("worker", "quiet", "1", environment: redis.environment("worker")).expect(0)
        try await errand("redis", "rebuild", "--yes", environment: redis.environment("worker"))
            .expect(0)
        worker.signal(SIGTERM)
        #expect(try await worker.end(within: .seconds(30)) == .exited(0))
        #expect(!worker.errors.contains("NOPERM"), "\(worker.errors)")
        #expect(!worker.errors.contains("\"level\":\"error\""), "\(worker.errors)")
    }

    @Test func `what nobody needs is refused`() async throws {
        let redis = try await GuardedRedis()
        let window = "errand:{12345678}:w:mail:mail.send:1"
        for user in ["worker", "client", "inspector"] {
            for words in [
                ["FLUSHALL"], ["CONFIG", "GET", "*"], ["KEYS", "*"], ["ACL", "LIST"], ["SHUTDOWN"],
                ["EVAL", "return 1", "0"], ["SCRIPT", "FLUSH"],
                ["MODULE", "LIST"], ["CLIENT", "LIST"], ["CLIENT", "KILL", "ID", "1"],
                ["MONITOR"], ["SUBSCRIBE", "x"], ["PUBLISH", "x", "y"], ["SLAVEOF", "NO", "ONE"],
                ["SAVE"], ["GET", window], ["ZADD", "other", "0", "x"], ["ZCARD", "other"],
                ["DEL", "other"],
            ] {
                let answer = await redis.refusal(user, words)
                #expect(answer?.contains("NOPERM") == true, "\(user) \(words): \(answer ?? "done")")
            }
        }
        for words in [
            ["DEL", window], ["ZREM", window, "1"], ["UNLINK", window], ["SCAN", "0"], ["INFO"],
            ["BZMPOP", "1", "1", window, "MIN"], ["HSET", "errand:{12345678}:behind", "a", "1"],
            ["SET", "errand:{12345678}:fed", "1"],
            ["ZADD", "errand:{12345678}:watchers", "0", "x"],
            ["ZPOPMIN", "errand:{12345678}:wake:1"], ["SREM", "errand:{12345678}:lanes", "x"],
        ] {
            let answer = await redis.refusal("client", words)
            #expect(answer?.contains("NOPERM") == true, "client \(words): \(answer ?? "done")")
        }
        for words in [
            ["ZADD", window, "0", "1"], ["DEL", window], ["ZREM", window, "1"],
            ["SET", "errand:{12345678}:fed", "1"],
            ["EVALSHA", String(repeating: "0", count: 40), "0"],
        ] {
            let answer = await redis.refusal("inspector", words)
            #expect(answer?.contains("NOPERM") == true, "inspector \(words): \(answer ?? "done")")
        }
        // Without a name, or with a wrong password, nobody gets in.
        for place in ["", "errand-worker:wrong@", ":worker-secret@"] {
            let run = try await errand(
                "redis", "check", environment: ["REDIS_URL": "unix://\(place)\(redis.socket)"])
            #expect(run.code != 0)
            #expect(!run.errors.contains("secret"))
        }
    }
}
