import ErrandDemo
import Foundation
import Glibc
import Errand
import ErrandPostgres
import ErrandRedis
import ErrandTestServices
import Testing

extension FailoverTests {
    /// New versions, and databases that come back from a backup.
    @Suite("Rollouts and restores") struct RolloutTests {
        static let load = 20_000

        @Test(.timeLimit(.minutes(4)))
        func `workers that are replaced one by one under load leave nothing undone`() async throws {
            let ground = try CrashGround.here()
            try await ground.done("enqueue", "demo.ledger", "--count", "\(Self.load)")
            var workers = try (0..<3).map { _ in try ground.worker() }
            for place in workers.indices {
                try await ground.progress(to: (place + 1) * 3_000)
                // The new one first, as a deployment with maxSurge does.
                let new = try ground.worker()
                try await ground.expectCleanStop(workers[place])
                workers[place] = new
                try await ground.expectUnfinished(Self.load)
            }
            try await ground.allDone()
            try await ground.expectExactlyOnce(Self.load)
            #expect(
                try await ground.number(
                    "SELECT max(attempt)::bigint FROM errand.finished_jobs") == 1)
            for worker in workers { try await ground.expectCleanStop(worker) }
        }

        /// What an older program knows.
        private static var oldKinds: JobKinds {
            var kinds = JobKinds()
            kinds.handle(DemoKinds.Ledger.self) { _, context in
                try await context.database.transaction { transaction in
                    _ = try await transaction.query(
                        "INSERT INTO errand.demo_ledger (job_id, queue) VALUES ($1, $2)",
                        [.int64(context.id), .text(context.queue)])
                    try await context.complete(in: transaction)
                }
            }
            return kinds
        }

        @Test(.timeLimit(.minutes(4)))
        func `an old worker goes on through a migration, and leaves new kinds to new workers`()
            async throws
        {
            let outer = try CrashGround.here()
            let name = outer.name + "_old"
            try await outer.session.script("CREATE DATABASE \(name)")
            let place = CrashServers.Place(
                database: outer.place.database.replacing("/\(outer.name)?", with: "/\(name)?"),
                redis: outer.place.redis)
            let ground = CrashGround(name: name, place: place, on: outer.servers)
            try await Migrator(session: ground.session).migrate()
            _ = try await ground.session.query("UPDATE errand.schedules SET paused_at = now()")
            var options = WorkerOptions()
            options.leaseTime = .seconds(2)
            options.runsSchedules = false
            options.handlerConnections = 16
            let old = Worker(
                servers: Servers(
                    database: place.database, redis: try RedisAddress(url: place.redis)),
                kinds: Self.oldKinds, options: options, log: .silent)
            let stop = Stop()
            try await CrashGround.use(ground) {
                async let summary = old.run(until: stop)
                defer { stop.stop() }
                try await ground.session.script(
                    """
                    SELECT errand.enqueue('demo.sleep', '{"ms": 1}') FROM generate_series(1, 20);
                    SELECT errand.enqueue('demo.ledger') FROM generate_series(1, \(Self.load))
                    """)
                try await ground.progress(to: 2_000)
                try await ground.done("migrate", "--modules", "all")
                try await ground.expectUnfinished(Self.load)
                try await ground.progress(to: Self.load)
                let left = try await ground.session.query(
                    """
                    SELECT count(*), count(claimed_by), max(attempt)::bigint
                    FROM errand.jobs WHERE kind = 'demo.sleep'
                    """)
                #expect(try left.int64(0, 0) == 20, "all of them wait for a worker that knows them")
                #expect(try left.int64(0, 1) == 0)
                #expect(try left.int64(0, 2) == 0)
                let new = try ground.worker(["--no-schedules"])
                try await ground.session.script(
                    "SELECT errand.enqueue('demo.ledger') FROM generate_series(1, 1000)")
                try await ground.allDone()
                try await ground.expectExactlyOnce(Self.load + 1_000)
                let slept = try await ground.number(
                    """
                    SELECT count(*) FROM errand.finished_jobs
                    WHERE kind = 'demo.sleep' AND outcome = 'completed' AND attempt = 1
                    """)
                #expect(slept == 20)
                stop.stop()
                #expect(try await summary.completed >= Self.load)
                try await ground.expectCleanStop(new)
            }
            await ground.session.close()
        }

        @Test(.timeLimit(.minutes(4)))
        func `a dump made under load is restored elsewhere, and all of its jobs end once`()
            async throws
        {
            let outer = try CrashGround.here()
            let load = 30_000
            try await outer.done("enqueue", "demo.ledger", "--count", "\(load)")
            // Slow enough for a dump in the middle.
            let lost = try (0..<2).map { _ in try outer.worker(["--queues", "default:1"]) }
            let enqueuer = Enqueuer(outer)
            try await outer.progress(to: 3_000)
            try await Cluster.with { cluster in
                let dump = cluster.folder + "-dump"
                defer { try? FileManager.default.removeItem(atPath: dump) }
                try await Self.run("pg_dump", "-Fc", "-f", dump, outer.place.database)
                try await outer.expectUnfinished(load)
                // Then all is lost: the workers, the database and what Redis held.
                _ = await enqueuer.stop()
                for worker in lost { worker.signal(SIGKILL) }
                let redis = Connection(try RedisAddress(url: outer.place.redis), name: "crash-test")
                _ = try await redis.send(Command("FLUSHALL"))
                try await cluster.run("single")
                let url = try cluster["DATABASE_URL"]
                // Roles are the server's and in no dump of a database.
                let roles = dump + "-roles"
                defer { try? FileManager.default.removeItem(atPath: roles) }
                try await Self.run(
                    "pg_dumpall", "--roles-only", "--no-role-passwords", "-f", roles, "-d",
                    outer.place.database)
                try await Self.run("psql", "-qX", "-d", url, "-f", roles)
                try await Self.run("pg_restore", "--exit-on-error", "-d", url, dump)
                let place = CrashServers.Place(database: url, redis: outer.place.redis)
                let ground = CrashGround(name: "errand", place: place, on: outer.servers)
                try await CrashGround.use(ground) {
                    let waiting = try await ground.number("SELECT count(*) FROM errand.jobs")
                    let done = try await ground.ledgerCount
                    #expect(waiting > 0 && done > 0, "the dump was made in the middle")
                    #expect(waiting + done >= load)
                    let workers = try (0..<2).map { _ in try ground.worker() }
                    try await ground.allDone()
                    try await ground.expectExactlyOnce(waiting + done)
                    print("failover: of a dump with \(done) jobs done, \(waiting) were done after")
                    for worker in workers { try await ground.expectCleanStop(worker) }
                }
                await ground.session.close()
            }
        }

        private static func run(_ name: String, _ arguments: String...) async throws {
            let program = try Program("/usr/lib/postgresql/15/bin/\(name)", arguments)
            guard try await program.end(within: .seconds(90)) == .exited(0) else {
                throw Program.Trouble("\(name): \(program.errors.suffix(2_000))")
            }
        }
    }
}
