import ErrandAdministration
@testable import Errand
import ErrandTestServices
import Testing

/// Jobs that kill their workers, and jobs that only were there.
@Suite("Jobs that kill their workers", .database) struct PoisonTests {
    /// A worker dies with these jobs in its hands, the first ones begun in its last moments.
    private func die(
        with young: [Int64], old: [Int64] = [], _ ground: RulesGround
    ) async throws {
        let worker = try await ground.absentWorker(silentFor: "1 hour")
        try await ground.give(young + old, to: worker)
        _ = try await ground.session.query(
            """
            UPDATE errand.jobs SET claimed_at = claimed_at - interval '2 hours'
            WHERE id = ANY ($1)
            """, [.int64Array(old)])
        _ = try await ground.session.query("UPDATE errand.workers SET lease_seconds = 1")
        try await Rescuer(
            MaintenanceSession(ground.session), offer: { _, _ in }, log: .silent
        ).rescueUnresponsive()
    }

    @Test func `a job is parked after three deaths in its first moments, alone`() async throws {
        let ground = try await RulesGround()
        let client = try await ground.client(hinting: false)
        let job = try await client.enqueue(Plain(n: 0), .init(maxAttempts: 50)).id
        let old = try await client.enqueue(Plain(n: 1), .init(maxAttempts: 50)).id
        for _ in 0..<2 {
            try await die(with: [job], old: [old], ground)
            #expect(try await ground.record(job).state != .dead)
        }
        try await die(with: [job], old: [old], ground)
        let dead = try await ground.record(job)
        #expect(dead.state == .dead && dead.attempt == 3)
        #expect(dead.reason?.hasPrefix("poison: three workers died") == true)
        #expect(try await ground.errors(of: job).count == 3)
        // What had run for long is not suspected.
        #expect(try await ground.record(old).state != .dead)
        #expect(try await ground.errors(of: old).allSatisfy { $0["started_together"] == nil })
    }

    @Test func `jobs that die together are not parked, and start apart from then on`()
        async throws
    {
        let ground = try await RulesGround()
        let client = try await ground.client(hinting: false)
        let jobs = try await client.enqueue(
            (0..<20).map { Plain(n: $0) }, .init(maxAttempts: 50)
        ).map(\.id)
        let late = "SELECT count(*) FROM errand.jobs WHERE run_at > clock_timestamp()"
        try await die(with: jobs, ground)
        #expect(try await ground.number(late) == 0)
        try await die(with: jobs, ground)
        // Each waits for up to 20 seconds, so that at least one still does.
        #expect(try await ground.number(late) > 0)
        #expect(
            try await ground.number(
                "SELECT count(DISTINCT run_at) FROM errand.jobs") == 20)
        for _ in 0..<3 { try await die(with: jobs, ground) }
        #expect(try await ground.number("SELECT count(*) FROM errand.jobs") == 20)
        // Once the others have run, the last one is found.
        for _ in 0..<3 { try await die(with: [jobs[7]], ground) }
        #expect(try await ground.record(jobs[7]).state == .dead)
    }
}
