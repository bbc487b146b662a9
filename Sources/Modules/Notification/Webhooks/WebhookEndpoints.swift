package import ErrandCrypto
package import ErrandDelivery
import Errand
package import ErrandPostgres
package import ErrandSealing

/// Reads and changes endpoints for operators.
///
/// Records each change in the audit log, without URL and secret.
package struct WebhookEndpoints: Sendable {
    /// The columns of sealed secrets.
    package static let sealed = ["secret", "previous_secret"].map { column in
        SealedColumn(
            "notification.endpoints", column, key: [.init("id", "bigint")],
            context: "'notification.endpoints/' || id")
    }

    /// Returns the sealing context of an endpoint's secrets; the same for both, as they change
    /// places.
    static func context(_ id: Int64) -> String { "notification.endpoints/\(id)" }

    /// The author of a change, and the reason.
    package struct Author: Sendable {
        package var name: String
        package var reason: String?

        /// Creates an author from an operator's name.
        package init(_ name: String, reason: String?) {
            self.name = name
            self.reason = reason
        }

        func line(_ action: String, _ id: Int64, _ change: [UInt8]? = nil) -> Statement {
            AuditLine(
                operatorName: name, action: action, subject: "endpoint \(id)", reason: reason,
                change: change
            ).statement
        }
    }

    /// The result of a change.
    package enum Change: Sendable {
        case done, unknown
        /// The state of the endpoint does not allow the change.
        case unfit
    }

    private let session: Session

    package init(session: Session) { self.session = session }

    // MARK: Reading

    /// Returns the endpoints of one owner or all, ordered by id, after the id `place`.
    package func list(
        owner: String?, behind place: Int64 = 0, limit: Int
    ) async throws -> [WebhookEndpoint] {
        try await session.query(
            """
            SELECT \(WebhookEndpoint.columns) FROM notification.endpoints e
            WHERE ($1::text IS NULL OR e.owner = $1) AND e.id > $2 ORDER BY e.id LIMIT $3
            """, [.optional(owner), .int64(place), .int64(Int64(limit))]
        ).map(WebhookEndpoint.init)
    }

    /// Returns one endpoint; nil if it does not exist.
    package func one(_ id: Int64) async throws -> WebhookEndpoint? {
        try await session.query(
            "SELECT \(WebhookEndpoint.columns) FROM notification.endpoints e WHERE e.id = $1",
            [.int64(id)]
        ).first.map(WebhookEndpoint.init)
    }

    /// Returns deliveries of events, newest first, before the id `place`.
    package func events(
        endpoint: Int64?, status: String? = nil, before place: Int64? = nil, limit: Int
    ) async throws -> [WebhookRecord] {
        try await session.query(
            """
            SELECT \(WebhookRecord.columns)
            FROM notification.event_deliveries d JOIN notification.events v ON v.id = d.event_id
            WHERE ($1::bigint IS NULL OR d.endpoint_id = $1)
              AND ($2::text IS NULL OR d.status = $2::notification.delivery_status)
              AND ($3::bigint IS NULL OR d.id < $3)
            ORDER BY d.id DESC LIMIT $4
            """,
            [.optional(endpoint), .optional(status), .optional(place), .int64(Int64(limit))]
        ).map(WebhookRecord.init)
    }

    /// Returns one delivery; nil if it does not exist.
    package func event(_ id: Int64) async throws -> WebhookRecord? {
        try await session.query(
            """
            SELECT \(WebhookRecord.columns)
            FROM notification.event_deliveries d JOIN notification.events v ON v.id = d.event_id
            WHERE d.id = $1
            """, [.int64(id)]
        ).first.map(WebhookRecord.init)
    }

    // MARK: Changing

    /// Adds an endpoint, and returns its secret, which is never shown again.
    package func add(
        owner: String, url: Secret, events: [String], keys: SealingKeys, by author: Author
    ) async throws -> (id: Int64, secret: String) {
        let id = try await session.query(
            "SELECT nextval(pg_get_serial_sequence('notification.endpoints', 'id'))"
        ).int64(0, 0)
        let (text, sealed) = try Self.newSecret(id, keys)
        struct Added: Encodable {
            var owner: String
            var place: String
            var events: [String]
        }
        let place = WebhookMessage.place(of: url.revealed)
        _ = try await session.pipeline([
            Statement(
                """
                INSERT INTO notification.endpoints (id, owner, url, events, secret)
                VALUES ($1, $2, $3, $4, $5)
                """,
                [
                    .int64(id), .text(owner), .text(url.revealed), .textArray(events),
                    .bytes(sealed),
                ]),
            author.line(
                "webhook add", id,
                try AuditLine.json(Added(owner: owner, place: place, events: events))),
        ])
        return (id, text)
    }

    /// Creates a second secret; both sign until ``finishSecret(_:by:)``.
    ///
    /// - Returns: the new secret; nil if there are already two, or the endpoint does not exist.
    package func rotateSecret(
        _ id: Int64, keys: SealingKeys, by author: Author
    ) async throws -> (change: Change, secret: String?) {
        let (text, sealed) = try Self.newSecret(id, keys)
        let change = try await change(
            id, to: "previous_secret = secret, secret = $2", [.bytes(sealed)],
            where: "previous_secret IS NULL", author.line("webhook secret --rotate", id))
        return (change, change == .done ? text : nil)
    }

    /// Removes the old secret, so that only the new one signs.
    package func finishSecret(_ id: Int64, by author: Author) async throws -> Change {
        try await change(
            id, to: "previous_secret = NULL", where: "previous_secret IS NOT NULL",
            author.line("webhook secret --finish", id))
    }

    /// Enables an endpoint.
    ///
    /// Events that occurred while it was disabled are not sent.
    package func enable(_ id: Int64, by author: Author) async throws -> Change {
        try await change(
            id,
            to: """
                disabled_at = NULL, disabled_reason = NULL, failing_since = NULL, failed_at = NULL
                """,
            where: "disabled_at IS NOT NULL", author.line("webhook enable", id))
    }

    /// Disables an endpoint.
    ///
    /// Its jobs withdraw the pending deliveries.
    package func disable(_ id: Int64, by author: Author) async throws -> Change {
        let words = "disabled by an operator" + (author.reason.map { ": \($0)" } ?? "")
        return try await change(
            id, to: "disabled_at = clock_timestamp(), disabled_reason = $2", [.text(words)],
            where: "disabled_at IS NULL", author.line("webhook disable", id))
    }

    /// Removes an endpoint with its URL and secrets, and keeps the record of its events.
    package func remove(_ id: Int64, by author: Author) async throws -> Change {
        try await session.transaction { session in
            let removed = try session.query(
                "DELETE FROM notification.endpoints WHERE id = $1", [.int64(id)])
            guard removed.affected == 1 else { return .unknown }
            _ = try session.query(author.line("webhook rm", id))
            return .done
        }
    }

    /// Sends an event of the kind `webhook.test` to one endpoint.
    ///
    /// - Returns: the id of its delivery.
    package func test(
        _ endpoint: WebhookEndpoint, for limit: Duration, by author: Author
    ) async throws -> Int64 {
        try await session.transaction { session in
            let event = try session.query(
                """
                INSERT INTO notification.events (kind, owner, data, occurred_at, expires_at,
                    dedupe_key)
                VALUES ($1, $2, jsonb_build_object('endpoint', $3::bigint), now(),
                    now() + $4 * interval '1 second', 'webhook.test:' || gen_random_uuid())
                RETURNING id
                """,
                [
                    .text(WebhookDelivery.test), .text(endpoint.owner), .int64(endpoint.id),
                    .double(limit / .seconds(1)),
                ]
            ).int64(0, 0)
            _ = try session.query(author.line("webhook test", endpoint.id))
            return try session.query(
                "SELECT * FROM notification.send_event($1, $2)",
                [.int64(event), .int64Array([endpoint.id])]
            ).int64(0, 0)
        }
    }

    private static func newSecret(
        _ id: Int64, _ keys: SealingKeys
    ) throws(CryptoError) -> (text: String, sealed: [UInt8]) {
        let secret = try SecretBytes.random(32)
        return (WebhookSecret.text(of: secret), try keys.seal(secret, context: context(id)))
    }

    private func change(
        _ id: Int64, to assignments: String, _ parameters: [Parameter] = [],
        where condition: String, _ line: Statement
    ) async throws -> Change {
        try await session.transaction { session in
            let changed = try session.query(
                Statement(
                    """
                    UPDATE notification.endpoints SET \(assignments)
                    WHERE id = $1 AND \(condition)
                    """,
                    [.int64(id)] + parameters))
            guard changed.affected == 1 else {
                let known = try session.query(
                    "SELECT FROM notification.endpoints WHERE id = $1", [.int64(id)])
                return known.isEmpty ? .unknown : .unfit
            }
            _ = try session.query(line)
            return .done
        }
    }
}
