import Foundation
import Glibc
import ErrandPostgres
import ErrandTestServices
import Testing

extension AppCrashTests {
    /// Missions that are assigned, accepted, lapse, are done, reviewed and paid while everything is
    /// killed.
    @Suite("Missions") struct MissionFaultTests {
        private static let shoppers = 60
        private static let branches = 16
        private static let missions = 64

        @Test(.timeLimit(.minutes(5)))
        func `no slot is held twice, no rule is broken and each is paid once, whatever is killed`()
            async throws
        {
            let ground = try CrashGround.here()
            try await fill(ground)
            var worker = try ground.worker(of: "missions:4")
            var kills = 0
            let end = ContinuousClock.now + .seconds(120)
            while ContinuousClock.now < end {
                try await Task.sleep(for: .milliseconds(Int.random(in: 50...900)))
                await live(ground)
                if kills % 4 == 3 { try await CrashServers.here().crashPostgres() }
                worker.signal(SIGKILL)
                _ = try await worker.end(within: .seconds(30))
                kills += 1
                let paid = try? await ground.number(
                    "SELECT count(*) FROM missions.assignments WHERE state = 'paid'")
                if let paid, paid >= Self.missions, kills >= 8 { break }
                try await expectRules(ground)
                worker = try ground.worker(of: "missions:4")
                // The more was killed, the longer the next one lives.
                try await Task.sleep(for: .milliseconds(min(kills * 200, 3_000)))
            }
            // The last one may end its work.
            worker = try ground.worker(of: "missions:4")
            await live(ground)
            try await eventually("the end of all jobs", within: .seconds(60)) {
                if try await ground.number(
                    "SELECT count(*) FROM errand.jobs WHERE run_at <= now()") == 0
                {
                    return true
                }
                await act(ground)
                return false
            }
            try await ground.expectCleanStop(worker)
            try await expectRules(ground)
            let paid = try await expectPaid(ground)
            print("missions: \(Self.missions), \(paid) slots paid, \(kills) kills")
        }

        /// Missions of one slot and of two; whoever was at a branch rests for 30 days.
        private func fill(_ ground: CrashGround) async throws {
            try await ground.session.script(
                """
                UPDATE missions.rules SET offer_for = '2 s', offer_at_least = '2 s',
                    offer_grace = '0 s', rest_days = 30;
                INSERT INTO people.people (id, birth_date, age_verified_at, quiet_from,
                    quiet_until)
                SELECT n, '1990-05-17', now(), NULL, NULL
                FROM generate_series(1, \(Self.shoppers)) n;
                INSERT INTO establishments.establishments (id, name)
                SELECT n, 'Chain ' || n FROM generate_series(1, 4) n;
                INSERT INTO establishments.branches (establishment_id, name, place)
                SELECT 1 + n % 4, 'Branch ' || n,
                    st_setsrid(st_makepoint(-73.6 + n * 0.002, 45.5), 4326)::geography
                FROM generate_series(1, \(Self.branches)) n;
                SELECT count(missions.hire(n, 'test'))
                FROM generate_series(1, \(Self.shoppers)) n;
                SELECT count(missions.set_shopper(n, -73.56 + n % 9 * 0.002, 45.5, 20000, 2,
                    works_for => CASE WHEN n % 5 = 0 THEN '{2}'::bigint[] END))
                FROM generate_series(1, \(Self.shoppers)) n;
                SELECT count(missions.open_mission(1 + n % \(Self.branches), 'Mission ' || n,
                    now() - interval '1 hour', now() + interval '1 day' + n % 4 * interval '1 day',
                    2500, 1500, '[{"kind":"report","title":"How it was"}]', 'UTC',
                    slots => 1 + n % 2, is_urgent => n % 8 = 0))
                FROM generate_series(1, \(Self.missions)) n;
                UPDATE errand.schedules SET paused_at = NULL
                WHERE name IN ('missions.sweep', 'missions.assign')
                """)
        }

        /// What people and operators do, in SQL.
        ///
        /// Some decline, some do not answer, the others go there and are approved. Whatever is cut
        /// off is done the next time.
        private func live(_ ground: CrashGround) async {
            await act(ground)
            for step in [
                "SELECT errand.enqueue('missions.assign', unique_key => 'all')",
                // Their suspension lasts until the next round.
                "SELECT missions.suspend(1 + (random() * 30)::int, 'ann', 'photos')",
                """
                SELECT missions.hire(person_id, 'ann') FROM missions.shoppers
                WHERE state = 'suspended' AND random() < 0.5
                """,
            ] { _ = try? await ground.session.query(step) }
        }

