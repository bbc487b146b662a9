package import Errand
import ErrandNotification
import ErrandPostgres

/// Notifies the person and the establishment's endpoints of a redemption.
///
/// `coupons.redeem()` enqueues this job.
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

/// The notices and events of redemptions, and the terminals that redeem.
enum Redeemed {
    /// Maximum number of redemptions per transaction.
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

    /// Emits events for the establishments' systems; the request id identifies the sale.
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

    /// Registers the terminals as having redeemed a coupon recently, each at most once a day.
    ///
    /// It runs after the commit: a redemption that was rolled back registers none.
    private static let register = """
        INSERT INTO coupons.terminals AS t (establishment_id, terminal, number, redeemed_at)
        SELECT r.establishment_id, r.terminal,
            (SELECT coalesce(max(o.number) + 1, 0) FROM coupons.terminals o
             WHERE o.establishment_id = r.establishment_id)
            + row_number() OVER (PARTITION BY r.establishment_id ORDER BY r.terminal) - 1,
            r.redeemed_at
        FROM (
            SELECT establishment_id, terminal, max(redeemed_at) AS redeemed_at
            FROM coupons.redemptions WHERE coupon_id = ANY ($1)
            GROUP BY establishment_id, terminal
        ) AS r
        WHERE NOT EXISTS (SELECT FROM coupons.terminals k
            WHERE k.establishment_id = r.establishment_id AND k.terminal = r.terminal
              AND k.redeemed_at > r.redeemed_at - interval '1 day')
        ORDER BY r.establishment_id, r.terminal
        ON CONFLICT (establishment_id, terminal) DO UPDATE
        SET redeemed_at = greatest(t.redeemed_at, excluded.redeemed_at)
        """

    /// Sends the notices and events, once per coupon because a coupon is redeemed once.
    static func handle(
        _ batch: JobBatch<CouponRedeemed>, notices catalogue: NoticeCatalogue
    ) async throws -> [Outcome] {
        guard let context = batch.items.first?.context else { return [] }
        let planner = NoticePlanner(catalogue, context: context)
        try await context.database.transaction { transaction in
            let coupons = Parameter.int64Array(batch.items.map(\.job.couponID))
            let intents = try await transaction.query(statement, [coupons]).map { row in
                let subject = "coupon:\(try row.int64("coupon_id"))"
                return Intent(
                    NoticeKind.couponRedeemed.name, to: try row.int64("person_id"), of: subject,
                    data: [UInt8](try row.text("data").utf8), dedupeKey: "redeemed:\(subject)",
                    expiresAt: try row.timestamp("expires_at"))
            }
            _ = try await planner.notify(intents, now: context.now, in: transaction)
            _ = try await transaction.query(emit, [coupons])
            _ = try await transaction.query(register, [coupons])
            try await batch.complete(batch.items, in: transaction)
        }
        return batch.items.map { _ in .done }
    }
}
