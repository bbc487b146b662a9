import Errand
import ErrandPostgres
import ErrandTestServices
import Testing

/// Rule 8, for transactions that are open for a while after they have enqueued.
///
/// Their jobs have due times that the feeder has already read beyond. It never polls here, so that
/// only the commit can make it look.
@Suite("Rule 8: late commits", .database) struct RulesLateCommitTests {
    private func worker(_ seen: Notebook<Int>) throws -> TestWorker {
        var kinds = JobKinds()
        kinds.handle(Plain.self) { job, _ in seen.add(job.n) }
        return try TestWorker(kinds) { options in
            options.pollInterval = .seconds(600)
            options.noticeLimit = 20
        }
    }

    private func enqueue(_ n: Int, on session: Session) async throws {
        _ = try await session.query(
            "SELECT errand.enqueue('test.plain', jsonb_build_object('n', $1::int))",
            [.int32(Int32(n))])
    }

    @Test func `a job starts at its commit, although later ones have run`() async throws {
        let ground = try await RulesGround()
        let seen = Notebook<Int>()
        let order = ground.database.session("rules-order")
        _ = try await worker(seen).during {
            try await enqueue(0, on: ground.session)
            try await eventually("the first job") { seen.all == [0] }
            try await order.script("BEGIN")
            try await enqueue(1, on: order)
            try await enqueue(2, on: ground.session)
            try await eventually("the job beside it") { seen.all == [0, 2] }
            try await order.script("COMMIT")
            try await eventually("the job of the order") { seen.all == [0, 2, 1] }
        }
        await order.close()
    }

    @Test func `so does one of a lane whose jobs come too fast for notices`() async throws {
        let ground = try await RulesGround()
        let seen = Notebook<Int>()
        let orders = (0..<3).map { ground.database.session("rules-order-\($0)") }
        _ = try await worker(seen).during {
            var made = 100
            while try await ground.number("SELECT count(*) FROM errand.polled_lanes") == 0 {
                made += 1
                try await enqueue(made, on: ground.session)
            }
            for (n, order) in orders.enumerated() {
                try await order.script("BEGIN")
                try await enqueue(n, on: order)
            }
            try await enqueue(10, on: ground.session)
            try await eventually("the job beside them") { seen.all.contains(10) }
            for (n, order) in orders.enumerated() {
                try await order.script("COMMIT")
                try await eventually("the job of order \(n)") { seen.all.last == n }
            }
            try await eventually("all of them") { seen.count == made - 100 + 4 }
        }
        for order in orders { await order.close() }
    }
}
