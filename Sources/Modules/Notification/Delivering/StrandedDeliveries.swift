package import ErrandPostgres

/// Deliveries that wait because their worker lacks the provider.
package struct StrandedDeliveries: Sendable {
    /// A name in ``Provider``.
    package var provider: String
    /// The number of waiting deliveries, at most ``limit``.
    package var count: Int

    /// The number of waiting jobs whose deliveries it checks.
    package static let limit = 10_000

    /// The reply of each such delivery.
    static let reply = "it is not set up in this worker"

    private static let statement = """
        SELECT d.provider, count(*)
        FROM (
            SELECT \(CloseUndelivered.id("delivery_id")) AS id FROM errand.jobs j
            WHERE queue = ANY ($1) AND kind = $2 LIMIT $4
        ) j JOIN notification.deliveries d ON d.id = j.id
        WHERE d.status = 'pending' AND d.reply = $3
        GROUP BY 1 ORDER BY 1
        """

    /// Reads the current ones, by provider.
    package static func read(_ session: Session) async throws -> [StrandedDeliveries] {
        try await session.query(
            statement,
            [
                .textArray([Provider.apns, Provider.fcm]), .text(PushDelivery.kind), .text(reply),
                .int64(Int64(limit)),
            ]
        ).map { StrandedDeliveries(provider: try $0.text(0), count: Int(try $0.int64(1))) }
    }
}
