package import ErrandPostgres

/// The purpose of a link.
package enum LinkKind: String, Sendable, CaseIterable {
    case reset, invitation
}

/// A reset link or an invitation, without the link.
package struct LinkRecord: Sendable {
    package var id: Int64
    package var app: String
    package var address: String
    /// The account to reset, or the person who has accepted the invitation.
    package var person: Int64?
    package var inviter: Int64?
    /// waiting, sent, no_account, not_sent, expired, used, replaced, address_changed, withdrawn or
    /// declined.
    package var state: String
    package var requestedAt: Instant
    package var sentAt: Instant?
    package var remindedAt: Instant?
    package var expiresAt: Instant
    package var endedAt: Instant?

    static let columns = """
        l.id, l.app, l.address, l.person_id, l.inviter_id,
        CASE WHEN l.end_reason IS NOT NULL THEN l.end_reason
            WHEN l.expires_at <= now() THEN 'expired'
            WHEN l.sent_at IS NULL THEN 'waiting'
            WHEN l.is_mailed THEN 'sent'
            WHEN l.kind = 'reset' AND l.person_id IS NULL THEN 'no_account'
            ELSE 'not_sent' END AS state,
        l.requested_at, l.sent_at, l.reminded_at, l.expires_at, l.ended_at
        """

    init(_ row: Row) throws {
        id = try row.int64("id")
        app = try row.text("app")
        address = try row.text("address")
        person = try row.optionalInt64("person_id")
        inviter = try row.optionalInt64("inviter_id")
        state = try row.text("state")
        requestedAt = try row.timestamp("requested_at")
        sentAt = try row.optionalTimestamp("sent_at")
        remindedAt = try row.optionalTimestamp("reminded_at")
        expiresAt = try row.timestamp("expires_at")
        endedAt = try row.optionalTimestamp("ended_at")
    }
}

/// Where the links of an app lead.
package struct LinkTemplate: Sendable {
    package var app: String
    package var kind: String
    /// Contains `{token}`.
    package var template: String
    package var changedAt: Instant

    init(_ row: Row) throws {
        app = try row.text("app")
        kind = try row.text("kind")
        template = try row.text("template")
        changedAt = try row.timestamp("changed_at")
    }
}
