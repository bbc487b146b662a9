import ErrandCommand
import ErrandPostgres

/// The metrics of webhooks.
enum WebhookMetrics {
    static func families(_ session: Session) async throws -> [MetricFamily] {
        let counts = try await session.query(
            """
            SELECT count(*) FILTER (WHERE disabled_at IS NULL AND failing_since IS NULL) AS live,
                count(*) FILTER (WHERE disabled_at IS NULL AND failing_since IS NOT NULL)
                    AS failing,
                count(disabled_at) AS disabled
            FROM notification.endpoints
            """
        )[0]
        var endpoints = MetricFamily(
            "notification_webhook_endpoints", .gauge,
            "Endpoints of webhooks: live, failing since they last accepted something, disabled")
        for state in ["live", "failing", "disabled"] {
            endpoints.add(Int(try counts.int64(state)), ("state", state))
        }
        return [endpoints]
    }
}
