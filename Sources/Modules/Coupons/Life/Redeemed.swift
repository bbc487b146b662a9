package import Errand
import ErrandNotification
import ErrandPostgres

/// A coupon was redeemed: confirms it to its person, and tells the establishment's endpoints.
///
/// `coupons.redeem()` enqueues it.
package struct CouponRedeemed: Job {
    package static let kind = "coupons.redeemed"
    package static let options = JobOptions(
        queue: "coupons", priority: .high, maxAttempts: 20,
        backoff: Backoff(base: 5, ceiling: 300), retention: .seconds(86_400))

    package var couponID: Int64

    package init(couponID: Int64) { self.couponID = couponID }

    enum CodingKeys: String, CodingKey {
        case couponID = "coupon_id"
    }
}

/// What follows from redemptions.
enum Redeemed {
    /// Redemptions told of in one transaction.
    static let batchLimit = 200

    private static let statement = """
        SELECT r.coupon_id, c.person_id,
            jsonb_build_object('title', c.title, 'establishment', e.name,
                'confirmation', r.confirmation, 'redeemed_at',
                to_char(r.redeemed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))::text
                AS data,
            r.redeemed_at + interval '7 days' AS expires_at
        FROM coupons.redemptions r
        JOIN coupons.coupons c ON c.id = r.coupon_id
        JOIN establishments.establishments e ON e.id = r.establishment_id
        WHERE r.coupon_id = ANY ($1)
        ORDER BY r.coupon_id
        """

    /// For the establishments' own systems: by the request they know which sale it was.
    private static let emit = """
        SELECT count(notification.emit('coupon.redeemed', 'establishment:' || r.establishment_id,
            jsonb_build_object('coupon_id', r.coupon_id::text, 'title', c.title,
                'terminal', r.terminal, 'request_id', r.request_id,
                'confirmation', r.confirmation, 'redeemed_at',
                to_char(r.redeemed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
            'redeemed:coupon:' || r.coupon_id))
        FROM (SELECT * FROM coupons.redemptions WHERE coupon_id = ANY ($1) ORDER BY coupon_id) r
        JOIN LATERAL (SELECT title FROM coupons.coupons WHERE id = r.coupon_id) c ON true
        """

    /// Tells of them; a coupon is redeemed once, so that each is told of once.
    static func handle(
        _ batch: JobBatch<CouponRedeemed>, telling catalogue: NoticeCatalogue
    ) async throws -> [Outcome] {
        guard let context = batch.items.first?.context else { return [] }
        let teller = Teller(catalogue, context: context)
        try await context.database.transaction { transaction in
            let coupons = Parameter.int64Array(batch.items.map(\.job.couponID))
            let intents = try await transaction.query(statement, [coupons]).map { row in
                let subject = "coupon:\(try row.int64("coupon_id"))"
                return Intent(
                    NoticeKind.couponRedeemed.name, to: try row.int64("person_id"), of: subject,
                    data: [UInt8](try row.text("data").utf8), dedupeKey: "redeemed:\(subject)",
                    expiresAt: try row.timestamp("expires_at"))
            }
            _ = try await teller.tell(intents, now: context.now, in: transaction)
            _ = try await transaction.query(emit, [coupons])
            try await batch.complete(batch.items, in: transaction)
        }
        return batch.items.map { _ in .done }
    }
}
