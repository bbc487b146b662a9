import ErrandMissions
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Coupons as rewards of missions", .database) struct RewardTests {
    private static let coupons = """
        coupons => '[{"establishment": 2, "title": "Tea", "days": 30},
            {"establishment": 1, "title": "Cake", "days": 3}]'
        """

    /// The coupons of a person: title, origin and the days for which they are valid.
    private func granted(_ ground: MissionGround, _ person: Int64) async throws -> [String] {
        try await ground.texts(
            """
            SELECT concat_ws(' ', title, establishment_id, origin,
                extract(day FROM expires_at - valid_from))
            FROM coupons.coupons WHERE person_id = \(person) ORDER BY id
            """)
    }

    @Test func `who is approved gets the coupons, once, and reads of them before`() async throws {
        let ground = try await MissionGround()
        let mission = try await ground.open(1, slots: 2, Self.coupons)
        let id = try await ground.given(mission, 1)
        #expect(
            try await ground.texts(
                """
                SELECT concat_ws(' ', c ->> 'title', c ->> 'establishment',
                    c ->> 'establishment_id', c ->> 'days')
                FROM missions.listing(1), jsonb_array_elements(coupons) c
                """) == ["Tea Bar Deux 2 30", "Cake Café Un 1 3"])
        #expect(try await ground.accept(1, id).reason == "ok")
        #expect(try await ground.arrive(1, id).reason == "ok")
        for number in [1, 3, 4] {
            _ = try await ground.answer("finish_step(1, \(id), \(number), '{}')")
        }
        #expect(try await ground.answer("submit(1, \(id), 'r')").reason == "ok")
        #expect(try await granted(ground, 1) == [])
        let done = """
            SELECT concat_ws(' ', c ->> 'title', (SELECT k.title FROM coupons.coupons k
                WHERE k.id = (c ->> 'coupon')::bigint))
            FROM missions.done(1), jsonb_array_elements(coupons) c
            """
        #expect(try await ground.texts(done) == ["Tea", "Cake"])
        let approve = "SELECT missions.review(\(id), 'Olga', 'approve')"
        #expect(try await ground.text(approve) == "t")
        #expect(try await ground.text(approve) == "f")
        #expect(
            try await granted(ground, 1)
                == ["Tea 2 mission:\(id):1 30", "Cake 1 mission:\(id):2 3"])
        #expect(try await ground.texts(done) == ["Tea Tea", "Cake Cake"])
        // Each shopper of the mission gets their own.
        let other = try await ground.submitted(mission, 2)
        _ = try await ground.text("SELECT missions.review(\(other), 'Olga', 'approve')")
        #expect(try await granted(ground, 2).count == 2)
        #expect(try await ground.number("SELECT sum(amount) FROM ledger.reward_balance(2)") == 2000)
    }

    @Test func `who is rejected or sent back gets none`() async throws {
        let ground = try await MissionGround()
        let mission = try await ground.open(1, slots: 2, Self.coupons)
        let (one, two) = (
            try await ground.submitted(mission, 1), try await ground.submitted(mission, 2)
        )
        _ = try await ground.text("SELECT missions.review(\(one), 'Olga', 'reject', 'no')")
        _ = try await ground.text("SELECT missions.review(\(two), 'Olga', 'return', 'no')")
        #expect(try await ground.number("SELECT count(*) FROM coupons.coupons") == 0)
    }

    @Test func `an establishment that has closed since does not undo the approval`() async throws {
        let ground = try await MissionGround()
        let mission = try await ground.open(1, Self.coupons)
        let id = try await ground.submitted(mission, 1)
        _ = try await ground.text("SELECT establishments.close_establishment(2)")
        #expect(try await ground.text("SELECT missions.review(\(id), 'Olga', 'approve')") == "t")
        #expect(try await ground.state(id) == "paid")
        #expect(try await granted(ground, 1) == ["Cake 1 mission:\(id):2 3"])
        #expect(
            try await ground.texts(
                """
                SELECT coalesce(c ->> 'coupon', 'none')
                FROM missions.done(1), jsonb_array_elements(coupons) c
                """
            ).first == "none")
        #expect(try await ground.number("SELECT sum(amount) FROM ledger.reward_balance(1)") == 2000)
    }

    @Test func `a refused coupon is kept until it is granted or given up`() async throws {
        let ground = try await MissionGround()
        let mission = try await ground.open(1, slots: 2, Self.coupons)
        let ids = [try await ground.submitted(mission, 1), try await ground.submitted(mission, 2)]
        let rows = MissionRows(session: ground.session)
        let changes = MissionChanges(session: ground.session, actor: "Olga")
        func refused() async throws -> [[String]] {
            var found: [[String]] = []
            for id in ids {
                found.append(try #require(try await rows.assignment(id)).refusedCoupons)
            }
            return found
        }
        func listed() async throws -> [Int64] {
            var filter = MissionFilter()
            filter.hasRefusedCoupons = true
            return try await rows.page(filter).map(\.id)
        }
        #expect(try await listed() == [])
        // An app has used the origin of the second coupon of the second submission.
        _ = try await ground.text(
            """
            SELECT coupons.grant_coupon(2, 1, 'Other', now() + interval '1 day',
                'mission:\(ids[1]):2')
            """)
        _ = try await ground.text("SELECT establishments.close_establishment(2)")
        for id in ids {
            _ = try await ground.text("SELECT missions.review(\(id), 'Olga', 'approve')")
        }
        #expect(try await refused() == [["1 closed"], ["1 closed", "2 used"]])
        #expect(try await listed() == [mission])
        #expect(try await rows.neglected(now: .now()).coupons == 3)
        let again = try await changes.grantRefused(ids[0], reason: nil)
        #expect(again == (0, 1))
        try await ground.session.script("UPDATE establishments.establishments SET closed_at = NULL")
        for (id, expected) in zip(ids, [(1, 0), (1, 1)]) {
            #expect(try await changes.grantRefused(id, reason: nil) == expected)
        }
        #expect(
            try await granted(ground, 1)
                == ["Cake 1 mission:\(ids[0]):2 3", "Tea 2 mission:\(ids[0]):1 30"])
        #expect(try await changes.grantRefused(ids[0], reason: nil) == (0, 0))
        #expect(try await refused() == [[], ["2 used"]])
        #expect(try await changes.giveUpRefused(ids[1], reason: "another coupon") == 1)
        #expect(try await changes.giveUpRefused(ids[1], reason: "another coupon") == 0)
        #expect(try await refused() == [[], []])
        #expect(try await listed() == [])
        // Paid once all the while.
        #expect(try await ground.number("SELECT sum(amount) FROM ledger.reward_balance(1)") == 2000)
    }

    @Test func `of two grants at once one grants, and an erasure forgets refused coupons`()
        async throws
    {
        let ground = try await MissionGround()
        let mission = try await ground.open(1, slots: 2, Self.coupons)
        let ids = [try await ground.submitted(mission, 1), try await ground.submitted(mission, 2)]
        _ = try await ground.text("SELECT establishments.close_establishment(2)")
        for id in ids {
            _ = try await ground.text("SELECT missions.review(\(id), 'Olga', 'approve')")
        }
        try await ground.session.script("UPDATE establishments.establishments SET closed_at = NULL")
        let granted = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    let session = try TestDatabase.here().session()
                    return try await MissionChanges(session: session, actor: "Olga")
                        .grantRefused(ids[0], reason: nil).granted
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(granted == 1)
        #expect(
            try await ground.text(
                "SELECT missions.personal_data(2) #>> '{assignments,0,refused_coupons}'")
                == #"{"1": "closed"}"#)
        #expect(
            try await ground.texts(
                "SELECT rows FROM missions.erase(2) WHERE object LIKE '%coupons'") == ["1"])
        #expect(try await ground.number("SELECT count(*) FROM missions.refused_coupons") == 0)
    }

    @Test func `a person who was blocked is neither paid nor given a coupon`() async throws {
        let ground = try await MissionGround()
        let id = try await ground.submitted(try await ground.open(1, Self.coupons), 1)
        try await ground.session.script("UPDATE people.people SET blocked_at = now() WHERE id = 1")
        #expect(
            try await ground.refusal("SELECT missions.review(\(id), 'Olga', 'approve')") == "RU001")
        #expect(try await ground.state(id) == "submitted")
        #expect(try await ground.number("SELECT count(*) FROM coupons.coupons") == 0)
    }

    @Test func `of two approvals at once one grants`() async throws {
        let ground = try await MissionGround()
        let id = try await ground.submitted(try await ground.open(1, Self.coupons), 1)
        let answers = Notebook<Bool>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    try await ground.pool.withSession { session in
                        answers.add(
                            try await session.query(
                                "SELECT missions.review($1, 'Olga', 'approve')", [.int64(id)]
                            ).bool(0, 0))
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(answers.all.count { $0 } == 1)
        #expect(try await granted(ground, 1).count == 2)
    }

    @Test(
        arguments: [
            ("{}", "22023"), ("[1]", "22023"), ("\"x\"", "22023"),
            (#"[{"establishment": 2, "title": "Tea"}]"#, "22023"),
            (#"[{"establishment": 2, "title": "Tea", "days": 0}]"#, "22023"),
            (#"[{"establishment": 2, "title": "Tea", "days": 366}]"#, "22023"),
            (#"[{"establishment": 2, "title": "Tea", "days": 1.5}]"#, "22023"),
            (#"[{"establishment": 2, "title": "Tea", "days": "3"}]"#, "22023"),
            (#"[{"establishment": 2, "title": "", "days": 3}]"#, "22023"),
            (#"[{"establishment": 2, "title": "a\nb", "days": 3}]"#, "22023"),
            (#"[{"establishment": -2, "title": "Tea", "days": 3}]"#, "22023"),
            (#"[{"title": "Tea", "days": 3}]"#, "22023"),
            (#"[{"establishment": 9, "title": "Tea", "days": 3}]"#, "23503"),
            (#"[{"establishment": 2, "title": "Tea", "days": 365}]"#, nil), ("[]", nil),
            ("null", nil),
        ] as [(String, String?)])
    func `coupons are checked when the mission is opened`(coupons: String, state: String?)
        async throws
    {
        let ground = try await MissionGround(hired: 0)
        let argument = coupons == "null" ? "NULL" : "'\(coupons)'"
        let call = """
            SELECT missions.open_mission(1, 'Lunch', now(), now() + interval '1 day', 2, 1,
                '[{"kind": "photos", "title": "x"}]', 'UTC', coupons => \(argument))
            """
        #expect(try await ground.refusal(call) == state)
        #expect(
            try await ground.number("SELECT count(*) FROM missions.missions")
                == (state == nil ? 1 : 0))
    }

    @Test func `no mission promises coupons of a closed establishment, or more than ten`()
        async throws
    {
        let ground = try await MissionGround(hired: 0)
        let call = """
            SELECT missions.open_mission(1, 'Lunch', now(), now() + interval '1 day', 2, 1,
                '[{"kind": "photos", "title": "x"}]', 'UTC', coupons => (
                SELECT jsonb_agg(jsonb_build_object('establishment', 2, 'title', 'Tea', 'days', 3))
                FROM generate_series(1, %)))
            """
        let ten = call.replacing("%", with: "10")
        #expect(try await ground.refusal(call.replacing("%", with: "11")) == "22023")
        #expect(try await ground.refusal(ten) == nil)
        _ = try await ground.text("SELECT establishments.close_establishment(2)")
        #expect(try await ground.refusal(ten) == "RU001")
    }

    @Test func `a request with other coupons is another one`() async throws {
        let ground = try await MissionGround(hired: 0)
        func open(_ more: String) async throws -> String? {
            do throws(PostgresError) {
                return String(
                    try await ground.session.query(
                        """
                        SELECT missions.open_mission(1, 'Lunch', date_trunc('day', now()),
                            date_trunc('day', now()) + interval '3 days', 2, 1,
                            '[{"kind": "photos", "title": "x"}]', 'UTC', request_id => 'r'\(more))
                        """
                    ).int64(0, 0))
            } catch { return error.sqlState }
        }
        let tea = #", coupons => '[{"establishment": 2, "title": "Tea", "days": 3}]'"#
        #expect(try await open(tea) == "1")
        #expect(try await open(tea) == "1")
        #expect(try await open("") == "23505")
        #expect(try await ground.number("SELECT count(*) FROM missions.rewards") == 1)
    }
}