        /// What becomes of offers that are there.
        private func act(_ ground: CrashGround) async {
            for step in [
                """
                SELECT CASE id % 6 WHEN 0 THEN missions.decline(person_id, id)
                    WHEN 1 THEN NULL ELSE missions.accept(person_id, id) END
                FROM missions.assignments WHERE state = 'offered'
                """,
                """
                SELECT missions.arrive(a.person_id, a.id, st_x(b.place::geometry),
                    st_y(b.place::geometry), 10)
                FROM missions.assignments a JOIN establishments.branches b ON b.id = a.branch_id
                WHERE a.state = 'accepted'
                """,
                """
                SELECT missions.finish_step(person_id, id, 1, '{}'),
                    missions.submit(person_id, id, 'r' || returns)
                FROM missions.assignments WHERE state = 'arrived'
                """,
                """
                SELECT CASE WHEN id % 7 = 0 AND returns = 0
                    THEN missions.review(id, 'ann', 'return', 'look again')
                    WHEN id % 11 = 0 THEN missions.review(id, 'ann', 'reject', 'elsewhere')
                    ELSE missions.review(id, 'ann', 'approve') END
                FROM missions.assignments WHERE state = 'submitted'
                """,
            ] { _ = try? await ground.session.query(step) }
        }

        /// By an own reading of the rules: rows that break one.
        private static let broken = [
            "a slot is held twice": """
            SELECT count(*) FROM (SELECT FROM missions.assignments
                WHERE state IN ('offered', 'accepted', 'arrived', 'submitted', 'paid')
                GROUP BY mission_id, slot HAVING count(*) > 1) x
            """,
            "a slot that there is not": """
            SELECT count(*) FROM missions.assignments a JOIN missions.missions m
            ON m.id = a.mission_id WHERE a.slot NOT BETWEEN 1 AND m.slots
            """,
            "more than a day's missions": """
            SELECT count(*) FROM (SELECT FROM missions.assignments
                WHERE state IN ('offered', 'accepted', 'arrived', 'submitted')
                GROUP BY person_id, due_day HAVING count(*) > 2) x
            """,
            "at a branch again, too soon": """
            SELECT count(*) FROM missions.assignments a JOIN missions.assignments b
            ON b.person_id = a.person_id AND b.branch_id = a.branch_id AND b.id > a.id
            WHERE b.state IN ('offered', 'accepted', 'arrived', 'submitted', 'paid')
              AND (a.arrived_at IS NOT NULL
                OR a.state IN ('offered', 'accepted', 'arrived', 'submitted', 'paid'))
            """,
            "where they work": """
            SELECT count(*) FROM missions.assignments a JOIN missions.missions m
            ON m.id = a.mission_id JOIN missions.shoppers s ON s.person_id = a.person_id
            WHERE m.establishment_id = ANY (s.works_for)
            """,
            "sent again after it came to nothing": """
            SELECT count(*) FROM (SELECT FROM missions.assignments
                GROUP BY mission_id, person_id HAVING count(*) > 1) x
            """,
        ]

        private func expectRules(_ ground: CrashGround) async throws {
            for (what, statement) in Self.broken {
                #expect(try await ground.number(statement) == 0, "\(what)")
            }
        }

        /// Each that was approved was paid, once; returns how many.
        private func expectPaid(_ ground: CrashGround) async throws -> Int {
            let paid = try await ground.number(
                "SELECT count(*) FROM missions.assignments WHERE state = 'paid'")
            // The run was worth something.
            #expect(paid > 20)
            #expect(
                try await ground.number(
                    "SELECT count(*) FROM ledger.transactions WHERE kind = 'reward'") == paid)
            #expect(
                try await ground.number(
                    """
                    SELECT count(*) FROM missions.shoppers s WHERE (
                        SELECT coalesce(sum(amount), 0) FROM ledger.reward_balance(s.person_id))
                      <> 1500 * (SELECT count(*) FROM missions.assignments a
                        WHERE a.person_id = s.person_id AND a.state = 'paid')
                    """) == 0)
            #expect(
                try await ground.number(
                    "SELECT sum(completed)::bigint FROM missions.shoppers") == paid)
            #expect(
                try await ground.number(
                    "SELECT count(*) FROM notification.notices WHERE kind = 'mission.paid'")
                    == paid)
            return paid
        }
    }
}
