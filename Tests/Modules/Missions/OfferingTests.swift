import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Missions and offers", .database) struct OfferingTests {
    @Test func `a mission that makes no sense is not opened`() async throws {
        let ground = try await MissionGround(hired: 0)
        let arguments = [
            ("branch", "1"), ("title", "'T'"), ("opens_at", "now()"),
            ("closes_at", "now() + interval '1 day'"), ("paid", "2"), ("pay", "1"),
            ("tasks", "'[{\"kind\": \"report\", \"title\": \"T\"}]'"), ("time_zone", "'UTC'"),
        ]
        func call(_ name: String, _ value: String) -> String {
            var pairs = arguments.filter { $0.0 != name }
            pairs.append((name, value))
            return "SELECT missions.open_mission("
                + pairs.map { "\($0.0) => \($0.1)" }.joined(separator: ", ") + ")"
        }
        #expect(try await ground.refusal(call("slots", "2")) == nil)
        for (name, value, state) in [
            ("branch", "9", "23503"), ("title", "''", "22023"), ("title", "E'a\\nb'", "22023"),
            ("opens_at", "now() + interval '2 days'", "22023"), ("closes_at", "now()", "22023"),
            ("closes_at", "NULL", "22023"), ("paid", "0", "22023"), ("pay", "3", "22023"),
            ("pay", "0", "22023"), ("tasks", "NULL", "22023"), ("tasks", "'[]'", "22023"),
            ("tasks", "'{}'", "22023"), ("tasks", "'[1]'", "22023"),
            ("tasks", "'[{\"kind\": \"dance\", \"title\": \"T\"}]'", "22023"),
            ("tasks", "'[{\"kind\": \"report\"}]'", "22023"),
            ("tasks", "'[{\"kind\": \"report\", \"title\": \"T\", \"is_required\": 1}]'", "22023"),
            ("time_zone", "'Mars/North'", "22023"), ("slots", "0", "22023"),
            ("min_quality", "2", "22023"), ("radius_m", "1", "22023"),
            ("min_age", "15", "22023"), ("rest_days", "-1", "22023"),
            ("is_urgent", "NULL", "22023"), ("currency", "'dollars'", "22023"),
        ] { #expect(try await ground.refusal(call(name, value)) == state, "\(name) \(value)") }
        #expect(try await ground.number("SELECT count(*) FROM missions.missions") == 1)
    }

    @Test func `its days are those of the branch, and midnight ends the day before`() async throws {
        let ground = try await MissionGround(hired: 0)
        try await ground.session.script(
            """
            SELECT missions.open_mission(1, 'T', '2031-03-01 04:59Z', '2031-03-04 05:00Z', 2, 1,
                '[{"kind": "report", "title": "T"}]', 'America/Toronto', rest_days => 10)
            """)
        #expect(
            try await ground.text(
                "SELECT first_day || ' ' || due_day || ' ' || missions.days_of(m) "
                    + "FROM missions.missions m")
                == "2031-02-28 2031-03-03 [2031-02-28,2031-03-13)")
    }

    @Test func `an urgent mission is assigned at once, others are not`() async throws {
        let ground = try await MissionGround(hired: 0)
        let (one, other) = (
            try await ground.open(), try await ground.open(1, "is_urgent => true")
        )
        #expect(try await ground.seeks(one) == 0)
        #expect(try await ground.seeks(other) == 1)
    }

    @Test func `a cancelled mission is taken from all who have not submitted`() async throws {
        let ground = try await MissionGround()
        let mission = try await ground.open(slots: 4)
        let done = try await ground.submitted(mission, 1)
        let (offered, accepted) = (
            try await ground.given(mission, 2), try await ground.given(mission, 3)
        )
        _ = try await ground.accept(3, accepted)
        try await ground.forgetSeeks()
        let cancel = "SELECT missions.cancel_mission(\(mission), 'the branch is closed')"
        #expect(try await ground.text(cancel) == "t")
        #expect(try await ground.text(cancel) == "f")
        #expect(try await ground.state(done) == "submitted")
        #expect(try await ground.told(offered) == ["offered 0", "withdrawn 0"])
        #expect(try await ground.told(accepted) == ["offered 0", "withdrawn 0"])
        #expect(try await ground.seeks(mission) == 0)
        #expect(try await ground.accept(2, offered).reason == "withdrawn")
        #expect(try await ground.objections(mission, 4) == ["closed"])
        #expect(
            try await ground.text("SELECT missions.review(\(done), 'Olga', 'approve')") == "t")
        #expect(try await ground.refusal("SELECT missions.cancel_mission(99, 'x')") == "P0002")
        #expect(try await ground.refusal("SELECT missions.cancel_mission(1, '')") == "22023")
    }

    @Test func `a locked mission is for operators alone`() async throws {
        let ground = try await MissionGround()
        let mission = try await ground.open(slots: 2)
        #expect(try await ground.text("SELECT missions.lock_mission(\(mission), true)") == "t")
        #expect(try await ground.text("SELECT missions.lock_mission(\(mission), true)") == "f")
        #expect(try await ground.objections(mission, 1) == ["locked"])
        #expect(try await ground.candidates(mission) == [])
        #expect(
            try await ground.text(
                "SELECT refused FROM missions.offer_many('{\(mission)}', '{1}', '{1}', '{1}')")
                == "locked")
        let given = try await ground.given(mission, 1, "actor => 'Olga'")
        _ = try await ground.text("SELECT missions.withdraw(\(given), 'Olga', 'x')")
        #expect(try await ground.seeks(mission) == 0)
        #expect(try await ground.text("SELECT missions.lock_mission(\(mission), false)") == "t")
        #expect(try await ground.candidates(mission) == ["2", "3", "4"])
    }

    @Test(
        "each rule has its name",
        arguments: [
            ("closed", "UPDATE missions.missions SET state = 'over'"),
            ("too_late", "UPDATE missions.rules SET lead = '4 days'"),
            (
                "no_slot",
                """
                INSERT INTO missions.assignments (mission_id, person_id, branch_id, offered_at,
                    answer_by, due_at, due_day, barred, slot)
                SELECT 1, 2, 1, now(), now(), now(), now(), 'empty', 1
                """
            ),
            ("not_active", "SELECT missions.refuse(1, 'Olga')"),
            (
                "flagged", "INSERT INTO missions.flags (person_id, reason) VALUES (1, 'x')"
            ),
            ("away", "SELECT missions.set_shopper(1, away_until => now() + interval '1 hour')"),
            ("too_young", "UPDATE people.people SET age_verified_at = NULL"),
            ("too_young", "UPDATE people.people SET birth_date = NULL"),
            ("too_young", "UPDATE missions.missions SET min_age = 99"),
            ("no_home", "UPDATE missions.shoppers SET home = NULL"),
            ("quality", "UPDATE missions.missions SET min_quality = 0.1"),
            ("too_far", "SELECT missions.set_shopper(1, radius_m => 1000)"),
            ("too_far", "UPDATE missions.missions SET radius_m = 1000"),
            ("works_there", "SELECT missions.set_shopper(1, works_for => '{2,1}')"),
            (
                "rested",
                """
                SELECT missions.give(missions.open_mission(1, 'T', now() + interval '1 day',
                    now() + interval '9 days', 2, 1, '[{"kind": "report", "title": "T"}]', 'UTC'),
                    1, 1, 1, now(), NULL, false)
                """
            ),
            (
                "capacity",
                """
                UPDATE missions.shoppers SET daily_capacity = 1;
                SELECT missions.give(missions.open_mission(3, 'T', now(), m.closes_at, 2, 1,
                    '[{"kind": "report", "title": "T"}]', 'America/Toronto'), 1, 1, 1, now(), NULL,
                    false) FROM missions.missions m
                """
            ),
        ])
    func rules(code: String, change: String) async throws {
        let ground = try await MissionGround()
        let mission = try await ground.open()
        #expect(try await ground.objections(mission, 1) == [])
        #expect(try await ground.candidates(mission).contains("1"))
        try await ground.session.script(change)
        #expect(try await ground.objections(mission, 1) == [code])
        #expect(try await ground.candidates(mission).contains("1") == false)
        // Operators know what can still be done in an hour.
        #expect(try await ground.offer(mission, 1).refused == (code == "too_late" ? [] : [code]))
    }

    @Test func `who was sent before is not sent again, but by force`() async throws {
        let ground = try await MissionGround()
        let mission = try await ground.open()
        let first = try await ground.given(mission, 1)
        #expect(try await ground.objections(mission, 1) == ["no_slot", "holds_already", "rested"])
        #expect(try await ground.answer("decline(1, \(first))").reason == "ok")
        #expect(try await ground.objections(mission, 1) == ["declined_before"])
        #expect(try await ground.candidates(mission) == ["2", "3", "4"])
        #expect(try await ground.offer(mission, 1).refused == ["declined_before"])
        try await ground.session.script(
            """
            UPDATE missions.missions SET min_quality = 0.5;
            SELECT missions.set_shopper(1, radius_m => 500)
            """)
        let all = ["quality", "too_far", "declined_before"]
        #expect(try await ground.objections(mission, 1) == all)
        let second = try await ground.given(mission, 1, "is_forced => true, is_accepted => true")
        #expect(try await ground.state(second) == "accepted")
        #expect(try await ground.offer(99, 1).refused == ["unknown"])
        #expect(try await ground.offer(mission, 9, "is_forced => true").refused != [])
    }

    @Test func `an offer waits for a quarter of what is left, within bounds`() async throws {
        let ground = try await MissionGround()
        // closes_at is in three days.
        for (left, waits) in [
            ("3 days", "18:00:00"), ("9 days", "1 day"), ("30 minutes", "00:15:00"),
            ("10 minutes", "00:10:00"),
        ] {
            let mission = try await ground.open()
            let at =
                "(SELECT closes_at - interval '\(left)' FROM missions.missions "
                + "WHERE id = \(mission))"
            _ = try await ground.session.query(
                "SELECT missions.give(\(mission), 1, 1, 1, \(at), NULL, false)")
            #expect(
                try await ground.text(
                    "SELECT (answer_by - offered_at)::text FROM missions.assignments "
                        + "WHERE mission_id = \(mission)") == waits)
            try await ground.force("UPDATE missions.assignments SET barred = 'empty'")
        }
    }

    @Test func `what somebody holds is refused as busy, and the rest is offered`() async throws {
        let ground = try await MissionGround()
        let (one, other) = (try await ground.open(slots: 2), try await ground.open(3))
        let rows = try await ground.pool.transaction { transaction in
            try await transaction.query(
                "SELECT FROM missions.missions WHERE id = $1 FOR NO KEY UPDATE", [.int64(other)])
            try await transaction.query(
                "SELECT FROM missions.shoppers WHERE person_id = 2 FOR NO KEY UPDATE")
            return try await ground.texts(
                """
                SELECT coalesce(refused, '-') FROM missions.offer_many(
                    ARRAY[\(one), \(other), \(one), 99], '{1,1,2,1}', '{1,2,3,4}', '{1,2,3,4}')
                ORDER BY place
                """)
        }
        #expect(rows == ["-", "busy", "busy", "unknown"])
    }

    @Test func `of many offers each is refused by itself`() async throws {
        let ground = try await MissionGround()
        let (one, other) = (try await ground.open(slots: 2), try await ground.open(3))
        let rows = try await ground.texts(
            """
            SELECT place || ' ' || (assignment_id IS NOT NULL) || ' ' || coalesce(refused, '-')
            FROM missions.offer_many(ARRAY[\(one), \(one), \(one), 99, \(other), \(other), \(one)],
                '{1,1,2,1,1,77,3}', '{1,2,3,4,5,6,7}', '{1,2,3,4,5,6,7}') ORDER BY place
            """)
        #expect(
            rows == [
                "1 true -", "2 false holds_already", "3 true -", "4 false unknown", "5 true -",
                "6 false no_slot", "7 false no_slot",
            ])
        #expect(
            try await ground.texts(
                """
                SELECT person_id || ' ' || slot || ' ' || score || ' ' || distance_m
                FROM missions.assignments ORDER BY id
                """) == ["1 1 1 1", "2 2 3 3", "1 1 5 5"])
        let refusal = try await ground.refusal(
            "SELECT missions.offer_many('{1}', '{1,2}', '{1}', '{1}')")
        #expect(refusal == "22023")
    }

    @Test func `candidates are those to whom there is no objection, the nearest first`()
        async throws
    {
        let ground = try await MissionGround(people: 120, hired: 0)
        try await ground.session.script(
            """
            SELECT setseed(0.4);
            INSERT INTO missions.shoppers (person_id, state_since, state, reviewed, good, quality,
                radius_m, daily_capacity, home, works_for, away_until)
            SELECT n, now(), CASE WHEN random() < 0.85 THEN 'active' ELSE 'suspended'
                END::missions.shopper_state, 9, 9, random(), 500 + random() * 9000, 1,
                CASE WHEN random() < 0.95 THEN missions.point(-73.5 + random() / 9,
                    45.5 + random() / 9) END,
                CASE WHEN random() < 0.1 THEN '{1}' ELSE '{}' END::bigint[],
                CASE WHEN random() < 0.1 THEN now() + (random() - 0.5) * interval '1 day' END
            FROM generate_series(1, 120) n;
            UPDATE people.people SET age_verified_at = NULL WHERE id % 17 = 0;
            UPDATE people.people SET birth_date = current_date - 6900 WHERE id % 11 = 0;
            INSERT INTO missions.flags (person_id, reason, cleared_at)
            SELECT n, 'x', CASE WHEN n % 2 = 0 THEN now() END FROM generate_series(5, 120, 10) n;
            SELECT missions.open_mission(1 + n % 3, 'T', now() + n * interval '5 days',
                now() + n * interval '6 days', 2, 1, '[{"kind": "report", "title": "T"}]', 'UTC',
                slots => 5, min_quality => (random() / 2)::real,
                radius_m => (2000 + random() * 20000)::real,
                min_age => CASE WHEN n % 4 = 0 THEN 19 END, rest_days => n % 7)
            FROM generate_series(1, 24) n;
            SELECT missions.lock_mission(5, true); SELECT missions.cancel_mission(6, 'x');
            UPDATE missions.rules SET candidates = 7;
            """)
        let count = try await ground.number(
            """
            SELECT count(o.assignment_id) FROM generate_series(1, 24) m,
                generate_series(1, 120) p, missions.offer(m, p) o WHERE (m * 31 + p * 17) % 5 = 0
            """)
        #expect(count > 15)
        _ = try await ground.session.query(
            "SELECT missions.withdraw(id, 'Olga', 'x') FROM missions.assignments WHERE id % 3 = 0")
        for most in [7, 1000] {
            try await ground.session.script("UPDATE missions.rules SET candidates = \(most)")
            let expected = """
                SELECT m.id AS mission, s.person_id AS person FROM missions.missions m
                CROSS JOIN LATERAL (
                    SELECT s.person_id FROM missions.shoppers s
                    WHERE missions.objections(m.id, s.person_id) = '{}'
                    ORDER BY missions.way(s.home, m.place), s.person_id LIMIT \(most)
                ) s
                """
            let found = """
                SELECT mission_id, person_id
                FROM missions.candidates(ARRAY(SELECT id FROM missions.missions))
                """
            let wrong = try await ground.number(
                """
                SELECT count(*) FROM ((\(expected)) EXCEPT (\(found))
                    UNION ALL ((\(found)) EXCEPT (\(expected)))) w
                """)
            #expect(wrong == 0)
            #expect(try await ground.number("SELECT count(*) FROM (\(found)) f") > 60)
        }
        #expect(
            try await ground.number(
                """
                SELECT count(*) FROM missions.candidates('{1,2,3}') c
                JOIN missions.missions m ON m.id = c.mission_id
                JOIN missions.shoppers s USING (person_id)
                WHERE abs(c.distance_m - missions.distance(s.home, m.place)) > 0.006 * c.distance_m
                """) == 0)
    }
}
