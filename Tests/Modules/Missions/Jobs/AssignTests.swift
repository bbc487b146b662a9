import Foundation
import Errand
import ErrandMissions
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Assigning missions", .database) struct AssignTests {
    @Test func `every slot gets the best shopper, and all of it is noted and told`() async throws {
        let ground = try await MissionJobGround(people: 4, shoppers: 3)
        // Person 3 is nearer than the others, and person 2 works for the chain of branch 2.
        try await ground.session.script(
            """
            SELECT missions.set_shopper(3, -73.599, 45.5);
            SELECT missions.set_shopper(2, works_for => '{3}')
            """)
        let first = try await ground.open(branch: 1)
        let second = try await ground.open(branch: 2, slots: 3)
        // Nobody goes so far.
        _ = try await ground.session.query(
            "UPDATE establishments.branches SET place = st_point(10, 10)::geography WHERE id = 7")
        let far = try await ground.open(branch: 7)
        _ = try await ground.session.query("SELECT errand.enqueue('missions.assign')")
        try await ground.work()
        #expect(
            try await ground.assignments() == [
                "\(first) 3 offered", "\(second) 1 offered", "\(second) 3 offered",
            ])
        #expect(
            try await ground.told().sorted() == [
                "mission.offered 1", "mission.offered 3", "mission.offered 3",
            ])
        #expect(
            try await ground.texts(
                "SELECT coalesce(unfilled_reason, '-') FROM missions.missions ORDER BY id")
                == ["-", "no_candidates", "no_candidates"])
        let run = try await ground.session.query(
            "SELECT missions, slots, shoppers, candidates, offered, is_optimal FROM missions.runs")
        #expect(try (0..<5).map { try run.int32(0, $0) } == [3, 5, 3, 5, 3])
        #expect(try run.bool(0, 5))
        #expect(
            try await ground.number(
                """
                SELECT count(*) FROM missions.runs r WHERE total_score = bound
                  AND total_score = (SELECT sum(score) FROM missions.assignments)
                """) == 1)
        _ = far
        // Nothing is left to be done.
        let again = try #require(try await ground.assign())
        #expect(again.plan.pairs.isEmpty && again.offered.isEmpty)
    }

    @Test func `a slot that was declined is offered to the next best at once`() async throws {
        let ground = try await MissionJobGround(people: 3, shoppers: 2)
        _ = try await ground.session.query("SELECT missions.set_shopper(2, -73.59, 45.5)")
        let mission = try await ground.open(branch: 20)
        try await ground.assign()
        #expect(try await ground.assignments() == ["\(mission) 2 offered"])
        #expect(
            try await ground.texts(
                "SELECT (missions.decline(2, id, 'no time')).reason FROM missions.assignments")
                == ["ok"])
        try await ground.work()
        #expect(
            try await ground.assignments() == ["\(mission) 2 declined", "\(mission) 1 offered"])
        // Who has declined is not asked again, and nobody else is there.
        _ = try await ground.session.query(
            "SELECT missions.decline(1, max(id)) FROM missions.assignments")
        try await ground.work()
        #expect(try await ground.assignments().count == 2)
        #expect(
            try await ground.texts("SELECT unfilled_reason FROM missions.missions")
                == ["no_candidates"])
    }

    @Test func `an urgent mission is assigned when it is opened, a locked one is not`()
        async throws
    {
        let ground = try await MissionJobGround(people: 2, shoppers: 1)
        let calm = try await ground.open(branch: 1)
        let locked = try await ground.open(branch: 3)
        _ = try await ground.session.query("SELECT missions.lock_mission(\(locked), true)")
        let urgent = try await ground.open(branch: 2, isUrgent: true)
        try await ground.work()
        #expect(try await ground.assignments() == ["\(urgent) 1 offered"])
        try await ground.assign()
        #expect(
            try await ground.assignments() == ["\(urgent) 1 offered", "\(calm) 1 offered"])
    }

    @Test func `one at a time: a second one comes back later`() async throws {
        let ground = try await MissionJobGround(people: 2, shoppers: 1)
        _ = try await ground.open()
        try await ground.pool.transaction { transaction in
            try await transaction.query(
                "SELECT is_only FROM missions.assigning FOR UPDATE")
            #expect(try await ground.assign() == nil)
            _ = try await ground.session.query("SELECT errand.enqueue('missions.assign')")
            try await ground.work()
        }
        #expect(try await ground.assignments().isEmpty)
        #expect(
            try await ground.number(
                "SELECT count(*) FROM errand.jobs WHERE kind = 'missions.assign'") == 1)
        #expect(try await ground.assign()?.offered.count == 1)
    }

    @Test func `two assign at once, and no slot is held twice`() async throws {
        let ground = try await MissionJobGround(people: 30, shoppers: 30)
        for branch in 1...15 { _ = try await ground.open(branch: branch, slots: 2) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<6 {
                group.addTask { _ = try await ground.assign() }
            }
            try await group.waitForAll()
        }
        try await ground.assign()
        #expect(try await ground.assignments().count == 30)
    }

    @Test func `what changes between search and offer is refused, and the reason stands there`()
        async throws
    {
        let ground = try await MissionJobGround(people: 3, shoppers: 1)
        let mission = try await ground.open()
        let plan = try await ground.pool.transaction {
            try await Assigner(now: .now()).plan(in: $0)
        }
        #expect(plan.pairs.map(\.shopper) == [1])
        _ = try await ground.session.query("SELECT missions.suspend(1, 'test', 'photos')")
        let rows = try await ground.session.query(
            "SELECT refused FROM missions.offer_many('{\(mission)}', '{1}', '{5}', '{1}')")
        #expect(try rows.text(0, 0) == "not_active")
        #expect(try await ground.assign()?.plan.unfilled.map(\.reason) == ["no_candidates"])
    }

    @Test func `an explanation has the score of the offer, and what forbids another`() async throws
    {
        let ground = try await MissionJobGround(people: 3, shoppers: 2)
        let mission = try await ground.open(branch: 4)
        let now = Instant.now()
        try await ground.session.script(
            """
            SELECT missions.set_shopper(1, expected_pay => 2000);
            UPDATE missions.shoppers SET completed = 3, missed = 1 WHERE person_id = 1;
            SELECT missions.refuse(2, 'test', 'no')
            """)
        let rows = MissionRows(session: ground.session)
        let before = try #require(
            try await rows.explanation(mission: mission, shopper: 1, now: now))
        #expect(before.objections.isEmpty && before.assignment == nil)
        let result = try #require(try await ground.assign(now: now))
        let offered = try #require(result.plan.pairs.first)
        #expect(offered.score == before.score)
        let after = try #require(
            try await rows.explanation(mission: mission, shopper: 1, now: now))
        // What it brings about itself does not speak against it.
        #expect(after.objections.isEmpty)
        #expect(after.assignment?.score == offered.score)
        let refused = try #require(
            try await rows.explanation(mission: mission, shopper: 2, now: now))
        #expect(refused.objections == ["no_slot", "not_active"])
        #expect(try await rows.explanation(mission: mission, shopper: 3, now: now) == nil)
    }

    @Test func `a search ends when its time is up, or nobody waits for it`() async throws {
        var question = AssignmentQuestion()
        question.missions = [
            OpenMission(
                id: 1, branch: 1, firstDay: 1, dueDay: 1, restDays: 0, freeSlots: 1, radius: 1_000,
                pay: 100, hoursLeft: 10)
        ]
        question.shoppers = [7: ShopperFacts(id: 7, radius: 1_000, dailyCapacity: 1)]
        question.candidates = [Candidate(mission: 1, shopper: 7, distance: 5)]
        let asked = question
        let room = SearchRoom()
        let plan = try await room.plan(asked, greedily: false, within: .seconds(60))
        #expect(plan.pairs.count == 1 && !plan.isCutShort)
        let late = try await room.plan(asked, greedily: false, within: .zero)
        #expect(late.isCutShort)
        let cancelled = Task {
            unsafe withUnsafeCurrentTask { task in unsafe task?.cancel() }
            return try await room.plan(asked, greedily: false, within: .seconds(60))
        }
        await #expect(throws: CancellationError.self) { try await cancelled.value }
    }

    @Test func `runs are listed, and forgotten after 90 days`() async throws {
        let ground = try await MissionJobGround(people: 2, shoppers: 1)
        _ = try await ground.open(slots: 2)
        try await ground.assign(now: .now().adding(.seconds(-86_400)))
        try await ground.assign()
        let rows = MissionRows(session: ground.session)
        let runs = try await rows.runs(behind: nil, limit: 10)
        #expect(runs.map(\.offered) == [0, 1] && runs.map(\.slots) == [1, 2])
        #expect(try await rows.runs(behind: runs[0].id, limit: 10).map(\.id) == [runs[1].id])
        _ = try await ground.session.query(
            "UPDATE missions.runs SET started_at = now() - interval '91 days'")
        try await ground.assign()
        #expect(try await rows.runs(behind: nil, limit: 10).count == 1)
    }

    /// The plan and the rules of the database agree: nothing of it is refused.
    @Test func `on random towns every pair of a plan is one that the rules allow`() async throws {
        let ground = try await MissionJobGround(people: 60, shoppers: 60)
        var random = SplitMix(seed: 9)
        for person in 1...60 {
            let (x, y) = (random.number(-90...90), random.number(-90...90))
            try await ground.session.script(
                """
                SELECT missions.set_shopper(\(person), -73.6 + \(x) * 0.001, 45.5 + \(y) * 0.001,
                    \(random.number(2_000...12_000)), \(random.number(1...3)),
                    works_for => '{\(random.number(1...40))}')
                """)
        }
        for round in 0..<6 {
            for _ in 0..<25 {
                _ = try await ground.open(
                    branch: random.number(1...20), slots: random.number(1...3),
                    closing: "\(random.number(2...300)) hours", rest: random.number(0...40))
            }
            let result = try #require(try await ground.assign())
            #expect(result.refused.isEmpty, "\(result.refused)")
            #expect(result.offered == result.plan.pairs)
            #expect(result.plan.totalScore <= result.plan.bound)
            #expect(round > 0 || result.offered.count > 20)
            // Some decline, some go there, some are suspended.
            try await ground.session.script(
                """
                SELECT count(CASE id % 4 WHEN 0 THEN missions.decline(person_id, id)
                    WHEN 3 THEN NULL ELSE missions.accept(person_id, id) END)
                FROM missions.assignments WHERE state = 'offered';
                SELECT missions.suspend(\(round + 1), 'test', 'photos')
                """)
        }
    }
}
