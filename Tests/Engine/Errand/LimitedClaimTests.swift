import ErrandAdministration
import ErrandPostgres
import ErrandTestServices
import Testing

@testable import Errand

/// How the claims of limited queues, and those beside them, look for what they need.
@Suite("Claims where queues are limited", .database) struct LimitedClaimTests {
    private func limit(
        _ ground: RulesGround, running: Int? = nil, rate: Double? = nil
    ) async throws {
        _ = try await Inspector(session: ground.session).limit(
            "default", running: running, rate: rate.map { ($0, "\($0)/s") }, by: "test",
            reason: nil)
    }

    private func enqueue(_ count: Int, _ ground: RulesGround) async throws -> [Int64] {
        try await ground.session.query(
            "SELECT errand.enqueue('test.plain', '{\"n\": 1}') FROM generate_series(1, $1)",
            [.int32(Int32(count))]
        ).map { try $0.int64(0) }
    }

    private func claim(
        _ ids: [Int64], by worker: Int64, token: Int64 = 1
    ) -> Statement {
        Statement(
            Statements.claimLimited,
            [.int64Array(ids), .int64(worker), .int64(token), .text("default")])
    }

    /// A session of this database as dispatchers have it.
    private func session(_ ground: RulesGround) -> Session {
        Session(
            SessionSettings(
                ground.database.url, name: "rules-claims", setup: Statements.claimSessionSetup))
    }

    @Test func `each slot costs one look at its job`() async throws {
        let ground = try await RulesGround()
        try await limit(ground, running: 5_000)
        let worker = try await ground.absentWorker()
        let ids = try await enqueue(2_000, ground)
        try await ground.give(ids, to: worker)
        try await Inspector(session: ground.session).countClaimed(of: "default")
        _ = try await ground.session.query(
            "UPDATE errand.jobs SET claimed_by = NULL, claim_token = NULL WHERE id <= $1",
            [.int64(ids[499])])
        let claims = session(ground)
        try await claims.script(
            """
            PREPARE claim (bigint[], bigint, bigint, text) AS \(Statements.claimLimited)
            """)
        let plan = try await claims.query(
            """
            EXPLAIN (ANALYZE, TIMING off) EXECUTE claim ('{\(ids[0])}', \(worker), 9, 'default')
            """, prepare: false
        ).map { try $0.text(0) }
        // What is joined without an index is thrown away pair by pair.
        #expect(!plan.contains { $0.contains("Removed by Join Filter") }, "\(plan)")
        #expect(!plan.contains { $0.contains("Seq Scan on jobs") }, "\(plan)")
        #expect(try await ground.number("SELECT count(*) FROM errand.slots") == 1_501)
        await claims.close()
    }

    @Test func `a queue that is limited by its rate alone has no slots`() async throws {
        let ground = try await RulesGround()
        try await limit(ground, rate: 1_000)
        let worker = try await ground.absentWorker()
        let ids = try await enqueue(3, ground)
        try await eventually("tokens to gather") {
            try await ground.session.query(claim(ids, by: worker)).count > 0
        }
        #expect(try await ground.number("SELECT count(*) FROM errand.slots") == 0)
        try await limit(ground, running: 2)
        try await Inspector(session: ground.session).countClaimed(of: "default")
        #expect(
            try await ground.number("SELECT count(*) FROM errand.slots")
                == ground.number("SELECT count(claimed_by) FROM errand.jobs"))
    }

    @Test func `who is late for a token is told when the next one comes`() async throws {
        let ground = try await RulesGround()
        try await limit(ground, rate: 0.001)
        let ids = try await enqueue(1, ground)
        _ = try await ground.session.query("UPDATE errand.queue_limits SET tokens = 0")
        let left = try await ground.session.query(
            Statements.leftWaiting, [.int64Array(ids), .text("default")])
        let wait = try #require(try left.first?.optionalDouble("until_start"))
        #expect(wait > 0 && wait <= 1_000)
        #expect(KnownLimit.Pause.rate(wait).length <= .seconds(2))
        #expect(KnownLimit.Pause.rate(0.2).length == .milliseconds(201))
    }

    @Test func `nobody waits for the claim of another, nor for one to count`() async throws {
        let ground = try await RulesGround()
        try await limit(ground, running: 2)
        let other = ground.database.session("rules-other")
        try await other.script("BEGIN; SELECT FROM errand.queue_limits FOR UPDATE")
        let mine = ground.database.session("rules-mine")
        try await mine.script("SET statement_timeout = '5s'")
        let error = await #expect(throws: PostgresError.self) {
            try await mine.query(Statements.lockLimit, [.text("default")])
        }
        #expect(error?.sqlState == "55P03")
        let worker = try await ground.absentWorker()
        let ids = try await enqueue(2, ground)
        try await ground.give(ids, to: worker)
        // One that stands nowhere near the head of its lane; its worker has told of it.
        _ = try await ground.session.query(
            "UPDATE errand.jobs SET run_at = now() + interval '1 hour' WHERE id = $1",
            [.int64(ids[1])])
        _ = try await ground.session.query(
            "UPDATE errand.workers SET running = $1", [.int64Array([ids[1]])])
        try await Inspector(session: mine).countClaimed(of: "default")
        try await Inspector(session: mine).countClaimed(of: "default")
        #expect(try await ground.number("SELECT count(*) FROM errand.slots") == 2)
        await other.close()
        await mine.close()
    }

    @Test func `only what was claimed is synced to disk`() async throws {
        let ground = try await RulesGround()
        try await limit(ground, running: 1)
        let worker = try await ground.absentWorker()
        let ids = try await enqueue(2, ground)
        let claims = session(ground)
        let show = Statement("SHOW synchronous_commit")
        let first = try await claims.pipeline([claim(ids, by: worker), show])
        #expect(first[0].count == 1)
        #expect(try first[1].text(0, 0) == "on")
        let second = try await claims.pipeline([claim(ids, by: worker, token: 2), show])
        #expect(second[0].isEmpty)
        #expect(try second[1].text(0, 0) == "off")
        await claims.close()
    }

    @Test func `a row that is locked holds up no other queue's claims`() async throws {
        let ground = try await RulesGround()
        _ = try await ground.session.query(Statements.addQueue, [.text("mail")])
        _ = try await Inspector(session: ground.session).limit(
            "mail", running: 1, rate: nil, by: "test", reason: nil)
        let ids = try await enqueue(20, ground)
        let other = ground.database.session("rules-other")
        try await other.script("BEGIN; SELECT FROM errand.jobs WHERE id = \(ids[3]) FOR UPDATE")
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, _ in }
        let worker = try TestWorker(kinds)
        let summary = try await worker.during {
            try await eventually("all but one to be done") {
                try await ground.number("SELECT count(*) FROM errand.jobs") == 1
            }
            try await other.script("COMMIT")
            try await eventually("the last one to be done") {
                try await ground.number("SELECT count(*) FROM errand.jobs") == 0
            }
        }
        #expect(summary.completed == 20)
        await other.close()
    }

    @Test(arguments: [false, true])
    func `options that are no object stop no lane`(isLimited: Bool) async throws {
        let ground = try await RulesGround()
        if isLimited { try await limit(ground, running: 100) }
        for options in ["null", "5", #""x""#, "[1]", "true"] {
            _ = try await enqueue(2, ground)
            _ = try await ground.session.query(
                "UPDATE errand.jobs SET options = $1 WHERE id = (SELECT max(id) FROM errand.jobs)",
                [.json(Array(options.utf8))])
        }
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, _ in }
        #expect(try await TestWorker.drain(kinds).completed == 10)
    }
}
