@testable import Errand
import ErrandAdministration
import ErrandPostgres
import Synchronization
import ErrandTestServices
import Testing

/// How much of a queue may run over all workers.
@Suite("Limits of queues", .database) struct LimitTests {
    /// How many handlers run, and how many did at most.
    private final class Gauge: Sendable {
        private let state = Mutex((now: 0, most: 0))

        func enter() {
            state.withLock { state in
                state.now += 1
                state.most = max(state.most, state.now)
            }
        }

        func leave() { state.withLock { $0.now -= 1 } }
        var now: Int { state.withLock(\.now) }
        var most: Int { state.withLock(\.most) }
    }

    private func kinds(
        _ gauge: Gauge, _ body: @escaping @Sendable () async throws -> Void
    ) -> JobKinds {
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, _ in
            gauge.enter()
            defer { gauge.leave() }
            try await body()
        }
        return kinds
    }

    private func set(
        _ running: Int?, rate: Double? = nil, _ ground: RulesGround
    ) async throws {
        let inspector = Inspector(session: ground.session)
        let at = try #require(
            try await inspector.limit(
                "default", running: running, rate: rate.map { ($0, "\($0)/s") }, by: "test",
                reason: nil))
        try await eventually("all workers to hear of it") {
            try await inspector.unaware(of: "default", setAt: at).isEmpty
        }
        try await inspector.countClaimed(of: "default")
    }

    private func enqueue(_ count: Int, _ ground: RulesGround) async throws {
        _ = try await ground.session.query(
            "SELECT errand.enqueue('test.plain', '{\"n\": 1}') FROM generate_series(1, $1)",
            [.int32(Int32(count))])
    }

    private func left(_ ground: RulesGround) async throws -> Int {
        try await ground.number("SELECT count(*) FROM errand.jobs")
    }

    @Test func `several workers never run more than the limit`() async throws {
        let ground = try await RulesGround()
        let gauge = Gauge()
        let kinds = kinds(gauge) { try await Task.sleep(for: .milliseconds(5)) }
        try await set(4, ground)
        try await enqueue(150, ground)
        let workers = try (0..<3).map { _ in
            try TestWorker(kinds, queues: [.init("default", concurrency: 8)])
        }
        async let one = workers[0].run()
        async let two = workers[1].run()
        async let three = workers[2].run()
        try await eventually("all to be done") { try await left(ground) == 0 }
        for worker in workers { worker.stop.stop() }
        let done = try await [one, two, three].reduce(0) { $0 + $1.completed }
        #expect(done == 150)
        #expect(gauge.most <= 4)
        #expect(gauge.most > 1)
        let limit = try await Inspector(session: ground.session).limits()["default"]
        #expect(limit?.held == 0)
    }

    @Test func `what ran before counts, and a limit is changed and removed meanwhile`()
        async throws
    {
        let ground = try await RulesGround()
        let gauge = Gauge()
        let gate = Gate()
        let kinds = kinds(gauge) { try await gate.pass() }
        let worker = try TestWorker(kinds, queues: [.init("default", concurrency: 8)])
        let summary = try await worker.during {
            try await enqueue(3, ground)
            try await eventually("three to run") { gauge.now == 3 }
            try await set(3, ground)
            let inspector = Inspector(session: ground.session)
            #expect(try await inspector.limits()["default"]?.held == 3)
            try await enqueue(5, ground)
            try await eventually("the others to be turned back") {
                try await ground.stagedCount() == 5
            }
            #expect(gauge.most == 3)
            try await set(5, ground)
            try await eventually("two more to run") { gauge.now == 5 }
            #expect(try await inspector.limits()["default"]?.held == 5)
            #expect(try await inspector.removeLimit(of: "default", by: "test", reason: nil))
            try await eventually("all to run") { gauge.now == 8 }
            #expect(try await ground.number("SELECT count(*) FROM errand.slots") == 0)
            gate.open()
            try await eventually("all to be done") { try await left(ground) == 0 }
        }
        #expect(summary.completed == 8)
    }

    @Test func `no more start in a second than the rate lets`() async throws {
        let ground = try await RulesGround()
        let gauge = Gauge()
        let kinds = kinds(gauge) {}
        try await set(nil, rate: 20, ground)
        try await enqueue(40, ground)
        let workers = try (0..<2).map { _ in try TestWorker(kinds) }
        async let one = workers[0].run()
        async let two = workers[1].run()
        try await eventually("all to be done") { try await left(ground) == 0 }
        for worker in workers { worker.stop.stop() }
        _ = try await (one, two)
        // A second's worth, and the three that may gather.
        let most = try await ground.number(
            """
            SELECT max(n) FROM (
                SELECT count(*) OVER (ORDER BY started_at
                    RANGE BETWEEN CURRENT ROW AND interval '1 s' FOLLOWING) AS n
                FROM errand.finished_jobs) w
            """)
        #expect(most <= 24)
        #expect(most > 1)
    }

    @Test func `a slot counts only while its claim holds`() async throws {
        let ground = try await RulesGround()
        let inspector = Inspector(session: ground.session)
        try await set(2, ground)
        try await enqueue(3, ground)
        let worker = try await ground.absentWorker(canRun: false)
        let ids = try await ground.session.query("SELECT id FROM errand.jobs ORDER BY id")
            .map { try $0.int64(0) }
        func claim(_ token: Int64) async throws -> Int {
            let answers = try await ground.session.pipeline([
                Statement(Statements.lockLimit, [.text("default")]),
                Statement(
                    Statements.claimLimited,
                    [.int64Array(ids), .int64(worker), .int64(token), .text("default")]),
            ])
            return answers[1].count
        }
        #expect(try await claim(1) == 2)
        #expect(try await claim(2) == 0)
        // As a rescue, or any other result, frees a claim: nothing is told to the slots.
        _ = try await ground.session.query(
            "UPDATE errand.jobs SET claimed_by = NULL, claim_token = NULL WHERE id = $1",
            [.int64(ids[0])])
        #expect(try await inspector.limits()["default"]?.held == 1)
        #expect(try await claim(3) == 1)
        #expect(try await ground.number("SELECT count(*) FROM errand.slots") == 2)
        _ = try await ground.session.query("DELETE FROM errand.jobs")
        #expect(try await inspector.limits()["default"]?.held == 0)
    }
}
