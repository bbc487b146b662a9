package import ErrandPostgres

/// The state of a coupon, as `coupons.state_of` returns it.
package enum CouponState: String, Sendable, CaseIterable {
    case usable, redeemed, expired, voided
    case notYetValid = "not_yet_valid"
}

/// One row of coupons; never with a code.
package struct CouponRecord: Sendable {
    package var id: Int64
    package var personID: Int64
    package var establishmentID: Int64
    package var establishment: String
    package var title: String
    package var state: CouponState
    /// The distance from a branch within which the person is notified, in metres.
    package var radius: Int
    package var validFrom: Instant
    package var expiresAt: Instant
    package var starredAt: Instant?
    package var redeemedAt: Instant?
    package var voidedAt: Instant?
    package var voidedReason: String?
    /// The reason for the grant.
    package var origin: String?

    /// The columns of `c`, a coupon with its state, and `e`, its establishment.
    static let columns = """
        c.id, c.person_id, c.establishment_id, e.name AS establishment, c.title, c.state,
            c.radius_m::int AS radius_m, c.valid_from, c.expires_at, c.starred_at, c.redeemed_at,
            c.voided_at, c.voided_reason, c.origin
        """

    init(_ row: Row) throws {
        id = try row.int64("id")
        personID = try row.int64("person_id")
        establishmentID = try row.int64("establishment_id")
        establishment = try row.text("establishment")
        title = try row.text("title")
        let word = try row.text("state")
        guard let state = CouponState(rawValue: word) else {
            throw PostgresError.decoding("coupons.state_of returned \(word)")
        }
        self.state = state
        radius = Int(try row.int32("radius_m"))
        validFrom = try row.timestamp("valid_from")
        expiresAt = try row.timestamp("expires_at")
        starredAt = try row.optionalTimestamp("starred_at")
        redeemedAt = try row.optionalTimestamp("redeemed_at")
        voidedAt = try row.optionalTimestamp("voided_at")
        voidedReason = try row.optionalText("voided_reason")
        origin = try row.optionalText("origin")
    }
}

/// The redemption of a coupon: its place, time and request.
package struct Redemption: Sendable {
    package var redeemedAt: Instant
    package var establishmentID: Int64
    package var terminal: String
    package var requestID: String
    /// The confirmation number that the terminal and the person got.
    package var confirmation: String

    static let ofCoupon = """
        SELECT redeemed_at, establishment_id, terminal, request_id, confirmation
        FROM coupons.redemptions WHERE coupon_id = $1
        """

    init(_ row: Row) throws {
        redeemedAt = try row.timestamp("redeemed_at")
        establishmentID = try row.int64("establishment_id")
        terminal = try row.text("terminal")
        requestID = try row.text("request_id")
        confirmation = try row.text("confirmation")
    }
}
