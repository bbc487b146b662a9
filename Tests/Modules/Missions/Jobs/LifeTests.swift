import Foundation
import Errand
import ErrandMissions
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("The jobs of missions", .database) struct LifeTests {
    // MARK: Hiring

    /// Reviews of the last days: so many of each person, of which so many are bad.
    private func review(
        _ ground: MissionJobGround, _ people: ClosedRange<Int>, good: Int, bad: Int
    ) async throws {
        try await ground.session.script(
            """
            INSERT INTO missions.reviews (person_id, reviewed_at, is_good, source)
            SELECT p, now() - n * interval '1 hour', n > \(bad), 'survey:' || n
            FROM generate_series(\(people.lowerBound), \(people.upperBound)) p,
                generate_series(1, \(good + bad)) n
            """)
    }

    private func states(_ ground: MissionJobGround) async throws -> [String] {
        try await ground.texts(
            "SELECT state || ' ' || count(*) FROM missions.shoppers GROUP BY state ORDER BY 1")
    }

    @Test func `the rules name candidates, page by page, and an operator hires`() async throws {
        let ground = try await MissionJobGround(people: 1_300)
        try await review(ground, 1...1_200, good: 20, bad: 0)
        try await review(ground, 1_201...1_250, good: 5, bad: 15)
        let now = Instant.now()
        #expect(try await HireShoppers.assess(in: ground.pool, now: now) == ["candidate": 1_200])
        #expect(try await HireShoppers.assess(in: ground.pool, now: now) == [:])
        #expect(try await states(ground) == ["candidate 1200"])
        #expect(try await ground.told().isEmpty)
        _ = try await ground.session.query("SELECT missions.hire(7, 'ann')")
        try await ground.work()
        #expect(try await ground.told() == ["mission.hired 7"])
    }

    @Test func `quality that drops suspends, with a reason that the person reads`() async throws {
        let ground = try await MissionJobGround(people: 3)
        _ = try await ground.session.query("UPDATE missions.rules SET is_automatic = true")
        try await review(ground, 1...2, good: 20, bad: 0)
        _ = try await ground.session.query("SELECT errand.enqueue('missions.hire')")
        try await ground.work()
        #expect(try await states(ground) == ["active 2"])
        try await ground.session.script(
            """
            INSERT INTO missions.reviews (person_id, reviewed_at, is_good, source)
            SELECT 2, now(), false, 'survey:bad' || n FROM generate_series(1, 20) n;
            SELECT errand.enqueue('missions.hire')
            """)
        try await ground.work()
        #expect(try await states(ground) == ["active 1", "suspended 1"])
        #expect(
            try await ground.told().sorted() == [
                "mission.hired 1", "mission.hired 2", "mission.suspended 2",
            ])
        let words = try await ground.texts(
            """
            SELECT i.body FROM notification.inbox_items i
            JOIN notification.notices n ON n.id = i.notice_id WHERE n.kind = 'mission.suspended'
            """)
        #expect(words.first?.contains("20 of 40 answers were good") == true, "\(words)")
    }

    // MARK: Sweeping

    @Test func `offers lapse and go to others, what was accepted is reminded of and missed`()
        async throws
    {
        let ground = try await MissionJobGround(people: 3, shoppers: 2)
        let mission = try await ground.open(branch: 1)
        try await ground.assign()
        try await ground.work()
        let first = try await ground.number("SELECT person_id FROM missions.assignments")
        #expect(try await ground.sweep(in: 1) == [:])
        #expect(try await ground.sweep(in: 20) == ["lapse": 1])
        try await ground.work()
        let second = 3 - first
        #expect(
            try await ground.assignments() == [
                "\(mission) \(first) lapsed", "\(mission) \(second) offered",
            ])
        _ = try await ground.session.query(
            "SELECT missions.accept(\(second), max(id)) FROM missions.assignments")
        // 72 hours: reminded 24 and 3 hours before, each once.
        #expect(try await ground.sweep(in: 40) == [:])
        #expect(try await ground.sweep(in: 50) == ["remind": 1])
        #expect(try await ground.sweep(in: 51) == [:])
        #expect(try await ground.sweep(in: 70) == ["remind": 1])
        try await ground.work()
        #expect(try await ground.sweep(in: 73) == ["miss": 1, "end_missions": 1])
        try await ground.work()
        #expect(try await ground.assignments().last == "\(mission) \(second) missed")
        #expect(
            try await ground.told() == [
                "mission.offered \(first)", "mission.offered \(second)",
                "mission.due_soon \(second)", "mission.due_soon \(second)",
                "mission.missed \(second)",
            ])
        #expect(
            try await ground.number(
                "SELECT missed FROM missions.shoppers WHERE person_id = \(second)") == 1)
        #expect(try await ground.texts("SELECT state::text FROM missions.missions") == ["over"])
    }

    // MARK: Telling

    @Test func `a mission is given back, completed and paid, and each of it is told`() async throws
    {
        let ground = try await MissionJobGround(people: 2, shoppers: 1)
        _ = try await ground.open(branch: 1)
        try await ground.assign()
        try await ground.perform(1)
        try await ground.work()
        _ = try await ground.session.query(
            "SELECT missions.review(1, 'ann', 'return', 'the receipt cannot be read')")
        try await ground.work()
        try await ground.session.script(
            """
            SELECT missions.submit(1, 1, 's');
            SELECT missions.review(1, 'ann', 'approve')
            """)
        try await ground.work()
        #expect(
            try await ground.told() == [
                "mission.returned 1", "mission.paid 1",
            ])
        #expect(
            try await ground.number("SELECT amount FROM ledger.reward_balance(1)") == 1_500)
        let words = try await ground.texts(
            """
            SELECT i.title || ': ' || i.body FROM notification.inbox_items i ORDER BY i.number
            """)
        #expect(words.first?.contains("the receipt cannot be read") == true, "\(words)")
        #expect(words.last?.hasPrefix("CA$15.00 for Ask about size") == true, "\(words)")
    }

    @Test func `what is no longer so is not told, and nothing is told twice`() async throws {
        let ground = try await MissionJobGround(people: 2, shoppers: 1)
        let mission = try await ground.open(branch: 1)
        try await ground.assign()
        _ = try await ground.session.query(
            "SELECT missions.withdraw(1, 'ann', 'the shop is shut')")
        try await ground.work()
        #expect(try await ground.told() == ["mission.withdrawn 1"])
        for event in NotifyOfMissions.Event.allCases {
            try await ground.session.script(
                """
                SELECT errand.enqueue('missions.notify',
                    '{"assignment_id": 1, "event": "\(event.rawValue)", "step": 0}');
                SELECT errand.enqueue('missions.notify',
                    '{"assignment_id": 99, "event": "\(event.rawValue)", "step": 0}')
                """)
        }
        try await ground.work()
        #expect(try await ground.told() == ["mission.withdrawn 1"])
        #expect(
            try await ground.number(
                "SELECT count(*) FROM errand.jobs WHERE kind = 'missions.notify'") == 0)
        _ = mission
    }

    @Test func `those of a cancelled mission, and who is rejected, are told why`() async throws {
        let ground = try await MissionJobGround(people: 3, shoppers: 2)
        let first = try await ground.open(branch: 1)
        let second = try await ground.open(branch: 2)
        try await ground.session.script(
            """
            SELECT missions.offer(\(first), 1, actor => 'ann', is_accepted => true);
            SELECT missions.offer(\(second), 2)
            """)
        try await ground.work()
        try await ground.perform(2)
        try await ground.session.script(
            """
            SELECT missions.cancel_mission(\(first), 'the shop has closed');
            SELECT missions.review(2, 'ann', 'reject', 'another shop')
            """)
        try await ground.work()
        // The slot of who was rejected is free again, and goes to the other.
        #expect(
            try await ground.told().sorted() == [
                "mission.agreed 1", "mission.offered 1", "mission.offered 2", "mission.rejected 2",
                "mission.withdrawn 1",
            ])
    }

    @Test func `who waits with an answer is told, and whoever is dismissed, once`() async throws {
        let ground = try await MissionJobGround(people: 3, shoppers: 2)
        let mission = try await ground.open(branch: 1)
        _ = try await ground.session.query("SELECT missions.offer(\(mission), 1)")
        try await ground.work()
        #expect(try await ground.sweep(in: 14) == ["remind": 1])
        try await ground.work()
        // Told when it is behind: of two suspensions the one that holds.
        try await ground.session.script(
            """
            SELECT missions.suspend(2, 'ann', 'first');
            SELECT missions.hire(2, 'ann');
            SELECT missions.suspend(2, 'ann', 'second');
            """)
        try await ground.work()
        try await ground.session.script(
            """
            SELECT missions.refuse(2, 'ann', 'too many complaints');
            INSERT INTO missions.shoppers (person_id, state_since, state, reviewed, good, quality)
            VALUES (3, now(), 'candidate', 0, 0, 0);
            SELECT missions.refuse(3, 'ann', 'no')
            """)
        try await ground.work()
        #expect(
            try await ground.told() == [
                "mission.offered 1", "mission.waiting 1", "mission.suspended 2",
                "mission.dismissed 2",
            ])
        let words = try await ground.texts(
            "SELECT title || ': ' || body FROM notification.inbox_items ORDER BY number")
        #expect(words[2].contains("second"), "\(words)")
        #expect(words[3].contains("too many complaints"), "\(words)")
    }
}
