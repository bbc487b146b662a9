import Errand
import ErrandAdministration
import ErrandCoupons
import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Erasure and retention of coupons", .database) struct CouponErasureTests {
    /// The counts of an erasure, such as "coupons.coupons deleted 3".
    private func erase(_ town: Town, _ person: Int64) async throws -> [String] {
        try await town.session.query(
            "SELECT object, action, rows FROM coupons.erase($1)", [.int64(person)]
        ).map { "\(try $0.text(0)) \(try $0.text(1)) \(try $0.int64(2))" }
    }

    /// Coupons of a person: one usable, one redeemed, one voided, one that expired.
    private func fill(_ town: Town, _ person: Int64, at shop: Int64) async throws {
        try await town.run(
            """
            INSERT INTO coupons.coupons (person_id, establishment_id, title, valid_from,
                expires_at, redeemed_at, voided_at, voided_reason, expired_at, origin)
            SELECT $1, $2, 'Coupon ' || n, '2020-01-01Z', '2099-01-01Z',
                CASE n WHEN 2 THEN timestamptz '2021-01-01Z' END,
                CASE n WHEN 3 THEN timestamptz '2022-01-01Z' END,
                CASE n WHEN 3 THEN 'printed twice' END,
                CASE n WHEN 4 THEN timestamptz '2023-01-01Z' END, 'survey:' || n
            FROM generate_series(1, 4) AS n
            """, [.int64(person), .int64(shop)])
        try await town.run(
            """
            INSERT INTO coupons.redemptions
            SELECT c.id, c.redeemed_at, c.establishment_id, 'bar', 'call 514 555 0100', '\\x01',
                'K7Q2M9ABC'
            FROM coupons.coupons c WHERE c.person_id = $1 AND c.redeemed_at IS NOT NULL
            """, [.int64(person)])
    }

    @Test func `an erasure deletes a person's coupons, and again nothing`() async throws {
        let town = try Town()
        let (shop, person) = (try await town.establishment(), try await town.person())
        let other = try await town.person("bob@example.org")
        try await fill(town, person, at: shop)
        try await fill(town, other, at: shop)
        #expect(
            try await erase(town, person)
                == ["coupons.coupons deleted 4", "coupons.redemptions anonymized 1"])
        #expect(
            try await erase(town, person)
                == ["coupons.coupons deleted 0", "coupons.redemptions anonymized 0"])
        #expect(try await town.number("SELECT count(*) FROM coupons.coupons") == 4)
        let kept = try await town.session.query(
            "SELECT request_id, confirmation FROM coupons.redemptions ORDER BY coupon_id")
        #expect(try kept.map { try $0.text(0) } == ["", "call 514 555 0100"])
        #expect(try kept.map { try $0.text(1) } == ["K7Q2M9ABC", "K7Q2M9ABC"])
    }

    @Test func `an export has every coupon and redemption`() async throws {
        let town = try Town()
        let (shop, person) = (try await town.establishment(), try await town.person())
        try await fill(town, person, at: shop)
        let found = try await town.session.query(
            """
            SELECT jsonb_array_length(d -> 'coupons') AS coupons,
                jsonb_array_length(d -> 'redemptions') AS redemptions,
                d #>> '{coupons,2,voided_reason}' AS reason
            FROM coupons.personal_data($1) AS d
            """, [.int64(person)])
        let row = try #require(found.first)
        #expect(try row.int32("coupons") == 4 && row.int32("redemptions") == 1)
        #expect(try row.text("reason") == "printed twice")
        let nothing = try await town.session.query(
            "SELECT coupons.personal_data(999)::text"
        ).text(0, 0)
        #expect(nothing == #"{"coupons": [], "redemptions": []}"#)
    }

    @Test func `coupons that ended long ago are deleted, in batches`() async throws {
        let town = try Town()
        let (shop, person) = (try await town.establishment(), try await town.person())
        try await fill(town, person, at: shop)
        func forget(_ maximum: Int, _ onlyCount: Bool) async throws -> Int64 {
            try await town.number(
                "SELECT coupons.forget_ended('2022-06-01Z', $1, $2)",
                [.int32(Int32(maximum)), .bool(onlyCount)])
        }
        // Counted up to a limit.
        #expect(try await forget(1, true) == 1)
        #expect(try await forget(10, true) == 2)
        #expect(try await forget(1, false) == 1)
        #expect(try await forget(10, false) == 1)
        #expect(try await forget(10, false) == 0)
        let left = try await town.session.query("SELECT title FROM coupons.coupons ORDER BY id")
        #expect(try left.map { try $0.text(0) } == ["Coupon 1", "Coupon 4"])
        #expect(
            try await town.number(
                "SELECT count(*) FROM coupons.redemptions WHERE request_id = ''") == 1)
    }

    @Test func `a position that no worker processed is forgotten after a day`() async throws {
        let town = try Town()
        let person = try await town.person()
        let report = try await town.reportPosition(person, .montreal)
        let other = try await town.person("bob@example.org")
        try await town.reportPosition(other, .montreal)
        try await town.run(
            "INSERT INTO errand.once_effects VALUES ($1, 'pushed', now(), '1')", [.int64(report)])
        func forget(_ before: String, only: Bool = false) async throws -> Int64 {
            try await town.number(
                "SELECT coupons.forget_positions(now() + $1::text::interval, 1, $2)",
                [.text(before), .bool(only)])
        }
        #expect(try await forget("-1 day") == 0)
        #expect(try await forget("1 minute", only: true) == 1)
        #expect(try await forget("1 minute") == 1)
        #expect(try await forget("1 minute") == 1)
        #expect(try await forget("1 minute") == 0)
        let job = try #require(try await town.job(report))
        #expect(job.state == .cancelled)
        let args = try await town.session.query(
            "SELECT args::text FROM errand.finished_jobs WHERE id = $1", [.int64(report)])
        #expect(try args.text(0, 0) == #"{"erased": true}"#)
        #expect(try await town.number("SELECT count(*) FROM errand.once_effects") == 0)
    }

    @Test func `the rules of the module are registered`() async throws {
        let town = try Town()
        #expect(
            try await town.session.query(
                "SELECT position || ' ' || blocks FROM people.holders WHERE module = 'coupons'"
            ).text(0, 0) == "40 true")
        for rule in ["coupons.ended", "coupons.positions"] {
            #expect(
                try await town.number(
                    "SELECT people.run_rule($1, only_count => true)", [.text(rule)]) == 0)
        }
    }
}
