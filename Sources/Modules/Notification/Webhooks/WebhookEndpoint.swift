package import ErrandDelivery
package import ErrandPostgres

/// An endpoint of an owner's events, without its secrets.
package struct WebhookEndpoint: Sendable {
    package var id: Int64
    /// The owner of its events.
    package var owner: String
    /// May contain credentials.
    package var url: Secret
    /// The kinds of event that it receives, or `*`.
    package var events: [String]
    package var createdAt: Instant
    package var disabledAt: Instant?
    package var disabledReason: String?
    /// The time of the first failure since the last success.
    package var failingSince: Instant?
    /// Whether two secrets sign: during a rotation.
    package var hasTwoSecrets: Bool
    /// The number of pending deliveries, at most 1,000.
    package var waiting: Int

    static let columns = """
        e.id, e.owner, e.url, e.events, e.created_at, e.disabled_at, e.disabled_reason,
            e.failing_since, notification.has_two_secrets(e.id) AS has_two_secrets,
            (SELECT count(*) FROM (SELECT FROM notification.event_deliveries d
                WHERE d.endpoint_id = e.id AND d.status = 'pending' LIMIT 1000) w) AS waiting
        """

    init(_ row: Row) throws {
        id = try row.int64("id")
        owner = try row.text("owner")
        url = Secret(try row.text("url"))
        events = try row.textArray("events")
        createdAt = try row.timestamp("created_at")
        disabledAt = try row.optionalTimestamp("disabled_at")
        disabledReason = try row.optionalText("disabled_reason")
        failingSince = try row.optionalTimestamp("failing_since")
        hasTwoSecrets = try row.bool("has_two_secrets")
        waiting = Int(try row.int64("waiting"))
    }

    /// The scheme and host of its URL, without credentials.
    package var place: String { WebhookMessage.place(of: url.revealed) }
}

/// The delivery of one event to one endpoint.
package struct WebhookRecord: Sendable {
    package var id: Int64
    package var eventID: Int64
    package var endpointID: Int64
    package var kind: String
    package var owner: String
    package var dedupeKey: String
    /// A value of `notification.delivery_status`.
    package var status: String
    package var attempts: Int
    /// The endpoint's answer, or why nothing was sent.
    package var reply: String?
    package var createdAt: Instant
    package var answeredAt: Instant?
    package var expiresAt: Instant

    static let columns = """
        d.id, d.event_id, d.endpoint_id, v.kind, v.owner, v.dedupe_key, d.status::text AS status,
            d.attempts, d.reply, d.created_at, d.answered_at, v.expires_at
        """

    init(_ row: Row) throws {
        id = try row.int64("id")
        eventID = try row.int64("event_id")
        endpointID = try row.int64("endpoint_id")
        kind = try row.text("kind")
        owner = try row.text("owner")
        dedupeKey = try row.text("dedupe_key")
        status = try row.text("status")
        attempts = Int(try row.int16("attempts"))
        reply = try row.optionalText("reply")
        createdAt = try row.timestamp("created_at")
        answeredAt = try row.optionalTimestamp("answered_at")
        expiresAt = try row.timestamp("expires_at")
    }
}
