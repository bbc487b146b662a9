package import ErrandPostgres

/// The state of code rotation, and the guessing of codes.
package struct CodeHealth: Sendable {
    /// One of the two series.
    package struct Series: Sendable {
        package var series: CodeSeries
        /// The configured length of an epoch.
        package var period: Duration
        /// The configured number of epochs to prepare ahead of their start.
        package var ahead: Int
        /// The number of prepared epochs.
        package var waiting: Int
        /// The age of the current epoch; nil when there is none.
        package var age: Duration?
        /// The number of current and future epochs whose secrets are not open.
        package var closed: Int
    }

    package var series: [Series]
    /// Whether any coupon can be redeemed.
    package var hasCoupons: Bool
    /// Bursts of guesses within the last hour.
    package var alerts: Int
    /// The establishment of the last burst.
    package var alertAt: String?

    private static let turning = """
        SELECT s.series, extract(epoch FROM s.period)::bigint AS period, s.ahead,
            count(*) FILTER (WHERE e.starts_at > now()) AS waiting,
            extract(epoch FROM now() - max(e.starts_at) FILTER (WHERE e.starts_at <= now()))
                ::bigint AS age,
            count(*) FILTER (WHERE o.series IS NULL AND (e.starts_at > now() OR e.starts_at = (
                SELECT max(p.starts_at) FROM coupons.epochs p
                WHERE p.series = s.series AND p.starts_at <= now()))) AS closed
        FROM coupons.code_series s
        LEFT JOIN coupons.epochs e USING (series)
        LEFT JOIN coupons.open_secrets o ON o.series = e.series AND o.starts_at = e.starts_at
        GROUP BY s.series, s.period, s.ahead ORDER BY s.series
        """
    private static let others = """
        SELECT EXISTS (
                SELECT FROM coupons.coupons
                WHERE redeemed_at IS NULL AND voided_at IS NULL AND expired_at IS NULL
                  AND expires_at > now()
            ) AS has_coupons,
            (SELECT count(*) FROM coupons.alerts WHERE at > now() - interval '1 hour') AS alerts,
            (SELECT coalesce(e.name, a.establishment_id::text)
             FROM coupons.alerts a
             LEFT JOIN establishments.establishments e ON e.id = a.establishment_id
             WHERE a.at > now() - interval '1 hour' ORDER BY a.id DESC LIMIT 1) AS alert_at
        """

    /// Reads the state of all series and the alerts.
    package static func read(_ session: Session) async throws -> CodeHealth {
        let rows = try await session.pipeline([Statement(turning), Statement(others)])
        let series = try rows[0].compactMap { row -> Series? in
            guard let series = CodeSeries(rawValue: try row.text("series")) else { return nil }
            return Series(
                series: series, period: .seconds(try row.int64("period")),
                ahead: Int(try row.int32("ahead")), waiting: Int(try row.int64("waiting")),
                age: try row.optionalInt64("age").map { .seconds($0) },
                closed: Int(try row.int64("closed")))
        }
        guard let row = rows[1].first else { throw PostgresError.decoding("no row") }
        return CodeHealth(
            series: series, hasCoupons: try row.bool("has_coupons"),
            alerts: Int(try row.int64("alerts")), alertAt: try row.optionalText("alert_at"))
    }
}
