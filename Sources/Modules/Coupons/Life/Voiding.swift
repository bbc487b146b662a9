import Errand
import ErrandPostgres

/// The result of voiding a coupon.
package enum Voiding: String, Sendable {
    case voided
    /// It was voided before.
    case already
    case redeemed, unknown
}

extension CouponRows {
    private static let void = "SELECT coupons.void($1, $2) AS before"

    /// Voids coupons, each with an audit line; redeemed coupons stay redeemed.
    ///
    /// - Parameter reason: visible to the person; 1 to 500 characters.
    package func void(
        _ ids: [Int64], by operatorName: String, reason: String
    ) async throws -> [Int64: Voiding] {
        // Sorted, so that concurrent calls do not deadlock.
        let ids = Set(ids).sorted()
        return try await session.transaction { session in
            var results: [Int64: Voiding] = [:]
            for id in ids {
                let before = try session.query(Self.void, [.int64(id), .text(reason)])
                    .first?.optionalText("before")
                guard let before, let state = CouponState(rawValue: before) else {
                    results[id] = .unknown
                    continue
                }
                results[id] =
                    state == .redeemed ? .redeemed : state == .voided ? .already : .voided
                guard results[id] == .voided else { continue }
                let line = AuditLine(
                    operatorName: operatorName, action: "coupon void", subject: "coupon \(id)",
                    reason: reason, change: try? AuditLine.json(["before": before]))
                _ = try session.pipeline([line.statement])
            }
            return results
        }
    }
}
