import ErrandPostgres
import ErrandRedis
import ErrandTestServices
import Synchronization
import Testing

@testable import Errand

/// What callers of a worker share: the write of single jobs, its sessions, its connection to Redis.
@Suite("Shared writes", .database) struct SharedWriteTests {
    /// Writes over a pool, the first time not before `gate` is opened.
    private final class Writer: Sendable {
        let gate = Gate()
        let sizes = Mutex<[Int]>([])
        private let running = Mutex((now: 0, most: 0))
        private let pool: Pool

        init(_ pool: Pool) { self.pool = pool }

        /// The most writes that ran at once.
        var most: Int { running.withLock { $0.most } }

        func write(_ statements: [Statement]) async throws -> [Rows] {
            sizes.withLock { $0.append(statements.count) }
            running.withLock { running in
                running.now += 1
                running.most = max(running.most, running.now)
            }
            defer { running.withLock { $0.now -= 1 } }
            try await gate.pass()
            return try await pool.withSession { try await $0.pipeline(statements) }
        }
    }

    private func client(_ ground: RulesGround, _ writer: Writer) -> JobClient {
        JobClient(
            pool: ground.database.pool(), window: nil, redis: nil, log: .silent,
            writingSingles: { try await writer.write($0) })
    }

    @Test func `callers that come during a write wait for it, and share the next`() async throws {
        let ground = try await RulesGround()
        let writer = Writer(ground.database.pool())
        let client = client(ground, writer)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for n in 0..<20 { group.addTask { try await client.enqueue(Plain(n: n)) } }
            // A chance for each of them to ask.
            for _ in 0..<1_000 { await Task.yield() }
            writer.gate.open()
            try await group.waitForAll()
        }
        #expect(writer.most == 1)
        #expect(!writer.sizes.withLock { $0.contains(0) })
        #expect(try await ground.number("SELECT count(*) FROM errand.jobs") == 20)
    }

    @Test func `a caller that is cancelled during a write fails no other`() async throws {
        let ground = try await RulesGround()
        let writer = Writer(ground.database.pool())
        let client = client(ground, writer)
        let first = Task { try await client.enqueue(Plain(n: 1)) }
        try await eventually("the write") { writer.sizes.withLock { $0.count } == 1 }
        let second = Task { try await client.enqueue(Plain(n: 2)) }
        first.cancel()
        writer.gate.open()
        _ = try await (first.value, second.value)
        #expect(try await ground.number("SELECT count(*) FROM errand.jobs") == 2)
    }

    @Test func `handlers that hold all sessions do not hold up the engine`() async throws {
        let ground = try await RulesGround()
        let own = ground.database.pool(1)
        let engine = Engine(
            database: own, own: own, reserved: ground.session, instance: "test")
        let answer = try await own.withSession { _ in
            try await engine.query("SELECT 7::bigint", [])
        }
        #expect(try answer.int64(0, 0) == 7)
    }

    @Test func `jobs are staged although the connection to Redis broke unnoticed`() async throws {
        let ground = try await RulesGround()
        let connection = Connection(ground.database.redis, name: "test-offer")
        let id = try #require(try await connection.send(Command("CLIENT", "ID")).text)
        _ = try await ground.redis.send(Command("CLIENT", "KILL", "ID", id))
        let offers = StagingQueue(window: ground.window().over(connection), log: .silent)
        offers.offer([Staged(id: 7, priority: 2, runAt: .now())], to: RulesGround.lane)
        offers.ask(for: "*")
        await offers.flush()
        #expect(offers.isWell)
        #expect(try await ground.staged() == [7])
        #expect(try await ground.redis.send(Command("ZCARD", ground.keys.feed)).int == 1)
    }

    @Test(arguments: ["mail\tsend\t99999", "mail\tsend\t-40000", "mail\tsend\tx", "mail\tsend"])
    func `a notice of what is no lane is refused`(name: String) {
        #expect(Lane(name: name) == nil)
    }
}
