package import ErrandPostgres

/// A filter of coupons; nil matches all.
package struct CouponFilter: Sendable {
    package var personID: Int64?
    package var establishmentID: Int64?
    package var states: [CouponState]?
    package var isStarred = false
    package var expiresBefore: Instant?
    package var expiresFrom: Instant?
    /// The id of the last coupon of the previous page.
    package var behind: Int64?
    package var limit = 50

    /// Creates a filter that matches all coupons.
    package init() {}

    /// Whether an index on the expiry of live coupons can serve the filter.
    package var goesByExpiry: Bool {
        guard personID == nil, expiresBefore != nil || expiresFrom != nil, let states else {
            return false
        }
        return Set(states).isSubset(of: [.usable, .notYetValid])
    }
}

/// One page of a listing.
package struct CouponPage: Sendable {
    package var coupons: [CouponRecord]
    /// The id of the last scanned coupon, if the scan stopped early.
    package var stoppedAt: Int64?
}

/// Reads and changes the rows of coupons and their redemptions.
package struct CouponRows: Sendable {
    let session: Session

    package init(session: Session) { self.session = session }

    /// Maximum number of coupons scanned for a page.
    ///
    /// An index for each filter would make every write slower for the sake of rare reads.
    package static let reach: Int64 = 100_000

    private static let passes = """
        ($2::bigint IS NULL OR c.establishment_id = $2) AND ($3::text[] IS NULL OR state = ANY ($3))
            AND (NOT $4 OR c.starred_at IS NOT NULL)
            AND ($5::timestamptz IS NULL OR c.expires_at < $5)
            AND ($6::timestamptz IS NULL OR c.expires_at >= $6)
        """

    /// The SQL of the scanned coupons, in the order of the listing.
    private static func looked(_ filter: CouponFilter) -> String {
        let all = "SELECT c.*, coupons.state_of(c, now()) AS state FROM coupons.coupons c"
        if filter.personID != nil {
            // A person has few coupons: use the index of their origins, not a scan by id.
            return """
                SELECT * FROM (\(all) WHERE c.person_id = $1 OFFSET 0) AS theirs
                WHERE $7::bigint IS NULL OR id < $7 ORDER BY id DESC LIMIT $8
                """
        }
        if filter.goesByExpiry {
            return """
                \(all)
                WHERE c.redeemed_at IS NULL AND c.voided_at IS NULL AND c.expired_at IS NULL
                  AND c.expires_at >= coalesce($6::timestamptz, '-infinity')
                  AND c.expires_at < coalesce($5::timestamptz, 'infinity')
                  AND (c.expires_at, c.id) > (coalesce(
                    (SELECT b.expires_at FROM coupons.coupons b WHERE b.id = $7), '-infinity'),
                    coalesce($7::bigint, 0))
                  AND $1::bigint IS NULL
                ORDER BY c.expires_at, c.id LIMIT $8
                """
        }
        return """
            \(all)
            WHERE c.id < coalesce($7::bigint, 9223372036854775807) AND $1::bigint IS NULL
            ORDER BY c.id DESC LIMIT $8
            """
    }

    private static func order(_ filter: CouponFilter) -> String {
        filter.goesByExpiry ? "c.expires_at, c.id" : "c.id DESC"
    }

    private static func listing(_ filter: CouponFilter) -> String {
        """
        SELECT \(CouponRecord.columns)
        FROM (
            SELECT * FROM (\(looked(filter))) AS c WHERE \(passes)
            ORDER BY \(order(filter)) LIMIT $9
        ) AS c JOIN establishments.establishments e ON e.id = c.establishment_id
        ORDER BY \(order(filter))
        """
    }

    /// The SQL of the id at which a scan stopped; no row when it scanned all coupons.
    ///
    /// It casts the unused parameters because PostgreSQL needs the types of all.
    private static func end(_ filter: CouponFilter) -> String {
        """
        SELECT c.id FROM (\(looked(filter))) AS c
        WHERE $2::bigint IS NULL OR $3::text[] IS NULL OR $4 IS NOT NULL
            OR ($5::timestamptz IS NULL AND $6::timestamptz IS NULL)
        ORDER BY \(order(filter)) OFFSET $8 - 1 LIMIT least($9, 1)
        """
    }

    /// Returns one page of the coupons that match a filter, newest first; sorted by expiry if
    /// ``CouponFilter/goesByExpiry``.
    ///
    /// The scan stops early when few coupons match: see ``CouponPage/stoppedAt``.
    package func page(_ filter: CouponFilter) async throws -> CouponPage {
        let parameters: [Parameter] = [
            .optional(filter.personID), .optional(filter.establishmentID),
            filter.states.map { .textArray($0.map(\.rawValue)) } ?? .null,
            .bool(filter.isStarred), .optional(filter.expiresBefore),
            .optional(filter.expiresFrom), .optional(filter.behind), .int64(Self.reach),
            .int64(Int64(filter.limit)),
        ]
        let rows = try await session.query(Self.listing(filter), parameters)
        let page = CouponPage(coupons: try rows.map(CouponRecord.init))
        guard filter.personID == nil, page.coupons.count < filter.limit else { return page }
        let end = try await session.query(Self.end(filter), parameters)
        return CouponPage(coupons: page.coupons, stoppedAt: try end.first?.int64("id"))
    }

    private static let one = """
        SELECT \(CouponRecord.columns)
        FROM (
            SELECT c.*, coupons.state_of(c, now()) AS state
            FROM coupons.coupons c WHERE c.id = $1
        ) AS c JOIN establishments.establishments e ON e.id = c.establishment_id
        """

    /// Returns a coupon and its redemption, if any; nil if no coupon has the id.
    package func coupon(
        _ id: Int64
    ) async throws -> (coupon: CouponRecord, redemption: Redemption?)? {
        let rows = try await session.pipeline(
            [Self.one, Redemption.ofCoupon].map { Statement($0, [.int64(id)]) })
        guard let row = rows[0].first else { return nil }
        return (try CouponRecord(row), try rows[1].first.map(Redemption.init))
    }
}
