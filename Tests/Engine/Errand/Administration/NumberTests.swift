@testable import ErrandAdministration
import ErrandPostgres
import ErrandTestServices
import Testing

@testable import Errand

/// Numbers that are estimated, or not to be had.
@Suite("Numbers that nobody can know exactly", .database) struct NumberTests {
    @Test func `two versions of one kind are estimated apart`() async throws {
        let ground = try await RulesGround()
        _ = try await ground.session.query(
            """
            INSERT INTO errand.jobs (queue, kind, args_version)
            SELECT 'default', 'test.plain', 1 + n % 2 FROM generate_series(1, 400) AS n
            """)
        let row = try #require(
            try await ground.session.query(
                Statements.kindNumbers, [.text("test.plain"), .double(600), .int64(10)]
            ).first)
        #expect(try row.bool("is_estimate"))
        #expect(try row.int64("waiting") == 400)
    }

    @Test func `jobs that left no trace make the rate of arrivals an estimate`() async throws {
        let ground = try await RulesGround()
        let inspector = Inspector(session: ground.session)
        func queue() async throws -> QueueRecord {
            try #require(try await inspector.queues(named: "default").first)
        }
        let none = try await queue()
        #expect(none.rateIn == 0 && !none.isRateInEstimate)
        let client = try await ground.client(hinting: false)
        _ = try await client.enqueue((0..<60).map { Plain(n: $0) })
        let all = try await queue()
        #expect(all.rateIn == 1 && !all.isRateInEstimate)
        _ = try await ground.session.query("DELETE FROM errand.jobs")
        let gone = try await queue()
        #expect(gone.rateIn == 0 && gone.isRateInEstimate)
        // Those of long ago are no matter.
        _ = try await ground.session.query(
            """
            INSERT INTO errand.jobs (queue, kind, created_at)
            VALUES ('default', 'test.plain', now() - interval '2 min')
            """)
        #expect(try await !queue().isRateInEstimate)
    }
}
