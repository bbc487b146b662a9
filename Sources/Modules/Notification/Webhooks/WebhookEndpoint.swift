package import ErrandDelivery
package import ErrandPostgres

/// Where an owner's events go, without its secrets.
package struct WebhookEndpoint: Sendable {
    package var id: Int64
    /// Whose events it gets.
    package var owner: String
    /// May hold credentials.
    package var url: Secret
    /// The kinds of event that it wants, or `*`.
    package var events: [String]
    package var createdAt: Instant
    package var disabledAt: Instant?
    package var disabledReason: String?
    /// When it took nothing for the first time since it last took something.
    package var failingSince: Instant?
    /// Whether two secrets sign, while it is changed.
    package var hasTwoSecrets: Bool
    /// Deliveries that have no answer yet, counted up to a thousand.
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

    /// Scheme and host: what is shown of its URL.
    package var place: String { WebhookMessage.place(of: url.revealed) }
}

/// One event on its way to one endpoint.
package struct WebhookRecord: Sendable {
    package var id: Int64
    package var eventID: Int64
    package var endpointID: Int64
    package var kind: String
    package var owner: String
    package var dedupeKey: String
    /// As notification.delivery_status has it.
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
