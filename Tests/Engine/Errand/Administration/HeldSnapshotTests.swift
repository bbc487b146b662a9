@testable import ErrandAdministration
import ErrandPostgres
import ErrandTestServices
import Testing

@testable import Errand

/// What reading the numbers costs while a transaction of another session keeps the rows of finished
/// jobs.
@Suite("Numbers beside a held snapshot", .database) struct HeldSnapshotTests {
    private static let finished = 100_000

    /// The pages that each statement of metrics, status, top and doctor touches.
    private func pages(_ session: Session, _ job: Int64) async throws -> [String: Int] {
        let statements: [(String, Statement)] = [
            ("metrics", Statement(Statements.queueDepths, [.null, .int64(1_000)])),
            ("status", Statement(Statements.queueDepths, [.null, .int64(10_000)])),
            ("one queue", Statement(Statements.queueDepths, [.text("default"), .int64(10_000)])),
            ("view", Statement("SELECT * FROM errand.queue_depth")),
            (
                "kinds",
                Statement(Statements.kindNumbers, [.null, .double(600), .int64(1_000)])
            ),
            ("names", Statement(Statements.kindNames)),
            ("unknown lanes", Statement(Statements.unknownLanes, [.int32(1_000)])),
            ("stuck jobs", Statement(Statements.stuckJobs, [.int32(100), .text("x")])),
            ("why", Statement(Statements.situation, [.int64(job), .int64(20_000)])),
            ("drain", Statement(Statements.dueInQueue, [.text("default"), .int64(1_000)])),
            ("running", Statement(Statements.claimed, [.null, .null])),
            ("uses", Statement(Statements.queueUses, [.text("default")])),
        ]
        var pages: [String: Int] = [:]
        for (name, statement) in statements {
            let plan = try await session.query(
                "EXPLAIN (ANALYZE, BUFFERS, TIMING off) " + statement.sql, statement.parameters)
            let lines = try plan.map { try $0.text(0) }
            let first = try #require(lines.first { $0.contains("Buffers: shared") }, "\(name)")
            pages[name] = first.matches(of: /(?:hit|read)=([0-9]+)/)
                .reduce(0) { $0 + (Int($1.output.1) ?? 0) }
        }
        return pages
    }

    private func depths(_ session: Session) async throws -> [String] {
        try await session.query(
            "SELECT concat_ws(' ', queue, ready, running) FROM errand.queue_depth ORDER BY 1"
        ).map { try $0.text(0) }
    }

    @Test func `finished jobs cost nothing once the feeder has moved the starts`() async throws {
        let ground = try await RulesGround()
        let holder = ground.database.session("holder")
        _ = try await holder.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
        _ = try await holder.query("SELECT count(*) FROM errand.jobs")
        try await ground.session.script(
            """
            INSERT INTO errand.queues (name) VALUES ('other');
            INSERT INTO errand.jobs (queue, kind)
            SELECT CASE n % 2 WHEN 0 THEN 'default' ELSE 'other' END, 'test.plain'
            FROM generate_series(1, \(Self.finished)) AS n;
            DELETE FROM errand.jobs;
            INSERT INTO errand.jobs (queue, kind)
            SELECT CASE n % 2 WHEN 0 THEN 'default' ELSE 'other' END, 'test.plain'
            FROM generate_series(1, 60) AS n
            """)
        let job = try await ground.session.query(
            "SELECT max(id) FROM errand.jobs WHERE queue = 'default'"
        ).int64(0, 0)
        let before = try await pages(ground.session, job)
        let exact = try await depths(ground.session)
        #expect(exact == ["default 30 0", "other 30 0"])
        for (name, count) in before where name != "uses" {
            #expect(count > 5_000, "\(name) reads the finished jobs")
        }
        // A worker that can run them but does not: it only is the feeder.
        _ = try await ground.session.query("UPDATE errand.queues SET paused_at = now()")
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, _ in }
        let worker = try TestWorker(kinds, queues: [.init("default"), .init("other")])
        _ = try await worker.during {
            try await eventually("the starts to be moved") {
                try await ground.number(
                    """
                    SELECT count(*) FROM errand.lane_starts
                    WHERE id = (SELECT min(id) FROM errand.jobs j
                        WHERE j.queue = lane_starts.queue)
                    """) == 2
            }
        }
        _ = try await ground.session.query("UPDATE errand.queues SET paused_at = NULL")
        for (name, count) in try await pages(ground.session, job) {
            #expect(count < 3_000, "\(name)")
        }
        #expect(try await depths(ground.session) == exact)
        let gauges = EngineNumbers.session(ground.database.url)
        let numbers = try await EngineNumbers.read(gauges)
        await gauges.close()
        #expect(numbers.queues.map(\.available) == [30, 30])
        let oldest = try await ground.session.query(
            "SELECT min(run_at) FROM errand.jobs WHERE queue = 'default'"
        ).timestamp(0, 0)
        #expect(numbers.queues[0].oldest == oldest)
        await holder.close()
    }
}
