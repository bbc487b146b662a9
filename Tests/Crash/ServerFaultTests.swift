import Foundation
import Glibc
import ErrandPostgres
import ErrandRedis
import Synchronization
import ErrandTestServices
import Testing

extension CrashTests {
    /// PostgreSQL and Redis that go away, come back, forget, or refuse.
    @Suite("Servers") struct ServerFaultTests {
        static let load = 20_000

        @Test(.timeLimit(.minutes(3)))
        func `rule 2: losing Redis loses nothing and repeats nothing`() async throws {
            let ground = try CrashGround.here()
            try await ground.done("enqueue", "demo.ledger", "--count", "\(Self.load)")
            let workers = try (0..<2).map { _ in try ground.worker() }
            let redis = Connection(try RedisAddress(url: ground.place.redis), name: "crash-test")
            for step in 1...3 {
                try await ground.progress(to: step * 2_000)
                _ = try await redis.send(Command("FLUSHALL"))
                try await ground.expectUnfinished(Self.load)
            }
            try await ground.progress(to: 8_000)
            try await CrashServers.here().run("stop-redis")
            try await ground.expectUnfinished(Self.load)
            // The outage itself, as long as the requirement says.
            try await Task.sleep(for: .seconds(10))
            for worker in workers { #expect(worker.isRunning) }
            try await CrashServers.here().run("start-redis")
            try await ground.allDone()
            try await ground.expectExactlyOnce(Self.load)
            for worker in workers { try await ground.expectCleanStop(worker) }
        }

        @Test(.timeLimit(.minutes(4)))
        func `rule 3, 4: a crash of PostgreSQL loses nothing that was acknowledged`() async throws {
            let ground = try CrashGround.here()
            try await ground.done("enqueue", "demo.ledger", "--count", "\(Self.load)")
            let workers = try (0..<2).map { _ in try ground.worker() }
            let acknowledged = Mutex<[Int64]>([])
            let client = Session(SessionSettings(ground.place.database, name: "crash-client"))
            let enqueueing = Task {
                while !Task.isCancelled {
                    if let id = try? await client.query("SELECT errand.enqueue('demo.ledger')")
                        .int64(0, 0)
                    {
                        acknowledged.withLock { $0.append(id) }
                    } else {
                        try? await Task.sleep(for: .milliseconds(20))
                    }
                }
            }
            defer { enqueueing.cancel() }
            for step in 1...2 {
                try await ground.progress(to: step * 5_000)
                try await CrashServers.here().crashPostgres()
                try await ground.expectUnfinished(Self.load)
            }
            try await ground.progress(to: 12_000)
            enqueueing.cancel()
            await enqueueing.value
            try await ground.allDone()
            let ids = acknowledged.withLock { $0 }
            #expect(ids.count > 10)
            let missing = try await ground.session.query(
                """
                SELECT count(*) FROM unnest($1::bigint[]) AS a (id)
                WHERE NOT EXISTS (SELECT FROM errand.demo_ledger l WHERE l.job_id = a.id)
                """, [.int64Array(ids)])
            #expect(try missing.int64(0, 0) == 0, "acknowledged and lost")
            // An enqueue whose answer was lost may have been committed.
            let total = try await ground.number("SELECT count(*) FROM errand.finished_jobs")
            #expect(total >= Self.load + ids.count)
            try await ground.expectExactlyOnce(total)
            for worker in workers { #expect(worker.isRunning) }
            for worker in workers { try await ground.expectCleanStop(worker) }
        }

        @Test(.timeLimit(.minutes(3)))
        func `a worker whose connections are ended every second carries on`() async throws {
            let ground = try CrashGround.here()
            try await ground.done("enqueue", "demo.ledger", "--count", "\(Self.load)")
            let worker = try ground.worker(["--queues", "default:4"])
            try await ground.progress(to: 500)
            var ended = 0
            for _ in 0..<6 {
                ended += try await ground.number(
                    """
                    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                    WHERE datname = current_database() AND application_name LIKE 'errand-%'
                    """)
                try await ground.expectUnfinished(Self.load)
                try await Task.sleep(for: .seconds(1))
            }
            #expect(ended >= 24)
            try await ground.allDone()
            try await ground.expectExactlyOnce(Self.load)
            try await ground.expectCleanStop(worker)
        }

        @Test(.timeLimit(.minutes(3)))
        func `a worker lives through a server whose connections are all used up`() async throws {
            let ground = try CrashGround.here()
            let worker = try ground.worker()
            try await ground.done("enqueue", "demo.ledger", "--count", "1000")
            try await ground.progress(to: 1_000)
            let others = try await Self.takeAllConnections(of: ground)
            let pids = try await ground.session.query(
                "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'errand-%'"
            ).map { try $0.int32(0) }
            #expect(!pids.isEmpty)
            // What it still holds is enough to carry on.
            try await ground.session.script(
                "SELECT errand.enqueue('demo.ledger') FROM generate_series(1, 100)")
            try await ground.progress(to: 1_100)
            // Now its own are ended, and others are quicker to take their places.
            for pid in pids {
                _ = try await ground.session.query(
                    "SELECT pg_terminate_backend($1, 5000)", [.int32(pid)])
            }
            let more = try await Self.takeAllConnections(of: ground)
            try await ground.session.script(
                "SELECT errand.enqueue('demo.ledger') FROM generate_series(1, 100)")
            try await eventually("the worker to complain") {
                worker.errors.contains("too many clients") || worker.errors.contains("53300")
                    || worker.errors.contains("remaining connection slots")
            }
            #expect(worker.isRunning)
            for session in others + more { await session.close() }
            try await ground.allDone()
            try await ground.expectExactlyOnce(1_200)
            try await ground.expectCleanStop(worker)
        }

        /// Opens sessions until the server takes no more.
        private static func takeAllConnections(of ground: CrashGround) async throws -> [Session] {
            var taken: [Session] = []
            while taken.count < 1_000 {
                let session = Session(SessionSettings(ground.place.database, name: "crash-other"))
                do {
                    try await session.connect()
                    taken.append(session)
                } catch {
                    return taken
                }
            }
            throw Program.Trouble("the server takes connections without end")
        }

        @Test(.timeLimit(.minutes(3)))
        func `rule 10: sessions idle in transaction hold nothing up`() async throws {
            let ground = try CrashGround.here()
            // They hold nothing up, however much there is: no fault has to meet a worker at work.
            let load = 5_000
            func open(_ statements: String) async throws -> Session {
                let session = Session(SessionSettings(ground.place.database, name: "crash-idle"))
                try await session.script("BEGIN ISOLATION LEVEL REPEATABLE READ; \(statements)")
                return session
            }
            let worker = try ground.worker()
            try await ground.done("enqueue", "demo.ledger", "--count", "1000")
            try await ground.progress(to: 1_000)
            let idle = [
                try await open("SELECT count(*) FROM errand.jobs"),
                try await open("SELECT count(*) FROM errand.finished_jobs"),
                try await open("SELECT errand.enqueue('demo.ledger')"),
            ]
            try await ground.done("enqueue", "demo.ledger", "--count", "\(load)")
            try await ground.progress(to: 1_000 + load)
            // Started meanwhile: its duties meet those sessions from the beginning.
            let second = try ground.worker()
            try await ground.expectCleanStop(worker)
            try await ground.done("enqueue", "demo.ledger", "--count", "1000")
            try await ground.progress(to: 2_000 + load)
            for session in idle { try await session.script("COMMIT") }
            try await ground.allDone()
            try await ground.expectExactlyOnce(2_001 + load)
            try await ground.expectCleanStop(second)
        }

        @Test(.timeLimit(.minutes(3)), arguments: [false, true])
        func `a worker without its servers still ends when asked to`(postgresToo: Bool)
            async throws
        {
            let ground = try CrashGround.here()
            let load = 10_000
            try await ground.done("enqueue", "demo.ledger", "--count", "\(load)")
            let worker = try ground.worker()
            try await ground.progress(to: 1_000)
            try await CrashServers.here().run("stop-redis")
            if postgresToo { try await CrashServers.here().run("crash-postgres") }
            worker.signal(SIGTERM)
            let end = try await worker.end(within: .seconds(25))
            if !postgresToo {
                #expect(end == .exited(0), "\(worker.errors.suffix(2_000))")
                try await ground.expectNothingClaimed()
                try await ground.expectUnfinished(load)
            } else {
                // It could not write what it held; it says so, and others take it over.
                #expect(end == .exited(0) || end == .exited(1))
                _ = try await CrashServers.here().start()
                try await ground.expectUnfinished(load)
                let next = try ground.worker()
                try await ground.allDone()
                try await ground.expectExactlyOnce(load)
                try await ground.expectCleanStop(next)
            }
        }
    }
}
