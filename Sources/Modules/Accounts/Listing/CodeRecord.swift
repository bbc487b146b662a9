package import ErrandPostgres

/// A code that was requested, without the code.
package struct CodeRecord: Sendable {
    package var id: Int64
    package var app: String
    /// sign_in or verify_address.
    package var purpose: String
    package var address: String
    /// The account to which it was sent.
    package var person: Int64?
    /// waiting, sent, no_account, not_sent, locked, expired, used, replaced or address_changed.
    package var state: String
    /// The number of wrong codes.
    package var tries: Int
    package var requestedAt: Instant
    package var sentAt: Instant?
    package var expiresAt: Instant

    static let columns = """
        c.id, c.app, c.purpose, c.address, c.person_id,
        CASE WHEN c.end_reason IS NOT NULL THEN c.end_reason
            WHEN c.expires_at <= now() THEN 'expired'
            WHEN accounts.tries_in(c.id) >= (SELECT r.tries FROM accounts.rules r) THEN 'locked'
            WHEN c.sent_at IS NULL THEN 'waiting'
            WHEN c.is_mailed THEN 'sent'
            WHEN c.purpose = 'sign_in' AND c.person_id IS NULL THEN 'no_account'
            ELSE 'not_sent' END AS state,
        accounts.tries_in(c.id) AS tries, c.requested_at, c.sent_at, c.expires_at
        """

    init(_ row: Row) throws {
        id = try row.int64("id")
        app = try row.text("app")
        purpose = try row.text("purpose")
        address = try row.text("address")
        person = try row.optionalInt64("person_id")
        state = try row.text("state")
        tries = Int(try row.int32("tries"))
        requestedAt = try row.timestamp("requested_at")
        sentAt = try row.optionalTimestamp("sent_at")
        expiresAt = try row.timestamp("expires_at")
    }
}
