import ErrandCoupons
import Foundation
import Errand
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("The life of a coupon", .database) struct LifeTests {
    private func grant(
        _ town: Town, _ person: Int64, _ shop: Int64, origin: String = "survey:1",
        until: String = "2099-01-01"
    ) async throws -> Int64 {
        try await town.number(
            "SELECT coupons.grant_coupon($1, $2, 'A free coffee', $3::text::timestamptz, $4)",
            [.int64(person), .int64(shop), .text(until), .text(origin)])
    }

    @Test("what earned a coupon earns it once, whoever asks how often")
    func granting() async throws {
        let town = try Town()
        let shop = try await town.establishment()
        let (ada, bob) = (try await town.person(), try await town.person("bob@example.org"))
        let pool = town.pool
        let ids = try await withThrowingTaskGroup(of: Int64.self) { group in
            for _ in 0..<16 {
                group.addTask {
                    try await pool.withSession { session in
                        try await session.query(
                            """
                            SELECT coupons.grant_coupon($1, $2, 'A free coffee', '2099-01-01',
                                'survey:1')
                            """, [.int64(ada), .int64(shop)]
                        ).int64(0, 0)
                    }
                }
            }
            return try await group.reduce(into: Set<Int64>()) { $0.insert($1) }
        }
        #expect(ids.count == 1)
        let others = [
            try await grant(town, ada, shop, origin: "survey:2"),
            try await grant(town, bob, shop),
        ]
        #expect(Set(others).union(ids).count == 3)
    }

    @Test(
        "a grant that makes no sense says why",
        arguments: [
            ("NULL, 1, 'x', '2099-01-01', 'o'", "needs person"),
            ("1, 1, NULL, '2099-01-01', 'o'", "needs person"),
            ("99, 1, 'x', '2099-01-01', 'o'", "no person has the id 99"),
            ("1, 99, 'x', '2099-01-01', 'o'", "no establishment has the id 99"),
            ("1, 1, 'x', '2020-01-01', 'o'", "would expire"),
            ("1, 1, 'x', 'infinity', 'o'", "1970 to 9999"),
            ("1, 1, 'x', '10000-01-01Z', 'o'", "1970 to 9999"),
            ("1, 1, 'x', '2099-01-01', 'o', valid_from => '-infinity'", "1970 to 9999"),
            ("1, 1, '', '2099-01-01', 'o'", "title"),
            ("1, 1, E'a\\nb', '2099-01-01', 'o'", "title"),
            ("1, 1, 'x', '2099-01-01', ''", "origin"),
            ("1, 1, 'x', '2099-01-01', 'o', radius_m => 1", "radius"),
        ])
    func senselessGrant(call: String, words: String) async throws {
        let town = try Town()
        let (shop, person) = (try await town.establishment(), try await town.person())
        #expect((shop, person) == (1, 1))
        let error = await #expect(throws: PostgresError.self) {
            try await town.run("SELECT coupons.grant_coupon(\(call))")
        }
        #expect("\(try #require(error))".contains(words))
    }

    @Test(
        "the same origin with other content is an error",
        arguments: [
            ("title => 'A tea'", "23505"), ("establishment => 2", "23505"),
            ("expires_at => now() + interval '31 days'", "23505"), ("radius_m => 200", "23505"),
            ("expires_at => 'infinity'", "22023"),
            ("valid_from => now() - interval '1 day'", "23505"), ("title => 'A coffee'", nil),
            // Computed anew from the present, as a retry does.
            ("expires_at => now() + interval '30 days'", nil),
        ])
    func otherContent(change: String, state: String?) async throws {
        // "grant_coupon with a known origin but another title and expiry returns the old id in
        // silence; credit_reward raises 23505."
        let town = try Town()
        let person = try await town.person()
        #expect(try await town.establishment() == 1)
        #expect(try await town.establishment() == 2)
        func grant(_ change: String) async throws -> Int64 {
            let given = [
                "establishment => 1", "title => 'A coffee'",
                "expires_at => now() + interval '30 days'",
            ].filter { $0.prefix(8) != change.prefix(8) }
            return try await town.number(
                """
                SELECT coupons.grant_coupon(person => $1, origin => 'survey:1',
                    \((given + [change]).joined(separator: ", ")))
                """, [.int64(person)])
        }
        let coupon = try await grant("radius_m => 150")
        do {
            let again = try await grant(change)
            #expect(again == coupon && state == nil)
        } catch let error as PostgresError {
            #expect(error.sqlState == state)
            #expect(state != "23505" || error.description.contains("coupon \(coupon)"))
        }
        #expect(try await town.number("SELECT count(*) FROM coupons.coupons") == 1)
    }

    @Test("a void coupon stays void, and a redeemed one redeemed")
    func voiding() async throws {
        let town = try Town()
        let (shop, person) = (try await town.establishment(), try await town.person())
        let coupon = try await town.coupon(of: person, at: shop)
        func void(_ id: Int64, _ reason: String?) async throws -> String? {
            try await town.session.query(
                "SELECT coupons.void($1, $2)", [.int64(id), .optional(reason)]
            ).first?.optionalText("void")
        }
        #expect(try await void(coupon, "printed twice") == "usable")
        #expect(try await void(coupon, "another reason") == "voided")
        let kept = try await town.session.query("SELECT voided_reason FROM coupons.coupons")
        #expect(try kept.text(0, 0) == "printed twice")
        #expect(try await void(999_999, "no such coupon") == nil)
        await #expect(throws: PostgresError.self) { _ = try await void(coupon, nil) }
        let used = try await town.coupon(of: person, at: shop)
        try await town.run(
            "UPDATE coupons.coupons SET redeemed_at = now() WHERE id = $1", [.int64(used)])
        #expect(try await void(used, "too late") == "redeemed")
        #expect(
            try await town.number(
                "SELECT count(*) FROM coupons.coupons WHERE voided_at IS NOT NULL") == 1)
    }

    @Test("what has expired is noted in batches, and nothing else")
    func expired() async throws {
        let town = try Town()
        let (shop, person) = (try await town.establishment(), try await town.person())
        try await town.run(
            """
            INSERT INTO coupons.coupons (person_id, establishment_id, title, valid_from, expires_at,
                redeemed_at, voided_at)
            SELECT $1, $2, 'x', '2026-01-01', CASE WHEN n % 2 = 0 THEN now() ELSE '2099-01-01' END,
                CASE WHEN n % 10 = 0 THEN timestamptz '2026-02-01' END,
                CASE WHEN n % 10 = 2 THEN timestamptz '2026-02-01' END
            FROM generate_series(1, 5000) AS n
            """, [.int64(person), .int64(shop)])
        let counts = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<3 {
                group.addTask { try await EndExpired.run(in: town.pool, now: Date()) }
            }
            return try await group.reduce(into: 0) { $0 += $1 }
        }
        #expect(counts == 1_500)
        #expect(try await EndExpired.run(in: town.pool, now: Date()) == 0)
        let wrong = try await town.number(
            """
            SELECT count(*) FROM coupons.coupons
            WHERE (expired_at IS NOT NULL)
                <> (expires_at <= now() AND redeemed_at IS NULL AND voided_at IS NULL)
            """)
        #expect(wrong == 0)
    }

    @Test("who redeems is told at once, also at night, and once")
    func told() async throws {
        let ground = try await CodeGround()
        try await ground.town.run(
            "UPDATE people.people SET quiet_from = '00:00', quiet_until = '23:59:59'")
        try await ground.rotate(at: nil)
        // The sealed secret is of no account here: nothing is sent.
        for owner in ["establishment:\(ground.shop)", "establishment:999", "operator"] {
            try await ground.town.run(
                """
                INSERT INTO notification.endpoints (owner, url, events, secret)
                VALUES ($1, 'https://example.org/hook', '{coupon.redeemed}', '')
                """, [.text(owner)])
        }
        try await ground.town.run(
            """
            SELECT coupons.redeem(c.payload, $2, 'till', '1')
            FROM coupons.code($1, $3) c
            """, [.int64(ground.coupon), .int64(ground.shop), .int64(ground.person)])
        var kinds = JobKinds()
        CouponKinds.add(to: &kinds, notices: Town.catalogue, sealing: nil)
        let drained = try await TestWorker.drain(kinds, queues: [.init("coupons")])
        #expect(drained.completed == 1)
        let rows = try await ground.town.session.query(
            """
            SELECT i.title, i.body, r.confirmation, n.status::text AS status
            FROM notification.notices n
            JOIN notification.inbox_items i ON i.notice_id = n.id
            CROSS JOIN coupons.redemptions r WHERE n.kind = 'coupon.redeemed'
            """)
        #expect(rows.count == 1)
        let row = try #require(rows.first)
        #expect(try row.text("title") == "A free coffee: redeemed")
        #expect(try row.text("body").contains(try row.text("confirmation")))
        #expect(try row.text("body").contains("Cafe"))
        // The same job again, as after a crash before its end was recorded.
        let again = try await JobClient(pool: ground.town.pool)
        _ = try await again.enqueue(CouponRedeemed(couponID: ground.coupon))
        #expect(try await TestWorker.drain(kinds, queues: [.init("coupons")]).completed == 1)
        #expect(try await ground.town.notices().count == 1)
        let events = try await ground.town.session.query(
            """
            SELECT e.owner, e.data ->> 'request_id' AS request, e.data ->> 'terminal' AS terminal,
                e.data ->> 'coupon_id' AS coupon
            FROM notification.events e JOIN notification.event_deliveries d ON d.event_id = e.id
            """)
        #expect(events.count == 1)
        let event = try #require(events.first)
        #expect(try event.text("owner") == "establishment:\(ground.shop)")
        #expect(try event.text("request") == "1")
        #expect(try event.text("terminal") == "till")
        #expect(try event.text("coupon") == "\(ground.coupon)")
    }
}
