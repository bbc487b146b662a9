import ErrandCoupons
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Coupons that people see", .database) struct ListingTests {
    private func listing(_ town: Town, _ person: Int64) async throws -> [Int64] {
        try await town.session.query("SELECT id FROM coupons.listing($1)", [.int64(person)])
            .map { try $0.int64(0) }
    }

    private func star(_ town: Town, _ coupon: Int64, of person: Int64, _ isStarred: Bool = true)
        async throws -> Bool
    {
        try await town.session.query(
            "SELECT coupons.star($1, $2, $3)",
            [.int64(coupon), .int64(person), .bool(isStarred)]
        ).bool(0, 0)
    }

    @Test("the starred ones come first, then those that expire soonest; what is over is gone")
    func listed() async throws {
        let town = try Town()
        let (shop, person) = (try await town.establishment(), try await town.person())
        let other = try await town.person("bob@example.org")
        func coupon(_ until: String) async throws -> Int64 {
            try await town.coupon(of: person, at: shop, until: until)
        }
        let late = try await coupon("2099-03-01T00:00:00Z")
        let soon = try await coupon("2099-01-01T00:00:00Z")
        let middle = try await coupon("2099-02-01T00:00:00Z")
        let over = try await coupon("2026-02-01T00:00:00Z")
        let voided = try await coupon("2099-01-02T00:00:00Z")
        let used = try await coupon("2099-01-03T00:00:00Z")
        _ = try await town.coupon(of: other, at: shop)
        try await town.run("SELECT coupons.void($1, 'printed twice')", [.int64(voided)])
        try await town.run(
            "UPDATE coupons.coupons SET redeemed_at = now() WHERE id = $1", [.int64(used)])
        // What was voided lately stands last, with its reason.
        #expect(try await listing(town, person) == [soon, middle, late, voided])
        #expect(try await star(town, late, of: person))
        #expect(try await listing(town, person) == [late, soon, middle, voided])
        #expect(try await star(town, middle, of: person))
        #expect(try await listing(town, person) == [middle, late, soon, voided])
        #expect(try await star(town, late, of: person, false))
        #expect(try await listing(town, person) == [middle, soon, late, voided])
        let states = try await town.session.query(
            "SELECT state || coalesce(': ' || voided_reason, '') FROM coupons.listing($1)",
            [.int64(person)]
        ).map { try $0.text(0) }
        #expect(states == ["usable", "usable", "usable", "voided: printed twice"])
        try await town.run(
            "UPDATE coupons.coupons SET voided_at = now() - interval '8 days' WHERE id = $1",
            [.int64(voided)])
        #expect(try await listing(town, person) == [middle, soon, late])
        #expect(try await !star(town, late, of: other))
        #expect(try await !star(town, 999_999, of: person))
        #expect(!(try await listing(town, person)).contains(over))
    }

    private static let rowsRead = """
        SELECT (idx_tup_fetch + seq_tup_read)::bigint FROM pg_stat_xact_user_tables
        WHERE relid = 'coupons.coupons'::regclass
        """

    @Test func `the list reads no more than it returns`() async throws {
        // "coupons.listing: 10,000 a person: reads all of a person's coupons, then sorts for 200".
        let town = try Town()
        let (shop, person) = (try await town.establishment(), try await town.person())
        try await town.run(
            """
            INSERT INTO coupons.coupons (person_id, establishment_id, title, expires_at,
                starred_at, redeemed_at)
            SELECT $1, $2, 'Coupon ' || n, now() + n * interval '1 hour',
                CASE WHEN n % 400 = 0 THEN now() END, CASE WHEN n % 3 = 0 THEN now() END
            FROM generate_series(1, 4000) AS n
            """, [.int64(person), .int64(shop)])
        try await town.run("ANALYZE coupons.coupons")
        for maximum in [1, 5, 50, 200] {
            let (returned, read) = try await town.session.transaction { session in
                // It may include what earlier transactions read.
                let before = try session.query(Self.rowsRead).int64(0, 0)
                let rows = try session.query(
                    "SELECT id FROM coupons.listing($1, $2)",
                    [.int64(person), .int32(Int32(maximum))])
                return (rows.count, try session.query(Self.rowsRead).int64(0, 0) - before)
            }
            #expect(returned == maximum && read == maximum, "\(maximum): read \(read)")
        }
    }

    @Test func `a list is of one moment`() async throws {
        let town = try Town()
        let (shop, person) = (try await town.establishment(), try await town.person())
        let coupon = try await town.coupon(of: person, at: shop)
        // Within a statement: its first function stars what the second lists as it was before.
        let rows = try await town.session.query(
            """
            SELECT coupons.star($1, $2), (SELECT string_agg(l.id || ' ' || l.is_starred, ', ')
                FROM coupons.listing($2) AS l)
            """, [.int64(coupon), .int64(person)])
        #expect(try rows.bool(0, 0) && rows.text(0, 1) == "\(coupon) false")
        #expect(try await listing(town, person) == [coupon])
    }
}
