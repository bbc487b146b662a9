import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("What earns a badge", .database) struct AwardTests {
    @Test(arguments: [("coupon_used", "coupons_used"), ("survey_done", "surveys_done")])
    func `each level is awarded when it is reached, once`(deed: String, kind: String) async throws {
        let ground = try await BadgeGround()
        var reached: [Int] = []
        for number in 1...102 {
            let before = try await ground.badges(1).count { $0.hasPrefix(kind) }
            // Each at another establishment: none gets a regular.
            _ = try await ground.session.query(
                "SELECT badges.count_deed(1, $1, $2)", [.text(deed), .int64(Int64(number))])
            let after = try await ground.badges(1).count { $0.hasPrefix(kind) }
            if after > before { reached.append(number) }
        }
        #expect(reached == [1, 10, 25, 50, 100])
        #expect(try await ground.due() == reached.map { "1 \(kind) \($0)" })
        #expect(
            try await ground.texts(
                """
                SELECT concat_ws(' ', kind, levels, level, progress, next_level IS NULL)
                FROM badges.of_person(1) WHERE kind = '\(kind)'
                """) == ["\(kind) {100,50,25,10,1} 100 102 t"])
    }

    @Test func `surveys of one establishment make a regular of it`() async throws {
        let ground = try await BadgeGround()
        try await ground.count("survey_done", of: 1, at: 1, times: 5)
        try await ground.count("survey_done", of: 1, at: 2, times: 2)
        try await ground.count("coupon_used", of: 1, at: 2)
        #expect(
            try await ground.badges(1) == [
                "coupons_used 1", "regular 1 3", "regular 1 5", "surveys_done 1",
            ])
        #expect(
            try await ground.texts(
                """
                SELECT concat_ws(' ', kind, title, establishment_id, establishment, level,
                    progress, next_level)
                FROM badges.of_person(1)
                """) == [
                    "coupons_used Coupons used 1 1 10",
                    "regular Regular 1 Café Un 5 5 10", "regular Regular 2 Bar Deux 2 3",
                    "surveys_done Surveys done 1 7 10",
                ])
        // Nobody else has anything, and strangers not even a row.
        #expect(
            try await ground.texts("SELECT concat_ws(' ', kind, progress) FROM badges.of_person(2)")
                == ["coupons_used 0", "surveys_done 0"])
        #expect(try await ground.texts("SELECT kind FROM badges.of_person(99)") == [])
        #expect(try await ground.texts("SELECT kind FROM badges.of_person(1, 2)").count == 2)
    }

    @Test func `a deed that was reversed counts no more, and takes no badge away`() async throws {
        let ground = try await BadgeGround()
        try await ground.count("survey_done", of: 1, times: 3)
        let earned = try await ground.badges(1)
        _ = try await ground.session.query("SELECT badges.uncount_deed(1, 'survey_done', 1)")
        #expect(try await ground.counts(1) == ["regular 1 2", "surveys_done 2"])
        #expect(try await ground.badges(1) == earned)
        #expect(
            try await ground.texts(
                """
                SELECT concat_ws(' ', level, progress, next_level) FROM badges.of_person(1)
                WHERE kind = 'regular'
                """) == ["3 2 5"])
        // The third one is no new badge.
        try await ground.count("survey_done", of: 1)
        #expect(try await ground.badges(1) == earned)
        #expect(try await ground.due() == ["1 surveys_done 1", "1 regular 3"])
        // Never below zero, and a deed that nobody knows changes nothing.
        for _ in 0..<5 {
            _ = try await ground.session.query("SELECT badges.uncount_deed(1, 'survey_done', 1)")
        }
        try await ground.count("nothing", of: 1)
        _ = try await ground.session.query("SELECT badges.uncount_deed(2, 'survey_done', 1)")
        #expect(try await ground.counts(1) == ["regular 1 0", "surveys_done 0"])
        #expect(try await ground.counts(2) == [])
    }

    @Test func `a deed that is rolled back counts for nothing`() async throws {
        let ground = try await BadgeGround()
        try await ground.session.script(
            "BEGIN; SELECT badges.count_deed(1, 'coupon_used', 1); ROLLBACK")
        #expect(try await ground.counts(1) == [])
        #expect(try await ground.badges(1) == [])
        #expect(try await ground.due() == [])
    }

    @Test func `deeds of one person at once are all counted, and each level is awarded once`()
        async throws
    {
        let ground = try await BadgeGround()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<10 {
                group.addTask {
                    try await ground.pool.withSession { session in
                        for number in 0..<10 {
                            // Both kinds of deeds, and both establishments, in any order.
                            let deed = (worker + number) % 2 == 0 ? "survey_done" : "coupon_used"
                            try await ground.count(
                                deed, of: 1 + Int64(number % 2), at: 1 + Int64(worker % 2),
                                in: session)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await ground.number("SELECT sum(deeds) FROM badges.counts") == 150)
        #expect(
            try await ground.number(
                """
                SELECT count(*) FROM badges.counts c JOIN badges.kinds k USING (kind)
                WHERE (SELECT count(*) FROM badges.badges b WHERE b.person_id = c.person_id
                    AND b.kind = c.kind AND b.establishment_id = c.establishment_id)
                  <> (SELECT count(*) FROM unnest(k.levels) l WHERE l <= c.deeds)
                """) == 0)
        let badges = try await ground.number("SELECT count(*) FROM badges.badges")
        #expect(
            try await ground.number(
                "SELECT count(*) FROM badges.badges WHERE notice_due")
                == badges)
    }

    @Test func `apps read badges, and count no deeds`() async throws {
        let ground = try await BadgeGround()
        try await ground.count("coupon_used", of: 1)
        let (app, _) = try await TestDatabase.here().login(as: "errand_app")
        #expect(
            try await app.query("SELECT level FROM badges.of_person(1) WHERE level IS NOT NULL")
                .map { try $0.int32(0) } == [1])
        let (worker, _) = try await TestDatabase.here().login(as: "errand_worker")
        for (session, statement) in [
            (app, "SELECT badges.count_deed(1, 'coupon_used', 1)"),
            (app, "SELECT * FROM badges.badges"), (app, "SELECT badges.recount(0, 9)"),
            (worker, "SELECT badges.count_deed(1, 'coupon_used', 1)"),
            (worker, "UPDATE badges.counts SET deeds = 100"),
            (worker, "DELETE FROM badges.badges"),
            (worker, "INSERT INTO badges.sources VALUES ('coupons', 'x', 'y')"),
        ] {
            do throws(PostgresError) {
                _ = try await session.query(statement)
                Issue.record("not refused: \(statement)")
            } catch { #expect(error.sqlState == "42501", "\(statement)") }
        }
        await app.close()
        await worker.close()
    }
}
