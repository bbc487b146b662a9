@testable import Errand
import ErrandPostgres
import ErrandRedis
import ErrandTestServices
import Testing

/// Rule 2, where another program overwrites Errand's keys in Redis.
@Suite("Rule 2: keys of another type", .database) struct RulesKeyTypeTests {
    private static let lane = Lane(queue: "tenant-0", kind: Plain.kind, version: 1)

    private enum Kind: CaseIterable {
        case lanes, lanesAddedAt, filled, watchers, behind, feed, fed, window, wake
    }

    private func key(_ kind: Kind, _ ground: RulesGround) async throws -> String {
        let keys = ground.keys
        let worker = try await ground.number("SELECT max(id) FROM errand.workers")
        return switch kind {
        case .lanes: keys.lanes
        case .lanesAddedAt: keys.lanesAddedAt
        case .filled: keys.filled
        case .watchers: keys.watchers
        case .behind: keys.behind
        case .feed: keys.feed
        case .fed: keys.fed
        case .window: keys.window(Self.lane)
        case .wake: keys.wake(worker: Int64(worker))
        }
    }

    private func type(of key: String, _ ground: RulesGround) async throws -> String? {
        try await ground.redis.send(Command("TYPE", key)).text
    }

    /// Makes a key a list, which none of Errand's is.
    private func overwrite(_ key: String, _ ground: RulesGround) async throws {
        let script = "redis.call('DEL', KEYS[1]) return redis.call('RPUSH', KEYS[1], 'x')"
        _ = try await ground.redis.send(Command("EVAL", script, "1", key))
    }

    private func enqueue(_ n: Int, in queue: String, _ ground: RulesGround) async throws {
        _ = try await ground.session.query(
            "SELECT errand.enqueue('test.plain', jsonb_build_object('n', $1::int), queue => $2)",
            [.int32(Int32(n)), .text(queue)])
    }

    @Test func `a running worker deletes each of them, says so once, and goes on`() async throws {
        let ground = try await RulesGround()
        let ran = Notebook<Int>()
        let lines = Notebook<String>()
        var overwritten: [String] = []
        var kinds = JobKinds()
        kinds.handle(Plain.self) { job, _ in ran.add(job.n) }
        let client = try await ground.client()
        let log = Log(minimum: .warning) { lines.add($0.message) }
        _ = try await TestWorker(kinds, queues: [.init("tenant-*", concurrency: 4)], log: log)
            .during {
                try await enqueue(0, in: "tenant-0", ground)
                try await eventually("the worker to work") { ran.count == 1 }
                for (round, kind) in Kind.allCases.enumerated() {
                    let key = try await key(kind, ground)
                    try await overwrite(key, ground)
                    overwritten.append(key)
                    // One by a notice to the feeder, in a lane that is new, and one by a client.
                    let first = 10 * (round + 1)
                    try await enqueue(first, in: "tenant-\(round + 1)", ground)
                    _ = try await client.enqueue(Plain(n: first + 1), .init(queue: "tenant-0"))
                    try await eventually("the jobs to run without \(kind)") {
                        Set(ran.all).isSuperset(of: [first, first + 1])
                    }
                    try await eventually("\(kind) to have its type again") {
                        try await type(of: key, ground) != "list"
                    }
                }
            }
        for key in overwritten {
            #expect(lines.all.filter { $0.contains(key + " (list") }.count == 1, "\(lines.all)")
        }
        #expect(ran.count == 1 + 2 * Kind.allCases.count)
        #expect(try await ground.number("SELECT count(*) FROM errand.jobs") == 0)
    }

    @Test func `a backlog behind an overwritten window is staged again`() async throws {
        let ground = try await RulesGround()
        let ran = Notebook<Int>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { job, _ in
            if job.n % 300 == 17 { try await overwrite(ground.keys.window(Self.lane), ground) }
            if job.n % 300 == 117 { try await overwrite(ground.keys.behind, ground) }
            ran.add(job.n)
        }
        let client = try await ground.client(hinting: false)
        _ = try await client.enqueue((0..<900).map { Plain(n: $0) }, .init(queue: "tenant-0"))
        let worker = try TestWorker(kinds, queues: [.init("tenant-0", concurrency: 4)]) {
            $0.windowLimit = 100
        }
        _ = try await worker.during {
            try await eventually("all jobs to run") { ran.count >= 900 }
        }
        #expect(ran.all.sorted() == Array(0..<900))
    }

    @Test func `a client without a worker deletes nothing`() async throws {
        let ground = try await RulesGround()
        let key = ground.keys.behind
        try await overwrite(key, ground)
        let client = try await ground.client()
        _ = try await client.enqueue(Plain(n: 1), .init(queue: "tenant-0"))
        await client.flush()
        #expect(try await type(of: key, ground) == "list")
        #expect(
            try await ground.keys.wrongKeys(over: ground.redis)
                == [WrongKey(key: key, type: "list", expected: "hash")])
        #expect(try await ground.number("SELECT count(*) FROM errand.jobs") == 1)
    }
}
