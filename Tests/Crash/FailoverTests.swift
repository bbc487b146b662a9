import Foundation
import ErrandPostgres
import ErrandRedis
import ErrandTestServices
import Testing

extension FailoverTests {
    /// One server takes over from another.
    @Suite("Takeovers") struct TakeoverTests {
        static let load = 20_000

        @Test(.timeLimit(.minutes(4)))
        func `a primary dies under load and its standby takes over: nothing lost, nothing twice`()
            async throws
        {
            let outer = try CrashGround.here()
            try await Cluster.with { cluster in
                try await cluster.run("postgres")
                try await outer.with(database: cluster["DATABASE_URL"]) { ground in
                    try await ground.done("enqueue", "demo.ledger", "--count", "\(Self.load)")
                    let workers = try (0..<3).map { _ in try ground.worker() }
                    let enqueuer = Enqueuer(ground)
                    try await ground.progress(to: 4_000)
                    let start = ContinuousClock.now
                    try await cluster.run("kill-primary")
                    try await cluster.run("promote")
                    try await ground.expectUnfinished(Self.load)
                    try await ground.reportRecovery("the promotion of a standby", since: start)
                    try await ground.progress(to: 12_000)
                    let ids = await enqueuer.stop()
                    try await ground.allDone()
                    #expect(ids.count > 10)
                    let missing = try await ground.session.query(
                        """
                        SELECT count(*) FROM unnest($1::bigint[]) AS a (id)
                        WHERE NOT EXISTS (
                            SELECT FROM errand.demo_ledger l WHERE l.job_id = a.id)
                        """, [.int64Array(ids)])
                    #expect(try missing.int64(0, 0) == 0, "acknowledged and lost")
                    // An enqueue whose answer was lost may have been committed.
                    let total = try await ground.number(
                        "SELECT count(*) FROM errand.finished_jobs")
                    #expect(total >= Self.load + ids.count)
                    try await ground.expectExactlyOnce(total)
                    let dead = try await ground.number(
                        "SELECT count(*) FROM errand.finished_jobs WHERE outcome <> 'completed'")
                    #expect(dead == 0)
                    for worker in workers { try await ground.expectCleanStop(worker) }
                }
            }
        }

        @Test(.timeLimit(.minutes(4)))
        func `Sentinel promotes a replica under load: nothing lost, nothing twice`() async throws {
            let outer = try CrashGround.here()
            try await Cluster.with { cluster in
                try await cluster.run("redis")
                try await outer.with(redis: cluster["REDIS_URL"]) { ground in
                    try await ground.done("enqueue", "demo.ledger", "--count", "\(Self.load)")
                    let workers = try (0..<2).map { _ in try ground.worker() }
                    try await ground.progress(to: 3_000)
                    let first = try await Self.master(cluster)
                    let start = ContinuousClock.now
                    try await cluster.run("kill-master")
                    try await eventually("another master") {
                        try await Self.master(cluster) != first
                    }
                    try await ground.expectUnfinished(Self.load)
                    try await ground.reportRecovery("the promotion of a replica", since: start)
                    // All commands find the new master too.
                    try await ground.done("enqueue", "demo.ledger", "--count", "1000")
                    try await ground.allDone()
                    try await ground.expectExactlyOnce(Self.load + 1_000)
                    let doctor = try ground.start(["doctor", "-ojson"])
                    _ = try await doctor.end(within: .seconds(30))
                    #expect(doctor.output.contains("the master is"), "\(doctor.output)")
                    for worker in workers { try await ground.expectCleanStop(worker) }
                }
            }
        }

        /// Where the sentinels say that the master is.
        private static func master(_ cluster: Cluster) async throws -> String? {
            let connection = Connection(
                try RedisAddress(url: cluster["REDIS_URL"]), name: "failover-test",
                connectTimeout: .seconds(1))
            try? await connection.connect()
            return await connection.masterPlace
        }

        @Test(.timeLimit(.minutes(3)))
        func `a server that only reads for a while loses no ending of a job`() async throws {
            let ground = try CrashGround.here()
            try await ground.done("enqueue", "demo.ledger", "--count", "\(Self.load)")
            let worker = try ground.worker()
            try await ground.progress(to: 2_000)
            // As an operator's switch, or a proxy that leads to a standby for a moment.
            for setting in ["SET default_transaction_read_only = on", "RESET ALL"] {
                try await ground.session.script("ALTER DATABASE \(ground.name) \(setting)")
                try await ground.session.script(
                    """
                    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                    WHERE datname = current_database() AND application_name LIKE 'errand-%'
                    """)
                guard setting != "RESET ALL" else { break }
                try await eventually("the worker to notice") {
                    worker.errors.contains("25006")
                }
                try await ground.expectUnfinished(Self.load)
            }
            try await ground.allDone()
            try await ground.expectExactlyOnce(Self.load)
            try await ground.expectCleanStop(worker)
        }
    }
}
