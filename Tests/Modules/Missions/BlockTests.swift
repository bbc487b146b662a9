import ErrandPostgres
import ErrandTestServices
import Testing

/// Missions of people who are under 16, blocked or erased.
///
/// "Nobody can be erased as a whole"; "open offers withdrawn"; "blocked people are not matched,
/// offered or hired".
@Suite("Blocked and erased shoppers", .database) struct BlockTests {
    private func faults(_ ground: MissionGround) async throws -> [String] {
        // Every account has the sum of its postings, and every transaction sums to zero.
        try await ground.texts(
            """
            SELECT b.account_id FROM ledger.balances b GROUP BY b.account_id
            HAVING sum(b.amount) <> (SELECT coalesce(sum(p.amount), 0) FROM ledger.postings p
                WHERE p.account_id = b.account_id)
            UNION ALL
            SELECT p.transaction_id FROM ledger.postings p GROUP BY 1 HAVING sum(p.amount) <> 0
            """)
    }

    @Test(arguments: ["request", "age"])
    func `offers and what is accepted are withdrawn, what has begun stays`(cause: String)
        async throws
    {
        let ground = try await MissionGround()
        try await ground.session.script("UPDATE missions.shoppers SET daily_capacity = 9")
        let offered = try await ground.given(try await ground.open(1), 1)
        let accepted = try await ground.given(try await ground.open(2), 1)
        _ = try await ground.accept(1, accepted)
        let arrived = try await ground.given(try await ground.open(3), 1)
        _ = try await ground.accept(1, arrived)
        #expect(try await ground.answer("arrive(1, \(arrived), -73.5, 45.501, 10)").reason == "ok")
        let other = try await ground.given(try await ground.open(3), 2)
        let calls = try await ground.number(
            "SELECT count(*) FROM errand.jobs WHERE kind = 'missions.notify'")

        if cause == "request" {
            _ = try await ground.session.query("SELECT people.request_erasure(1, 'r1')")
        } else {
            _ = try await ground.session.query(
                "SELECT people.put_person(1, jsonb_build_object('birth_date', current_date - 5000))"
            )
        }
        #expect(try await ground.state(offered) == "withdrawn")
        #expect(try await ground.state(accepted) == "withdrawn")
        #expect(try await ground.state(arrived) == "arrived")
        #expect(try await ground.state(other) == "offered")
        #expect(
            try await ground.number(
                "SELECT count(*) FROM errand.jobs WHERE kind = 'missions.notify'") == calls)
        // The slots are free again.
        let free = try await ground.open(1)
        #expect(try await ground.candidates(free) == ["2", "3", "4"])
        #expect(try await ground.objections(free, 1).contains("blocked"))
        #expect(try await ground.offer(free, 1, "is_forced => true").refused.contains("blocked"))
        for call in [
            "hire(1, 'Olga')", "set_shopper(1, -73.5, 45.5)", "come_back(1)",
            "record_review(1, 'survey:1', true)",
        ] {
            #expect(try await ground.refusal("SELECT missions.\(call)") == "RU001", "\(call)")
        }
        #expect(try await ground.texts("SELECT person FROM missions.assess('{1}')") == ["1"])
        #expect(try await ground.standing(1).hasPrefix("suspended: the age"))
    }

    @Test func `a submission of a blocked person is not paid, and may be rejected`() async throws {
        let ground = try await MissionGround()
        let id = try await ground.submitted(try await ground.open(), 1)
        try await ground.session.script("UPDATE people.people SET blocked_at = now() WHERE id = 1")
        #expect(
            try await ground.refusal("SELECT missions.review(\(id), 'Olga', 'approve')") == "RU001")
        #expect(try await ground.state(id) == "submitted")
        #expect(try await ground.texts("SELECT amount FROM ledger.reward_balance(1)") == [])
        #expect(
            try await ground.text("SELECT missions.review(\(id), 'Olga', 'reject', 'left')") == "t")
    }

    @Test func `an offer made while the person is blocked is recalled`() async throws {
        let ground = try await MissionGround()
        let id = try await ground.given(try await ground.open(), 1)
        try await ground.session.script("UPDATE people.people SET blocked_at = now() WHERE id = 1")
        #expect(try await ground.number("SELECT missions.recall()") == 1)
        #expect(try await ground.state(id) == "withdrawn")
        #expect(try await ground.number("SELECT missions.recall()") == 0)
    }

    private static let peopleRead = """
        SELECT coalesce(sum(idx_tup_fetch + seq_tup_read), 0)::bigint
        FROM pg_stat_xact_user_tables WHERE relid = 'people.people'::regclass
        """

    @Test func `a recall reads blocked people, and not all others`() async throws {
        let ground = try await MissionGround(people: 4000, hired: 0)
        try await ground.session.script(
            """
            INSERT INTO missions.shoppers (person_id, state, state_since, reviewed, good, quality)
            SELECT n, 'active', now(), 0, 0, 0 FROM generate_series(1, 500) AS n;
            SELECT missions.open_mission(1, 'T', now(), now() + interval '3 days', 2, 1,
                '[{"kind": "report", "title": "T"}]', 'UTC', slots => 100)
            FROM generate_series(1, 5)
            """)
        try await ground.force(
            """
            INSERT INTO missions.assignments (mission_id, person_id, branch_id, offered_at,
                answer_by, due_at, due_day, barred, slot)
            SELECT 1 + n / 100, 1 + n, 1, now(), now() + interval '1 day',
                now() + interval '3 days', current_date + 3, 'empty', 1 + n % 100
            FROM generate_series(0, 499) AS n;
            UPDATE people.people SET blocked_at = now() WHERE id IN (7, 3000)
            """)
        try await ground.session.script("ANALYZE")
        let (recalled, read) = try await ground.session.transaction { session in
            // It may include what earlier transactions read.
            let before = try session.query(Self.peopleRead).int64(0, 0)
            let recalled = try session.query("SELECT missions.recall()").int64(0, 0)
            return (recalled, try session.query(Self.peopleRead).int64(0, 0) - before)
        }
        #expect(recalled == 1)
        #expect(read < 20, "read \(read)")
    }

    @Test func `the birthday of 29 February is 1 March, for offers as for all`() async throws {
        let ground = try await MissionGround(hired: 1)
        for (day, born, isOld) in [
            ("2030-02-28", "2014-02-28", true), ("2030-02-28", "2014-03-01", false),
            ("2036-02-29", "2020-02-29", true), ("2030-02-28", "2012-02-29", true),
            ("2029-02-28", "2012-02-29", true), ("2029-02-28", "2013-02-28", true),
            ("2030-03-01", "2014-03-01", true), ("2028-02-29", "2012-03-01", false),
            ("2028-02-28", "2012-02-29", false), ("2028-02-29", "2012-02-29", true),
        ] {
            let mission = try await ground.open()
            try await ground.force(
                """
                UPDATE missions.missions SET first_day = '\(day)', due_day = '\(day)'
                WHERE id = \(mission);
                UPDATE people.people SET birth_date = '\(born)' WHERE id = 1
                """)
            let objections = try await ground.objections(mission, 1)
            #expect(objections == (isOld ? [] : ["too_young"]), "\(born) on \(day)")
            #expect(try await ground.candidates(mission) == (isOld ? ["1"] : []), "\(born)")
        }
    }

    @Test func `erasure leaves ids and sums, and a second one finds nothing`() async throws {
        let ground = try await MissionGround()
        try await ground.session.script("UPDATE missions.shoppers SET daily_capacity = 9")
        let paid = try await ground.submitted(try await ground.open(1), 1)
        _ = try await ground.text("SELECT missions.review(\(paid), 'Olga', 'approve', 'nice, Zoë')")
        let submitted = try await ground.submitted(try await ground.open(3), 1)
        let other = try await ground.submitted(try await ground.open(3), 2)
        let offered = try await ground.given(try await ground.open(2), 1)
        _ = try await ground.text("SELECT missions.record_review(1, 'survey:1', true)")
        _ = try await ground.text("SELECT missions.raise_flag(1, 'same photo as Zoë Roy')")
        let data = try await ground.text("SELECT missions.personal_data(1)")
        for word in ["-73.5", "nice, Zoë", "survey:1", "raised_at", "steps"] {
            #expect(data.contains(word), "\(word)")
        }
        #expect(!data.contains("Zoë Roy"))

        func erase() async throws -> [String] {
            try await ground.texts(
                "SELECT object || ' ' || action || ' ' || rows FROM missions.erase(1)")
        }
        #expect(
            try await erase() == [
                "missions.steps deleted 6", "missions.reviews deleted 2",
                "missions.flags deleted 1", "missions.refused_coupons deleted 0",
                "missions.shoppers anonymized 1",
                "missions.assignments anonymized 3",
            ])
        #expect(try await erase().allSatisfy { $0.hasSuffix(" 0") })
        #expect(
            try await ground.texts(
                "SELECT id || ' ' || state FROM missions.assignments WHERE person_id = 1 ORDER BY 1"
            ) == ["\(paid) paid", "\(submitted) rejected", "\(offered) withdrawn"])
        #expect(
            try await ground.texts(
                """
                SELECT 1 FROM missions.assignments WHERE person_id = 1
                    AND (reason IS NOT NULL OR request_id IS NOT NULL OR distance_m IS NOT NULL)
                """) == [])
        #expect(
            try await ground.texts("SELECT home IS NULL FROM missions.shoppers WHERE person_id = 1")
                == ["t"])
        #expect(try await ground.state(other) == "submitted")
        #expect(
            try await ground.texts(
                "SELECT count(*) FROM missions.checklist(2, \(other))"
                    + " WHERE is_done") == ["3"])
        #expect(try await ground.texts("SELECT amount FROM ledger.reward_balance(1)") == ["2000"])
        #expect(try await faults(ground) == [])
        // Results still cannot be changed otherwise.
        #expect(
            try await ground.refusal(
                "UPDATE missions.assignments SET distance_m = 1 WHERE id = \(paid)") == "23001")
    }

    @Test func `results of tasks are forgotten a year after, in batches`() async throws {
        let ground = try await MissionGround()
        let old = try await ground.submitted(try await ground.open(1), 1)
        let open = try await ground.submitted(try await ground.open(1), 2)
        let new = try await ground.submitted(try await ground.open(3), 3)
        for id in [old, new] {
            _ = try await ground.text("SELECT missions.review(\(id), 'Olga', 'approve')")
        }
        try await ground.session.script(
            """
            UPDATE missions.steps SET done_at = now() - interval '13 months'
            WHERE assignment_id IN (\(old), \(open))
            """)
        func forget(_ rows: Int, _ only: Bool) async throws -> Int64 {
            try await ground.number(
                """
                SELECT missions.forget_steps(now() - r.keep, \(rows), \(only))
                FROM people.retention_rules r WHERE r.name = 'missions.steps'
                """)
        }
        #expect(try await forget(100, true) == 3)
        #expect(try await forget(2, true) == 2)
        #expect(try await forget(2, false) == 2)
        #expect(try await forget(2, false) == 1)
        #expect(try await forget(2, false) == 0)
        #expect(
            try await ground.texts(
                "SELECT DISTINCT assignment_id FROM missions.steps ORDER BY 1")
                == [open, new].map { "\($0)" })
    }
}
