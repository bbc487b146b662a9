package import Errand
package import ErrandPostgres

/// The codes of a coupon, as its person's app shows them: bearer secrets.
package struct ShownCodes: Sendable {
    /// The text of the QR code.
    package var payload: String
    /// When it turns; nil when that is not known.
    package var payloadUntil: Instant?
    package var typed: String
    package var typedUntil: Instant?

    /// What came of asking for them.
    package enum Result: Sendable {
        case codes(ShownCodes)
        /// It cannot be redeemed, so that it has none.
        case none(CouponState)
        case unknown
        /// No secret of the present is there; a worker was asked for it.
        case notReady
    }

    private static let statement = """
        SELECT s.state, s.payload, s.payload_until, s.typed, s.typed_until
        FROM coupons.coupons c CROSS JOIN LATERAL coupons.code(c.id, c.person_id) s
        WHERE c.id = $1
        """

    /// The codes of one coupon; that somebody saw them is in the audit.
    package static func read(
        _ coupon: Int64, by session: Session, note: AuditLine
    ) async throws -> Result {
        try await session.transaction { session in
            guard let row = try session.query(statement, [.int64(coupon)]).first else {
                return .unknown
            }
            if let state = CouponState(rawValue: try row.text("state")), state != .usable {
                return .none(state)
            }
            guard let payload = try row.optionalText("payload"),
                let typed = try row.optionalText("typed")
            else { return .notReady }
            _ = try session.pipeline([note.statement])
            return .codes(
                ShownCodes(
                    payload: payload, payloadUntil: try row.optionalTimestamp("payload_until"),
                    typed: typed, typedUntil: try row.optionalTimestamp("typed_until")))
        }
    }
}
