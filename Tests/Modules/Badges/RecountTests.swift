import ErrandBadges
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("The recount of badges", .database) struct RecountTests {
    @Test func `what is missing is repaired, and notifies nobody`() async throws {
        let ground = try await BadgeGround()
        try await ground.used(30, of: 1)
        try await ground.used(2, of: 2)
        try await ground.count("coupon_used", of: 2)
        #expect(try await ground.recount() == [2, 3])
        #expect(
            try await ground.badges(1) == ["coupons_used 1", "coupons_used 10", "coupons_used 25"])
        #expect(try await ground.counts(2) == ["coupons_used 2"])
        #expect(try await ground.due() == ["2 coupons_used 1"])
        #expect(try await ground.recount() == [0, 0])
        #expect(
            try await ground.texts(
                "SELECT concat_ws(' ', people, corrected, awarded) FROM badges.recounts ORDER BY id"
            ) == ["9 2 3", "9 0 0"])
        // The next deed goes on from there.
        try await ground.count("coupon_used", of: 1, times: 20)
        #expect(try await ground.badges(1).last == "coupons_used 50")
    }

    @Test func `a badge that is missing is awarded, and a lower count stays`() async throws {
        let ground = try await BadgeGround()
        try await ground.count("survey_done", of: 1, times: 10)
        try await ground.count("coupon_used", of: 1, times: 10)
        try await ground.used(4, of: 1)
        try await ground.session.script("DELETE FROM badges.badges WHERE level = 10")
        // Coupons are deleted two years after their use, and their deeds still count.
        #expect(try await ground.recount() == [0, 3])
        #expect(
            try await ground.counts(1) == ["coupons_used 10", "regular 1 10", "surveys_done 10"])
        // A level that a later release adds.
        try await ground.session.script(
            "UPDATE badges.kinds SET levels = '{1,5,12}' WHERE kind = 'coupons_used'")
        #expect(try await ground.recount() == [0, 1])
        #expect(
            try await ground.badges(1).filter { $0.hasPrefix("coupons") }
                == ["coupons_used 1", "coupons_used 5", "coupons_used 10"])
        #expect(
            try await ground.number(
                "SELECT next_level FROM badges.of_person(1) WHERE kind = 'coupons_used'") == 12)
    }

    @Test func `a person whose erasure is under way gets no badges again`() async throws {
        let ground = try await BadgeGround()
        try await ground.used(12, of: 1)
        try await ground.session.script("UPDATE people.people SET blocked_at = now() WHERE id = 1")
        #expect(try await ground.recount() == [0, 0])
        // Who is kept after all is repaired the next night.
        try await ground.session.script("UPDATE people.people SET blocked_at = NULL WHERE id = 1")
        #expect(try await ground.recount() == [1, 2])
    }

    @Test func `without modules that know deeds there is nothing to correct`() async throws {
        let ground = try await BadgeGround()
        try await ground.count("coupon_used", of: 1)
        try await ground.session.script("DELETE FROM badges.sources")
        #expect(try await ground.recount() == [0, 0])
    }

    @Test func `all people are reached, some in each transaction`() async throws {
        let ground = try await BadgeGround()
        try await ground.session.script(
            """
            INSERT INTO people.people (id) SELECT 10 * n FROM generate_series(1, 2500) n;
            INSERT INTO coupons.coupons (person_id, establishment_id, title, valid_from,
                expires_at, redeemed_at)
            SELECT 10 * n, 1, 'Tea', now() - interval '1 day', now() + interval '1 day', now()
            FROM generate_series(1, 2500) n
            """)
        #expect(try await ground.recount() == [2500, 2500])
        #expect(try await ground.number("SELECT people FROM badges.recounts") == 2509)
        #expect(try await ground.number("SELECT count(*) FROM badges.badges") == 2500)
    }

    @Test func `deeds while people are recounted are counted once`() async throws {
        let ground = try await BadgeGround()
        try await ground.used(7, of: 1)
        try await ground.used(7, of: 2)
        // The deed of a transaction under way holds the count, which the recount waits for.
        let other = try TestDatabase.here().session()
        try await other.script(
            """
            BEGIN;
            INSERT INTO coupons.coupons (person_id, establishment_id, title, valid_from,
                expires_at, redeemed_at)
            VALUES (1, 1, 'Tea', now() - interval '1 day', now() + interval '1 day', now());
            SELECT badges.count_deed(1, 'coupon_used', 1)
            """)
        async let found = ground.pool.withSession { session in
            try await session.query("SELECT corrected FROM badges.recount(0, 9)").int64(0, 0)
        }
        try await eventually("the recount waits") {
            try await ground.number(
                """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event_type = 'Lock'
                """) > 0
        }
        try await other.script("COMMIT")
        #expect(try await found == 2)
        #expect(try await ground.counts(1) == ["coupons_used 8"])
        #expect(try await ground.counts(2) == ["coupons_used 7"])
        await other.close()
    }

    @Test func `deeds and recounts at once neither deadlock nor lose a deed`() async throws {
        let ground = try await BadgeGround()
        for person in 1...9 { try await ground.used(3, of: Int64(person)) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<6 {
                group.addTask {
                    try await ground.pool.withSession { session in
                        for number in 0..<20 {
                            try await ground.count(
                                "survey_done", of: 1 + Int64((worker + number) % 9),
                                at: 1 + Int64(number % 2), in: session)
                        }
                    }
                }
            }
            for _ in 0..<3 {
                group.addTask {
                    try await ground.pool.withSession { session in
                        for _ in 0..<5 {
                            try await session.script(
                                "DELETE FROM badges.badges WHERE level = 1 AND person_id = 5")
                            _ = try await session.query("SELECT badges.recount(0, 9)")
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        _ = try await ground.recount()
        #expect(
            try await ground.number(
                "SELECT sum(deeds) FROM badges.counts WHERE kind = 'surveys_done'") == 120)
        #expect(
            try await ground.number(
                "SELECT sum(deeds) FROM badges.counts WHERE kind = 'regular'") == 120)
        #expect(try await ground.recount() == [0, 0])
    }

    @Test func `the nightly job recounts`() async throws {
        let ground = try await BadgeGround()
        try await ground.used(1, of: 3)
        _ = try await ground.session.query("SELECT errand.enqueue('badges.recount')")
        try await ground.notify()
        #expect(try await ground.badges(3) == ["coupons_used 1"])
        #expect(try await ground.number("SELECT count(*) FROM badges.recounts") == 1)
        #expect(try await ground.number("SELECT count(*) FROM notification.notices") == 0)
    }

    @Test func `a recount that was interrupted goes on where it was`() async throws {
        let ground = try await BadgeGround()
        for person in 1...9 { try await ground.used(1, of: Int64(person)) }
        let next = "SELECT concat_ws(' ', is_over, people, awarded) FROM badges.recount_next(4)"
        #expect(try await ground.texts(next) == ["f 4 4"])
        #expect(try await ground.recount() == [9, 9])
        #expect(try await ground.number("SELECT count(*) FROM badges.recounts") == 1)
        // Two at once take turns, and none is without an end.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 { group.addTask { _ = try await ground.recount() } }
            try await group.waitForAll()
        }
        #expect(
            try await ground.number(
                "SELECT count(*) FROM badges.recounts WHERE ended_at IS NULL OR people <> 9") == 0)
    }

    @Test func `of the recounts the last thirty are kept`() async throws {
        let ground = try await BadgeGround()
        for _ in 1...33 { _ = try await ground.recount() }
        #expect(
            try await ground.texts("SELECT count(*) || ' ' || count(ended_at) FROM badges.recounts")
                == ["30 30"])
    }
}
