import ErrandPostgres
import ErrandTestServices
import Testing

@testable import Errand

/// Where the jobs of lanes start, and what is read from there.
@Suite("The starts of lanes", .database) struct LaneStartTests {
    private func move(_ ground: RulesGround, isWhole: Bool = false) async throws {
        let horizon = try await ground.session.query(Statements.horizon).timestamp(0, 0)
        _ = try await ground.session.query(
            Statements.moveStarts,
            [
                .int32Array([0]), .textArray(["default"]), .textArray([Plain.kind]),
                .int16Array([1]), .int16Array([2]), .timestamp(horizon), .bool(isWhole),
            ])
    }

    private func start(_ ground: RulesGround) async throws -> (id: Int64, earlier: [Int64]) {
        let rows = try await ground.session.query("SELECT id, earlier FROM errand.lane_starts")
        return (try rows.int64(0, 0), try #require(rows.first).int64Array("earlier"))
    }

    private func ids(_ ground: RulesGround, waiting: Bool = false) async throws -> [Int64] {
        try await ground.session.query(
            """
            SELECT j.id FROM errand.lanes l
            CROSS JOIN LATERAL errand.lane_jobs(l, 1000, waiting => $1) j ORDER BY j.id
            """, [.bool(waiting)]
        ).map { try $0.int64(0) }
    }

    @Test func `a start passes running jobs, which are read by their ids`() async throws {
        let ground = try await RulesGround()
        let client = try await ground.client(hinting: false)
        let jobs = try await client.enqueue((0..<4).map { Plain(n: $0) }).map(\.id)
        let worker = try await ground.absentWorker(canRun: true)
        try await ground.give([jobs[0], jobs[1]], to: worker)
        try await move(ground)
        #expect(try await start(ground) == (jobs[2], [jobs[0], jobs[1]]))
        #expect(try await ids(ground) == jobs)
        #expect(try await ids(ground, waiting: true) == [jobs[2], jobs[3]])
        // One waits again, one is finished: no start has to be moved for that.
        try await ground.session.script(
            """
            UPDATE errand.jobs SET claimed_by = NULL WHERE id = \(jobs[0]);
            DELETE FROM errand.jobs WHERE id IN (\(jobs[1]), \(jobs[2]))
            """)
        #expect(try await ids(ground) == [jobs[0], jobs[3]])
        #expect(try await ids(ground, waiting: true) == [jobs[0], jobs[3]])
        let depth = "SELECT ready FROM errand.queue_depth WHERE queue = 'default'"
        #expect(try await ground.number(depth) == 2)
        try await move(ground)
        #expect(try await start(ground) == (jobs[3], [jobs[0]]))
        try await move(ground, isWhole: true)
        #expect(try await start(ground) == (jobs[0], []))
    }

    @Test func `a start passes a hundred running jobs at most, and no job that is not committed`()
        async throws
    {
        let ground = try await RulesGround()
        let client = try await ground.client(hinting: false)
        let jobs = try await client.enqueue((0..<150).map { Plain(n: $0) }).map(\.id)
        try await ground.give(jobs, to: try await ground.absentWorker(canRun: true))
        for _ in 0..<3 {
            try await move(ground)
            let start = try await start(ground)
            #expect(start.earlier == Array(jobs[..<100]))
            #expect(start.id == jobs[100])
        }
        #expect(try await ids(ground) == jobs)
        let writer = ground.database.session("writer")
        _ = try await writer.query("BEGIN")
        let late = try await writer.query("SELECT errand.enqueue('test.plain')").int64(0, 0)
        _ = try await ground.session.query("DELETE FROM errand.jobs")
        try await move(ground)
        _ = try await writer.query("COMMIT")
        #expect(try await ids(ground) == [late])
        try await move(ground)
        #expect(try await start(ground) == (late, []))
        await writer.close()
    }

    @Test func `lanes are found between those that have a start`() async throws {
        let ground = try await RulesGround()
        var random = SplitMix(seed: 7)
        for round in 0..<20 {
            try await ground.session.script(
                "DELETE FROM errand.jobs; DELETE FROM errand.lane_starts")
            func lane() -> Lane {
                Lane(
                    queue: "q\(Int.random(in: 0..<3, using: &random))",
                    kind: "k\(Int.random(in: 0..<3, using: &random))",
                    version: Int.random(in: 1...3, using: &random))
            }
            let used = Set((0..<8).map { _ in lane() })
            let known = Set((0..<(round % 6)).map { _ in lane() })
            func rows(_ lanes: Set<Lane>) -> [Parameter] {
                let lanes = Array(lanes)
                return [
                    .textArray(lanes.map(\.queue)), .textArray(lanes.map(\.kind)),
                    .int16Array(lanes.map { Int16($0.version) }),
                ]
            }
            _ = try await ground.session.query(
                """
                INSERT INTO errand.jobs (queue, kind, args_version)
                SELECT * FROM unnest($1::text[], $2::text[], $3::smallint[])
                """, rows(used))
            _ = try await ground.session.query(
                """
                INSERT INTO errand.lane_starts
                SELECT l.*, 2, '-infinity', 0, '{}'
                FROM unnest($1::text[], $2::text[], $3::smallint[]) AS l
                """, rows(known))
            let found = try await ground.session.query(
                "SELECT queue, kind, args_version FROM errand.lanes WHERE priority = 2"
            ).map {
                Lane(queue: try $0.text(0), kind: try $0.text(1), version: Int(try $0.int16(2)))
            }
            #expect(found.count == Set(found).count)
            #expect(Set(found) == used.union(known), "round \(round)")
        }
    }

    @Test func `SQL and Swift agree on what serves a queue`() async throws {
        let ground = try await RulesGround()
        var random = SplitMix(seed: 11)
        func word(_ letters: String, upTo length: Int) -> String {
            let letters = Array(letters)
            return String(
                (0..<Int.random(in: 1...length, using: &random)).map { _ in
                    letters[Int.random(in: 0..<letters.count, using: &random)]
                })
        }
        for _ in 0..<300 {
            let served = Set(
                (0..<Int.random(in: 0...5, using: &random)).map { _ in word("ab_*.%*", upTo: 5) })
            let queue = word("ab_.", upTo: 6)
            let json = "{" + served.map { #""\#($0)": {}"# }.joined(separator: ",") + "}"
            let found = try await ground.session.query(
                "SELECT errand.serving($1, $2)", [.json(Array(json.utf8)), .text(queue)]
            )[0].optionalText(0)
            #expect(found == QueuePattern.serving(queue, served), "\(served) \(queue)")
        }
    }
}
