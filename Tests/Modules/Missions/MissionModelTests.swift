import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

/// Several connections do whatever comes to them; afterwards the tables are looked at by queries
/// that know the rules and none of the functions.
@Suite("Missions in a long disorder", .database) struct MissionModelTests {
    private static let people: Int64 = 24

    /// Writes down how each shopper stood when they were sent.
    private static let watch = """
        CREATE TABLE public.sent (assignment bigint, state text, is_flagged boolean, held bigint,
            capacity bigint, is_open boolean);
        CREATE FUNCTION public.note_sent() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO public.sent SELECT NEW.id, s.state, EXISTS (SELECT FROM missions.flags f
                    WHERE f.person_id = NEW.person_id AND f.cleared_at IS NULL),
                (SELECT count(*) FROM missions.assignments a WHERE a.person_id = NEW.person_id
                    AND a.due_day = NEW.due_day AND a.ended_at IS NULL),
                s.daily_capacity, m.state = 'open' AND m.closes_at > clock_timestamp()
            FROM missions.shoppers s, missions.missions m
            WHERE s.person_id = NEW.person_id AND m.id = NEW.mission_id;
            RETURN NULL;
        END $$;
        CREATE TRIGGER noted AFTER INSERT ON missions.assignments
            FOR EACH ROW EXECUTE FUNCTION public.note_sent()
        """

    /// A call for one of the assignments in some states.
    private func some(_ states: String, _ call: String, _ random: inout SplitMix) -> String {
        """
        SELECT (missions.\(call))::text FROM (SELECT a.id, a.person_id FROM missions.assignments a
            WHERE a.state = ANY ('{\(states)}')
            ORDER BY md5(a.id || '\(random.next())') LIMIT 1) a
        """
    }

    /// What one connection does next.
    private func step(_ random: inout SplitMix) -> String {
        let person = random.number(1...Self.people)
        let mission = random.number(1...30 as ClosedRange<Int64>)
        switch random.number(0...53) {
        case 0...5: return "SELECT missions.offer(\(mission), \(person))"
        case 6...8:
            let pairs = (0..<5).map { _ in
                (random.number(1...30), random.number(1...Self.people))
            }
            let missions = pairs.map { "\($0.0)" }.joined(separator: ",")
            let persons = pairs.map { "\($0.1)" }.joined(separator: ",")
            return "SELECT missions.offer_many('{\(missions)}', '{\(persons)}', "
                + "'{1,1,1,1,1}', '{1,1,1,1,1}')"
        case 9...14: return some("offered,accepted", "accept(a.person_id, a.id)", &random)
        case 15: return some("offered,accepted,arrived", "decline(a.person_id, a.id)", &random)
        case 16...21:
            return some("accepted,arrived", "arrive(a.person_id, a.id, -73.5, 45.5, 5)", &random)
        case 22...33:
            let number = [1, 1, 3, 3, 4][random.number(0...4)]
            return some(
                "arrived", "finish_step(a.person_id, a.id, \(number), '{}')", &random)
        case 34...39: return some("arrived", "submit(a.person_id, a.id, 'r')", &random)
        case 40...44: return some("submitted,paid", "review(a.id, 'Olga', 'approve')", &random)
        case 45, 46:
            let verdict = random.number(0...1) == 0 ? "reject" : "return"
            return some("submitted", "review(a.id, 'Olga', '\(verdict)', 'x')", &random)
        case 47: return some("offered,accepted,arrived", "withdraw(a.id, 'Olga', 'x')", &random)
        case 48:
            return ["suspend", "hire", "hire"][random.number(0...2)].asCall(person)
        case 49:
            return random.number(0...1) == 0
                ? "SELECT missions.raise_flag(\(person), 'x')"
                : "SELECT missions.clear_flag(f.id) FROM missions.flags f "
                    + "WHERE f.person_id = \(person)"
        case 50:
            return "SELECT missions.leave(\(person)); SELECT missions.come_back(\(person)); "
                + "SELECT missions.hire(\(person), 'Olga')"
        case 51:
            return "UPDATE missions.assignments SET answer_by = now() - interval '2 minutes' "
                + "WHERE id IN (SELECT id FROM missions.assignments WHERE id % 13 = \(person % 13) "
                + "AND state = 'offered' FOR UPDATE SKIP LOCKED); SELECT missions.lapse()"
        case 52:
            return "UPDATE missions.assignments SET due_at = now() WHERE id IN (SELECT id "
                + "FROM missions.assignments WHERE id % 13 = \(person % 13) AND state IN "
                + "('accepted', 'arrived') FOR UPDATE SKIP LOCKED); SELECT missions.miss()"
        default:
            return [
                "SELECT missions.recall()", "SELECT missions.remind()",
                "SELECT missions.cancel_mission(\(mission), 'x')",
                "SELECT missions.lock_mission(\(mission), random() < 0.3)",
                "SELECT missions.assess(ARRAY(SELECT generate_series(1, 24)))",
            ][random.number(0...4)]
        }
    }

