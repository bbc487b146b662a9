package import Errand
package import ErrandPostgres

/// The current codes of a coupon, as the app shows them; bearer secrets.
package struct ShownCodes: Sendable {
    /// The text of the QR code.
    package var payload: String
    /// When the QR code rotates; nil if unknown.
    package var payloadUntil: Instant?
    package var typed: String
    package var typedUntil: Instant?

    /// The result of a read.
    package enum Result: Sendable {
        case codes(ShownCodes)
        /// The coupon cannot be redeemed and has no codes.
        case none(CouponState)
        case unknown
        /// The current secret is missing; a job that creates it was enqueued.
        case notReady
    }

    private static let statement = """
        SELECT s.state, s.payload, s.payload_until, s.typed, s.typed_until
        FROM coupons.coupons c CROSS JOIN LATERAL coupons.code(c.id, c.person_id) s
        WHERE c.id = $1
        """

    /// Reads the codes of one coupon and records the view in the audit log.
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
