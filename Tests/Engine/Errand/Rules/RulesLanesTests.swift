import Foundation
@testable import Errand
import ErrandPostgres
import ErrandRedis
import ErrandTestServices
import Testing

/// Lanes without jobs cost nothing, and workers find the others.
@Suite("Lanes in use", .database) struct RulesLanesTests {
    private func kinds(_ ran: Notebook<Int>) -> JobKinds {
        var kinds = JobKinds()
        kinds.handle(Plain.self) { job, _ in ran.add(job.n) }
        kinds.handle(Note.self) { _, _ in }
        return kinds
    }

    private func enqueue(_ ground: RulesGround, _ n: Int, in queue: String) async throws {
        _ = try await ground.session.query(
            "SELECT errand.enqueue('test.plain', jsonb_build_object('n', $1::int), queue => $2)",
            [.int32(Int32(n)), .text(queue)])
    }

    private func inUse(_ ground: RulesGround) async throws -> Set<Lane> {
        Set(try await ground.window().lanesInUse())
    }

    @Test func `thousands of declared lanes take no lock and no memory in Redis`() async throws {
        let ground = try await RulesGround()
        let ran = Notebook<Int>()
        let queues = (0..<2_000).map { WorkerOptions.Queue("tenant-\($0)", concurrency: 2) }
        _ = try await TestWorker(kinds(ran), queues: queues).during {
            // The first may be there before the feeder, the others are not.
            for n in 0..<3 {
                try await enqueue(ground, n, in: "tenant-\(n * 700)")
                try await eventually("job \(n) to run") { ran.all.count == n + 1 }
            }
            #expect(
                try await inUse(ground)
                    == Set(
                        (0..<3).map {
                            Lane(queue: "tenant-\($0 * 700)", kind: Plain.kind, version: 1)
                        }))
            let locks = try await ground.number(
                """
                SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
                    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                """)
            #expect(locks == 0)
            #expect(try await ground.ownKeys().count < 20)
        }
        #expect(Set(ran.all) == [0, 1, 2])
    }

    @Test func `a pattern works queues that did not exist when the worker started`() async throws {
        let ground = try await RulesGround()
        let ran = Notebook<Int>()
        _ = try await TestWorker(
            kinds(ran), queues: [.init("tenant-*", concurrency: 2), .init("mail")]
        ).during {
            for n in 0..<20 { try await enqueue(ground, n, in: "tenant-\(n)") }
            try await enqueue(ground, 99, in: "mail")
            try await enqueue(ground, 100, in: "elsewhere")
            try await eventually("the jobs to run") { ran.all.count == 21 }
        }
        #expect(Set(ran.all) == Set(Array(0..<20) + [99]))
        #expect(try await ground.number("SELECT count(*) FROM errand.jobs") == 1)
    }

    @Test func `a drain of a pattern works all its queues and no others`() async throws {
        let ground = try await RulesGround()
        let ran = Notebook<Int>()
        for n in 0..<150 { try await enqueue(ground, n, in: "tenant-\(n)") }
        try await enqueue(ground, 1_000, in: "elsewhere")
        let summary = try await TestWorker.drain(kinds(ran), queues: [.init("tenant-*")])
        #expect(summary.completed == 150)
        #expect(Set(ran.all) == Set(0..<150))
    }

    @Test func `many lanes with jobs are all worked while one of them is flooded`() async throws {
        let ground = try await RulesGround()
        let ran = Notebook<Int>()
        let client = try await ground.client(hinting: false)
        _ = try await client.enqueue(
            (0..<3_000).map { Plain(n: -$0 - 1) }, .init(queue: "tenant-flood"))
        for n in 0..<300 { try await enqueue(ground, n, in: "tenant-\(n)") }
        let summary = try await TestWorker.drain(
            kinds(ran), queues: [.init("tenant-*", concurrency: 2)])
        #expect(summary.completed == 3_300)
        #expect(Set(ran.all).count == 3_300)
    }

    @Test func `a lane is used again after Redis forgot everything`() async throws {
        let ground = try await RulesGround()
        let ran = Notebook<Int>()
        _ = try await TestWorker(kinds(ran), queues: [.init("tenant-*")]).during {
            try await enqueue(ground, 1, in: "tenant-1")
            try await eventually("the first job to run") { ran.all == [1] }
            try await ground.loseKeys()
            try await enqueue(ground, 2, in: "tenant-1")
            try await enqueue(ground, 3, in: "tenant-3")
            try await eventually("the other jobs to run") { Set(ran.all) == [1, 2, 3] }
            try await eventually("the lanes to be in use") {
                try await inUse(ground).count == 2
            }
        }
    }

    @Test func `the feeder removes the lanes of earlier ones that are empty`() async throws {
        let ground = try await RulesGround()
        let stale = Lane(queue: "gone", kind: Plain.kind, version: 1)
        let kept = Lane(queue: "elsewhere", kind: Plain.kind, version: 1)
        try await ground.window().use([stale])
        try await ground.window().stage([
            (lane: kept, jobs: [Staged(id: 1, priority: 2, runAt: .now())])
        ])
        #expect(try await inUse(ground) == [stale, kept])
        _ = try await TestWorker(kinds(Notebook<Int>())).during {
            try await eventually("the empty lane to be removed") {
                try await inUse(ground) == [kept]
            }
        }
    }
}
