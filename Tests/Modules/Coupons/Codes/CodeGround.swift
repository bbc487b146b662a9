import ErrandCoupons
import ErrandCrypto
import Foundation
import Errand
import ErrandPostgres
import ErrandTestServices
import Testing

/// A shop, a person with a coupon there, and codes that turn when the test says so.
struct CodeGround {
    let town: Town
    let shop: Int64
    let person: Int64
    let coupon: Int64
    let keys: SealingKeys
    /// A whole minute, as seconds since 1970.
    static let start: Int64 = 1_781_524_800

    init() async throws {
        town = try Town()
        shop = try await town.establishment()
        person = try await town.person()
        coupon = try await town.coupon(of: person, at: shop)
        keys = try SealingKeys(current: SealingKey(id: UUID().uuidString, secret: .random(32)))
        // The same in every run: which coupons share guess counters depends on them.
        try await town.run(
            """
            UPDATE coupons.scramble
            SET keys = '{1099511627775,549755813889,824633720833,686094663681}', seed = 7
            """)
    }

    /// The ids of more coupons of the person at a shop.
    func coupons(_ count: Int, at shop: Int64) async throws -> [Int64] {
        try await town.session.query(
            """
            INSERT INTO coupons.coupons (person_id, establishment_id, title, valid_from, expires_at)
            SELECT $1, $2, 'A tea', '2026-01-01Z', '2099-01-01Z' FROM generate_series(1, $3)
            RETURNING id
            """, [.int64(person), .int64(shop), .int64(Int64(count))]
        ).map { try $0.int64(0) }
    }

    /// A typed code of the same coupon and epoch that is wrong by these bits, not 0.
    func wrong(_ typed: String, by bits: Int64 = 1) async throws -> String {
        try await town.session.query(
            """
            SELECT coupons.base32(w.value, 12) || coupons.check_symbol(w.value)
            FROM (SELECT coupons.base32_value(left(replace($1, '-', ''), 12)) # $2 AS value) AS w
            """, [.text(typed), .int64(bits)]
        ).text(0, 0)
    }

    /// Rotates by a clock that shows so many seconds after the start; by the database's without.
    @discardableResult
    func rotate(
        at second: Int64?, replacing: Bool = false, by other: SealingKeys? = nil
    ) async throws -> Rotation.Result {
        let rotation = Rotation(sealing: other ?? keys, log: .silent)
        return try await town.pool.transaction { transaction in
            try await rotation.run(
                in: transaction, replacing: replacing, now: second.map { Self.start + $0 })
        }
    }

    struct Codes: Sendable, Equatable {
        var payload: String?
        var payloadUntil: Int64?
        var typed: String?
        var typedUntil: Int64?
    }

    /// The coupon's codes so many seconds after the start.
    func codes(at second: Int64, of coupon: Int64? = nil) async throws -> Codes {
        let row = try await town.session.query(
            """
            SELECT payload, extract(epoch FROM payload_until)::bigint AS payload_until, typed,
                extract(epoch FROM typed_until)::bigint AS typed_until
            FROM coupons.codes_at($1, to_timestamp($2))
            """, [.int64(coupon ?? self.coupon), .double(Double(Self.start + second))])
        return Codes(
            payload: try row.first?.optionalText("payload"),
            payloadUntil: try row.first?.optionalInt64("payload_until").map { $0 - Self.start },
            typed: try row.first?.optionalText("typed"),
            typedUntil: try row.first?.optionalInt64("typed_until").map { $0 - Self.start })
    }

    /// What a till is told so many seconds after the start.
    func answer(
        to code: String?, at second: Int64, shop: Int64? = nil, terminal: String = "till"
    ) async throws -> String {
        let row = try await town.session.query(
            """
            SELECT a.reason, a.is_accepted
            FROM (SELECT (coalesce(coupons.acceptance($1, $2, $3, to_timestamp($4)),
                coupons.answer_to(coupons.read_code($1), $2, $3, to_timestamp($4)))) AS answer
                OFFSET 0) AS one
            CROSS JOIN LATERAL (SELECT (one.answer).*) AS a
            """,
            [
                .text(try #require(code)), .int64(shop ?? self.shop), .text(terminal),
                .double(Double(Self.start + second)),
            ])
        let reason = try row.text(0, 0)
        #expect(try row.bool(0, 1) == (reason == "ok"))
        return reason
    }
}
