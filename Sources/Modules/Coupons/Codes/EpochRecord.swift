package import ErrandPostgres
import ErrandSealing

/// A code epoch as operators see it, without its secret.
package struct EpochRecord: Sendable {
    package var series: CodeSeries
    package var startsAt: Instant
    /// The start of the next epoch; nil for the last.
    package var endsAt: Instant?
    package var goodUntil: Instant
    package var slot: Int
    /// The name of the key that sealed its secret.
    package var key: String?
    /// Whether PostgreSQL has the secret in memory to create and check codes.
    package var isOpen: Bool
    package var isPresent: Bool
    package var isOver: Bool

    private static let statement = """
        SELECT e.series, e.starts_at,
            lead(e.starts_at) OVER (PARTITION BY e.series ORDER BY e.starts_at) AS ends_at,
            e.good_until, e.slot, \(CouponKinds.sealed[0].keyName) AS key,
            o.series IS NOT NULL AS is_open,
            e.starts_at <= now() AND NOT EXISTS (
                SELECT FROM coupons.epochs n
                WHERE n.series = e.series AND n.starts_at > e.starts_at AND n.starts_at <= now()
            ) AS is_present,
            e.starts_at <= now() AS has_begun
        FROM coupons.epochs e LEFT JOIN coupons.open_secrets o USING (series, starts_at)
        ORDER BY e.series, e.starts_at
        """

    /// Returns all epochs, sorted by series and start.
    package static func list(_ session: Session) async throws -> [EpochRecord] {
        try await session.query(statement).map { row in
            let word = try row.text("series")
            guard let series = CodeSeries(rawValue: word) else {
                throw PostgresError.decoding("coupons.epochs has the series \(word)")
            }
            let isPresent = try row.bool("is_present")
            return EpochRecord(
                series: series, startsAt: try row.timestamp("starts_at"),
                endsAt: try row.optionalTimestamp("ends_at"),
                goodUntil: try row.timestamp("good_until"), slot: Int(try row.int16("slot")),
                key: try row.optionalText("key"), isOpen: try row.bool("is_open"),
                isPresent: isPresent, isOver: try row.bool("has_begun") && !isPresent)
        }
    }
}