    @Test("no hard rule is ever broken", arguments: [1, 2, 3] as [UInt64])
    func disorder(seed: UInt64) async throws {
        let ground = try await MissionGround(people: Int(Self.people), hired: Int(Self.people))
        try await ground.session.script(Self.watch)
        var random = SplitMix(seed: seed)
        for _ in 1...30 {
            let rest = random.number(0...1) * 30
            _ = try await ground.session.query(
                """
                SELECT missions.open_mission(\(random.number(1...3)), 'T',
                    now() - interval '1 hour',
                    now() + interval '\(random.number(1...4)) days', 3000, 2000,
                    '[{"kind": "photos", "title": "P"}, {"kind": "video", "title": "V",
                        "is_required": false}, {"kind": "survey", "title": "S"},
                        {"kind": "report", "title": "R"}]', 'America/Toronto',
                    slots => \(random.number(1...3)), rest_days => \(rest))
                """)
        }
        // Branches are 1.2 km apart and all count as the same place.
        try await ground.session.script("UPDATE missions.rules SET arrival_m = 5000")
        let seeds = (0..<6).map { _ in random.next() }
        let failures = Notebook<String>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for seed in seeds {
                group.addTask {
                    var random = SplitMix(seed: seed)
                    try await ground.pool.withSession { session in
                        for _ in 1...150 {
                            let call = step(&random)
                            do throws(PostgresError) { try await session.script(call) } catch {
                                // What cannot be by now is refused; nothing else may happen.
                                if error.sqlState != "RU001" {
                                    failures.add("\(error.sqlState ?? "?") \(call) \(error)")
                                }
                            }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(failures.all == [])
        try await check(ground)
    }

    private func check(_ ground: MissionGround) async throws {
        for (rule, query) in Self.rules {
            let broken = try await ground.number("SELECT count(*) FROM (\(query)) broken")
            #expect(broken == 0, "\(rule)")
        }
        // The run was worth something.
        for state in ["paid", "declined", "lapsed", "withdrawn", "missed"] {
            let count = try await ground.number(
                "SELECT count(*) FROM missions.assignments WHERE state = '\(state)'")
            #expect(count > 0, "\(state)")
        }
    }

    /// What must not be, and queries that find it.
    private static let rules = [
        (
            "two at one slot",
            """
            SELECT FROM missions.assignments WHERE state IN ('offered', 'accepted', 'arrived',
                'submitted', 'paid') GROUP BY mission_id, slot HAVING count(*) > 1
            """
        ),
        (
            "more than the slots",
            """
            SELECT FROM missions.missions m WHERE slots < (SELECT count(*)
                FROM missions.assignments a WHERE a.mission_id = m.id AND (ended_at IS NULL
                    OR payment_id IS NOT NULL))
            """
        ),
        (
            "sent to a branch twice",
            """
            SELECT FROM missions.assignments a JOIN missions.assignments b
                ON a.person_id = b.person_id AND a.branch_id = b.branch_id AND a.id < b.id
            WHERE (a.arrived_at IS NOT NULL OR a.ended_at IS NULL)
              AND (b.arrived_at IS NOT NULL OR b.ended_at IS NULL)
            """
        ),
        (
            "sent again by the schedule",
            """
            SELECT FROM missions.assignments GROUP BY mission_id, person_id HAVING count(*) > 1
            """
        ),
        (
            "sent when they might not be",
            """
            SELECT FROM public.sent WHERE state <> 'active' OR is_flagged OR NOT is_open
                OR held > capacity
            """
        ),
        (
            "paid otherwise than once",
            """
            SELECT FROM missions.assignments a WHERE (a.state = 'paid')::int <> (SELECT count(*)
                FROM ledger.transactions t WHERE t.source = 'mission:' || mission_id || ':' || a.id)
            """
        ),
        (
            "money from nowhere",
            """
            SELECT FROM missions.shoppers s WHERE 2000 * (
                SELECT count(*) FROM missions.assignments a
                WHERE a.person_id = s.person_id AND a.state = 'paid'
            ) <> (SELECT coalesce(sum(amount), 0) FROM ledger.reward_balance(s.person_id))
            """
        ),
        (
            "counted wrongly",
            """
            SELECT FROM missions.shoppers s WHERE (completed, missed) <> (SELECT
                count(*) FILTER (WHERE state = 'paid'), count(*) FILTER (WHERE state = 'missed')
                FROM missions.assignments a WHERE a.person_id = s.person_id)
            """
        ),
        (
            "reviewed otherwise than decided",
            """
            SELECT FROM missions.assignments a FULL JOIN missions.reviews r
                ON r.source = 'mission:' || a.id
            WHERE (a.state = 'paid') IS DISTINCT FROM coalesce(r.is_good, false)
              OR (a.state = 'rejected') IS DISTINCT FROM coalesce(NOT r.is_good, false)
            """
        ),
        (
            "submitted and not done",
            """
            SELECT FROM missions.assignments a JOIN missions.tasks t USING (mission_id)
            LEFT JOIN missions.steps s ON s.assignment_id = a.id AND s.number = t.number
            WHERE a.state IN ('submitted', 'paid', 'rejected') AND t.is_required AND s IS NULL
            """
        ),
        (
            "out of order",
            """
            SELECT FROM missions.assignments WHERE offered_at > accepted_at
                OR accepted_at > arrived_at OR arrived_at > submitted_at OR submitted_at > ended_at
                OR offered_at > ended_at OR accepted_at > ended_at OR arrived_at > ended_at
            """
        ),
        (
            "held at a mission that was cancelled",
            """
            SELECT FROM missions.assignments a JOIN missions.missions m ON m.id = a.mission_id
            WHERE m.state = 'cancelled' AND a.state IN ('offered', 'accepted', 'arrived')
              -- What was submitted before may be given back.
              AND a.returns = 0
            """
        ),
        (
            "free, and nobody is sought",
            """
            SELECT FROM missions.missions m WHERE state = 'open' AND NOT is_locked
              AND slots > (SELECT count(*) FROM missions.assignments a
                WHERE a.mission_id = m.id AND (ended_at IS NULL OR payment_id IS NOT NULL))
              AND EXISTS (SELECT FROM missions.assignments a WHERE a.mission_id = m.id
                AND ended_at IS NOT NULL AND payment_id IS NULL)
              AND NOT EXISTS (SELECT FROM errand.jobs j WHERE j.kind = 'missions.assign'
                AND j.args = jsonb_build_object('mission_id', m.id))
            """
        ),
        (
            "told otherwise than it is",
            """
            SELECT FROM missions.assignments a CROSS JOIN LATERAL (
                SELECT count(*) FILTER (WHERE e = 'offered') AS offered,
                    count(*) FILTER (WHERE e = 'paid') AS paid,
                    count(*) FILTER (WHERE e = 'rejected') AS rejected,
                    count(*) FILTER (WHERE e = 'missed') AS missed,
                    count(*) FILTER (WHERE e = 'returned') AS returned
                FROM (SELECT args ->> 'event' AS e FROM errand.jobs j
                    WHERE j.kind = 'missions.notify' AND args ->> 'assignment_id' = a.id::text) j
            ) t
            WHERE t.offered <> 1 OR t.paid <> (a.state = 'paid')::int
              OR t.rejected <> (a.state = 'rejected')::int OR t.missed <> (a.state = 'missed')::int
              OR t.returned <> a.returns
            """
        ),
    ]
}

extension String {
    fileprivate func asCall(_ person: Int64) -> String {
        "SELECT missions.\(self)(\(person), 'Olga')"
    }
}
