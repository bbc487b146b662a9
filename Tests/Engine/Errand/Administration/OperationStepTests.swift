@testable import ErrandAdministration
import ErrandPostgres
import ErrandTestServices
import Testing

@testable import Errand

/// What a bulk operation does about jobs that others act on at the same moment.
@Suite("Steps of bulk operations", .database) struct OperationStepTests {
    private func begin(
        _ action: BulkOperation.Action, _ states: [JobState]?, _ ground: RulesGround
    ) async throws -> (operations: Operations, id: Int64) {
        var filter = JobFilter()
        filter.states = states
        let operations = Operations(session: ground.database.session("rules-operation"))
        let request = Operations.Request(
            action: action, filter: filter, count: JobCount(count: 9, isEstimate: true))
        return (operations, try await operations.begin(request, by: "test"))
    }

    private func enqueue(_ count: Int, _ ground: RulesGround) async throws -> [Int64] {
        try await ground.client(hinting: false).enqueue((0..<count).map { Plain(n: $0) })
            .map(\.id)
    }

    @Test(arguments: [([JobState.available], 0), ([.available, .running], 1), (nil, 1)])
    func `what was claimed meanwhile is only cancelled if running jobs are meant`(
        states: [JobState]?, asked: Int
    ) async throws {
        let ground = try await RulesGround()
        let ids = try await enqueue(2, ground)
        let (operations, id) = try await begin(.cancel, states, ground)
        try await ground.give([ids[0]], to: try await ground.absentWorker())
        // As if both had been looked for before the claim.
        let step = try await operations.session.transaction { session in
            let row = try session.query(Statements.lockOperation, [.int64(id)])[0]
            return try Operations.act(.init(row), on: ids, in: .live, session)
        }
        #expect(step.ids.count == 1 + asked)
        #expect(step.cancelRequested == asked)
        #expect(
            try await ground.number("SELECT count(*) FROM errand.jobs WHERE cancel_requested")
                == asked)
    }

    @Test func `cancelling waits for no lock, and comes back for what was locked`()
        async throws
    {
        let ground = try await RulesGround()
        let ids = try await enqueue(5, ground)
        let (operations, id) = try await begin(.cancel, nil, ground)
        try await operations.session.script("SET statement_timeout = '5s'")
        let other = ground.database.session("rules-other")
        try await other.script("BEGIN; SELECT FROM errand.jobs WHERE id = \(ids[1]) FOR UPDATE")
        let step = try await operations.step(id, atMost: 3)
        #expect(step.ids.sorted() == [ids[0], ids[2]])
        #expect(!step.isOver)
        #expect(try await operations.one(id)?.skipped == 1)
        try await other.script("COMMIT")
        let again = try await operations.session.transaction { session in
            let row = try session.query(Statements.lockOperation, [.int64(id)])[0]
            return try Operations.again(.init(row), [ids[1]], session)
        }
        #expect(again.ids == [ids[1]])
        _ = try await operations.steps(id, upTo: 100)
        let end = try #require(try await operations.one(id))
        #expect(end.state == .done && end.done == 5 && end.skipped == 0)
        await other.close()
    }

    @Test func `the last one being locked does not keep an operation from its end`()
        async throws
    {
        let ground = try await RulesGround()
        let ids = try await enqueue(2, ground)
        let (operations, id) = try await begin(.cancel, nil, ground)
        let other = ground.database.session("rules-other")
        try await other.script("BEGIN; SELECT FROM errand.jobs WHERE id = \(ids[1]) FOR UPDATE")
        let all = try await operations.steps(id, upTo: 100)
        #expect(all.isOver && all.ids == [ids[0]])
        let end = try #require(try await operations.one(id))
        #expect(end.state == .done && end.skipped == 1)
        await other.close()
    }

    @Test func `the first ones are gathered over as many steps as it takes`() async throws {
        let ground = try await RulesGround()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, _ in throw Failure() }
        _ = try await ground.client().enqueue((0..<6).map { Plain(n: $0) }, .init(maxAttempts: 1))
        #expect(try await TestWorker.drain(kinds).dead == 6)
        let (operations, id) = try await begin(.retry, [.retrying, .dead], ground)
        // The first step walks the live jobs and finds nothing there.
        #expect(try await operations.step(id, atMost: 4).ids.isEmpty)
        let (others, next) = try await begin(.retry, [.retrying, .dead], ground)
        #expect(try await others.steps(next, upTo: 4).ids.count == 4)
        #expect(try await operations.steps(id, upTo: 4).ids.count == 2)
    }
}
