import ErrandDemo
import Foundation
import Errand
import ErrandPostgres
import ErrandRedis
import ErrandTestServices
import Testing

extension FailoverTests {
    /// PgBouncer in transaction mode: enqueueing goes through it, and nothing else.
    @Suite("PgBouncer") struct PoolerTests {
        /// A database on a server with PgBouncer before it; the second ground goes through that.
        private func through(
            _ body: (_ direct: CrashGround, _ pooled: CrashGround) async throws -> Void
        ) async throws {
            let outer = try CrashGround.here()
            try await Cluster.with { cluster in
                try await cluster.run("single")
                try await cluster.run("pgbouncer")
                try await outer.with(database: cluster["DATABASE_URL"]) { direct in
                    let place = CrashServers.Place(
                        database: try cluster["POOLED_URL"], redis: direct.place.redis)
                    let pooled = CrashGround(name: "errand", place: place, on: outer.servers)
                    try await body(direct, pooled)
                    await pooled.session.close()
                }
            }
        }

        @Test(.timeLimit(.minutes(3)))
        func `jobs are enqueued through it by every way, and done once`() async throws {
            try await through { direct, pooled in
                #expect(try await pooled.session.isPooled())
                #expect(try await !direct.session.isPooled())
                let worker = try direct.worker()
                // More clients than it has server connections, each of them at work.
                let pool = Pool(
                    SessionSettings(
                        pooled.place.database, name: "app", setup: ["SET TimeZone = 'UTC'"]),
                    limit: 16)
                let client = try await JobClient(
                    pool: pool, redis: RedisAddress(url: direct.place.redis))
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<16 {
                        group.addTask {
                            for _ in 0..<50 {
                                try await client.enqueue(DemoKinds.Ledger())
                                _ = try await pool.transaction { transaction in
                                    try await client.enqueue(
                                        [DemoKinds.Ledger(), DemoKinds.Ledger()], in: transaction)
                                }
                                _ = try await pool.withSession {
                                    try await $0.query("SELECT errand.enqueue('demo.ledger')")
                                }
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                await client.flush()
                await pool.close()
                try await pooled.done("enqueue", "demo.ledger", "--count", "500")
                try await direct.allDone()
                try await direct.expectExactlyOnce(16 * 50 * 4 + 500)
                try await direct.expectCleanStop(worker)
            }
        }

        @Test(.timeLimit(.minutes(3)))
        func `settings hold in each transaction, and leak into no other's`() async throws {
            try await through { _, pooled in
                var settings = SessionSettings(
                    pooled.place.database, name: "app",
                    setup: [
                        "SET statement_timeout = '1234ms'",
                        "SET default_transaction_read_only = on",
                    ])
                let limited = Session(settings)
                settings.setup = []
                let plain = Session(settings)
                for _ in 0..<5 {
                    #expect(
                        try await limited.query("SHOW statement_timeout").text(0, 0) == "1234ms")
                    #expect(try await plain.query("SHOW statement_timeout").text(0, 0) == "0")
                }
                let error = try await #require(throws: PostgresError.self) {
                    try await limited.query("CREATE TABLE public.not_to_be ()")
                }
                #expect(error.sqlState == "25006")
                #expect(
                    try await plain.query(
                        "SELECT to_regclass('public.not_to_be') IS NULL"
                    ).bool(0, 0))
                try await limited.transaction { session in
                    let text = try session.query("SHOW statement_timeout").text(0, 0)
                    #expect(text == "1234ms")
                }
                for session in [limited, plain] { await session.close() }
            }
        }

        @Test(.timeLimit(.minutes(3)))
        func `what needs a session of its own says so at once`() async throws {
            try await through { _, pooled in
                for words in [
                    ["work"], ["schedule", "run"], ["schedule", "tick", "--dry-run"], ["migrate"],
                ] {
                    let program = try pooled.start(words)
                    let end = try await program.end(within: .seconds(30))
                    guard words.count < 3 else {
                        // It only looks.
                        #expect(end == .exited(0), "\(words): \(program.errors)")
                        continue
                    }
                    #expect(end == .exited(2), "\(words): \(program.errors)")
                    #expect(
                        program.errors.contains("a connection pooler such as PgBouncer"),
                        "\(words): \(program.errors)")
                }
                let doctor = try pooled.start(["doctor", "-ojson"])
                _ = try await doctor.end(within: .seconds(30))
                #expect(doctor.output.contains(#""check":"pooler""#), "\(doctor.output)")
            }
        }
    }
}
