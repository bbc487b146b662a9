import ErrandPostgres
import ErrandRedis
import ErrandTestServices
import Testing

/// Keys of Errand in Redis that have the right type, and contents from somebody else.
@Suite("Attacks: garbage in Redis", .serialized, .database) struct RedisGarbageTests {
    private static let huge = String(repeating: "x", count: 5_000_000)
    private static let lane = "default\tdemo.noop\t1"

    /// Commands by the part of the key behind the database's prefix.
    private static let garbage: [(key: String, name: String, arguments: [String])] = [
        ("behind", "HSET", [lane, "abc"]), ("behind", "HSET", [lane, ""]),
        ("behind", "HSET", [lane, "-1"]), ("behind", "HSET", [lane, "1e400"]),
        ("behind", "HSET", [lane, huge]), ("behind", "HSET", [huge, "0"]),
        ("lanes", "SADD", [huge]), ("lanes", "SADD", ["\(huge)\tdemo.noop\t1"]),
        ("lanes", "SADD", ["default\t\(huge)\t1"]), ("lanes", "SADD", ["a\0b\tdemo.noop\t1"]),
        ("lanes", "SADD", ["\t\t", "", "default\tdemo.noop\t99999", "\u{1B}[2J\tdemo.noop\t1"]),
        ("lanes:filled", "SADD", [huge, "\(huge)\tdemo.noop\t1", "a\0b\tdemo.noop\t1"]),
        ("lanes:added", "ZADD", ["inf", "at"]), ("lanes:added", "ZADD", ["-inf", "at"]),
        ("lanes:added", "ZADD", ["1e300", "at", "0", huge]),
        ("watchers", "ZADD", ["inf", huge, "1e300", "-1", "99999999999", "\0"]),
        ("feed", "ZADD", ["-inf", huge, "inf", "\(huge)\tdemo.noop\t1"]),
        ("feed", "ZADD", ["0", "a\0b\tdemo.noop\t1", "0", "a\0b\tdemo.noop\t1\tsince\t0"]),
        ("feed", "ZADD", ["0", "\(lane)\tsince\t-9223372036854000000"]),
        ("feed", "ZADD", ["0", "\(lane)\tjob\t9223372036854775807\t0\t-9223372036854775808"]),
        ("fed", "SET", [huge]), ("fed", "SET", [""]),
        ("w:default:demo.noop:1", "ZADD", ["-inf", "abc", "-1e300", huge, "0", ""]),
        ("w:default:demo.noop:1", "ZADD", ["-inf", "9223372036854775808", "-1", "-5"]),
        ("w:default:demo.noop:1", "ZADD", ["0", "1.5", "0", " 7", "0", "\0"]),
    ]

    private func prefix() async throws -> String {
        let session = try TestDatabase.here().session()
        let id = try await session.query("SELECT id::text FROM errand.instance").text(0, 0)
        await session.close()
        return "errand:{\(id.prefix(8))}:"
    }

    @Test(.timeLimit(.minutes(3)), arguments: ["default", "*"])
    func `a worker works on, and stays ready`(_ queues: String) async throws {
        let server = try await OwnServer()
        let prefix = try await prefix()
        let worker = try await Listening(
            ["work", "--queues", queues, "--no-schedules"], environment: server.environment)
        try await worker.ready()
        func work(_ what: String) async throws {
            // One by a notice to the feeder, and one by a client, which stages it itself.
            let first = try await number("SELECT errand.enqueue('demo.noop')")
            let run = try await errand(
                "enqueue", "demo.noop", "-ojson", environment: server.environment)
            run.expect(0)
            let second = try run.record["id"].id
            try await eventually("jobs to run after \(what)") {
                try await number(
                    "SELECT count(*) FROM errand.finished_jobs WHERE id IN (\(first), \(second))")
                    == 2
            }
            let probe = try await worker.probe("readyz")
            #expect(probe.status == 200, "\(what): \(probe.text)")
        }
        try await work("nothing")
        for (key, name, arguments) in Self.garbage {
            var command = Command(name, prefix + key)
            for argument in arguments { command.append(argument) }
            let what = "\(name) \(key) \(arguments.map { $0.prefix(40) })"
            _ = try await server.connection.send(command)
            try await work(what)
        }
        try await worker.end()
        let errors = worker.program.errors
        #expect(!errors.contains("the feeder was interrupted"), "\(errors.prefix(4_000))")
        #expect(errors.utf8.count < 100_000)
        #expect(try await number("SELECT count(*) FROM errand.dead_jobs") == 0)
        #expect(try await number("SELECT count(*) FROM errand.jobs") == 0)
        await server.connection.close()
    }
}
