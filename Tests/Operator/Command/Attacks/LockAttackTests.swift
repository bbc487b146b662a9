import ErrandPostgres
import ErrandTestServices
import Foundation
import Testing

/// Advisory locks by which bulk operations and assignments were once held, taken by the login of an
/// autoscaler.
@Suite("Attacks: locks of operations and modules", .serialized, .database)
struct LockAttackTests {
    private static let queue = "attack.bulk"

    /// Holds locks while `body` runs.
    private func holding(
        _ locks: String, _ body: (RoleGround) async throws -> Void
    ) async throws {
        let ground = try await RoleGround.shared
        let attacker = ground.session("errand_scale")
        let held = try await attacker.query("SELECT \(locks)")
        #expect(held.count > 0)
        do { try await body(ground) } catch {
            await attacker.close()
            throw error
        }
        // It was there until now.
        #expect(
            try await attacker.query(
                """
                SELECT count(*) FROM pg_locks
                WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND granted
                """
            ).int64(0, 0) > 0)
        await attacker.close()
    }

    @Test func `a lock of the pass over jobs holds up no erasure`() async throws {
        try await holding("pg_advisory_lock(hashtextextended('people.sweep_jobs', 0))") { ground in
            let session = ground.session("errand_work")
            try await session.script("SET lock_timeout = '5s'")
            _ = try await session.query("SELECT people.sweep_jobs(10)")
            await session.close()
        }
    }

    private func later(_ count: Int, _ ground: RoleGround) async throws {
        _ = try await ground.list(
            """
            SELECT errand.enqueue('demo.noop', queue => '\(Self.queue)', delay => '1 hour')::text
            FROM generate_series(1, \(count))
            """)
    }

    private func waiting(_ ground: RoleGround) async throws -> Int {
        try await ground.list("SELECT id::text FROM errand.jobs WHERE queue = '\(Self.queue)'")
            .count
    }

    @Test func `locks of a thousand operations stop none, and none from being resumed`()
        async throws
    {
        try await holding("pg_advisory_lock(28528, n) FROM generate_series(1, 1000) AS n") {
            ground in
            let environment = ground.environment("errand_work")
            let cancel = ["job", "cancel", "--queue", Self.queue, "--all", "--yes"]
            try await later(60, ground)
            let run = try await errand(cancel + ["-ojson"], environment: environment)
            run.expect(0)
            #expect(try run.record["state"] == "done" && run.record["done"] == 60)
            // One that is interrupted is resumed.
            try await later(200, ground)
            let process = try start(cancel + ["--rate", "20/s"], environment: environment)
            try await eventually("the first chunk") { try await waiting(ground) < 200 }
            process.signal(SIGKILL)
            _ = try await process.end(within: .seconds(10))
            let id = try #require(
                try await ground.list("SELECT max(id)::text FROM errand.operations").first)
            try await eventually("the server to notice") {
                let show = try await errand(
                    ["op", "show", id, "-ojson"], environment: environment)
                return try show.record["state"] == "interrupted"
            }
            _ = try await ground.list(
                """
                UPDATE errand.operations SET rate_per_s = NULL WHERE id = \(id) RETURNING id::text
                """)
            let resumed = try await errand(
                ["op", "resume", id, "-ojson"], environment: environment)
            resumed.expect(0)
            #expect(try resumed.record["done"] == 200)
            #expect(try await waiting(ground) == 0)
        }
    }

    @Test func `a lock of assignments stops none`() async throws {
        try await holding("pg_advisory_lock(hashtextextended('missions.assign', 0))") { ground in
            let job = try #require(
                try await ground.list(
                    "SELECT errand.enqueue('missions.assign', queue => 'attack.assign')::text"
                ).first)
            try await errand(
                ["work", "--drain", "--no-schedules", "--queues", "attack.assign"],
                environment: ground.environment("errand_work")
            ).expect(0)
            #expect(
                try await ground.list(
                    "SELECT outcome::text FROM errand.finished_jobs WHERE id = \(job)")
                    == ["completed"])
        }
    }
}
