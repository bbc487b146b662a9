import ErrandPostgres
import ErrandTestServices
import Testing

@testable import ErrandNotification

/// What the search for deliveries without a job costs beside a long backlog of others.
@Suite("The search for undelivered notices", .database) struct UndeliveredPlanTests {
    @Test func `reads no live jobs of other kinds`() async throws {
        let ground = try await Ground()
        try await ground.run(
            """
            INSERT INTO errand.queues (name) VALUES ('busy'), ('notices') ON CONFLICT DO NOTHING
            """)
        try await ground.run(
            """
            INSERT INTO errand.jobs (queue, kind, args)
            SELECT 'busy', 'busy.kind' || n % 10, '{}' FROM generate_series(1, 30000) AS n
            """)
        // One in another queue, where an operator moved it.
        try await ground.run(
            """
            INSERT INTO errand.jobs (queue, kind, args)
            SELECT q.name, '\(PushDelivery.kind)', jsonb_build_object('delivery_id', q.n)
            FROM (VALUES ('notices', 1), ('busy', 2)) AS q (name, n)
            """)
        try await ground.run("ANALYZE errand.jobs")
        let alive = CloseUndelivered.alive("delivery_id")
        let parameters: [Parameter] = [
            .int64Array([1, 2, 3]), .textArray([PushDelivery.kind, EmailDelivery.kind]),
        ]
        let found = try await ground.pool.withSession { session in
            try await session.query(alive, parameters).map { try $0.int64(0) }
        }
        #expect(found.sorted() == [1, 2])
        let plan = try await ground.pool.withSession { session in
            try await session.query(
                "EXPLAIN (ANALYZE, TIMING off) \(alive)", parameters, prepare: false
            ).map { try $0.text(0) }
        }
        #expect(plan.contains { $0.contains("Index Cond: ((queue = q.name) AND (kind") }, "\(plan)")
        #expect(!plan.contains { $0.contains("Seq Scan on jobs") }, "\(plan)")
    }
}
