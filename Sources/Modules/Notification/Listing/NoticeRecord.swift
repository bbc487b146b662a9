package import ErrandPostgres

/// The status of a notice: the values of `notification.notice_status`.
package enum NoticeStatus: String, CaseIterable, Sendable {
    case intended, held, pending, sent, merged, dropped, refused, expired, failed, withdrawn

    /// Whether few notices have it; an index covers them (`is_uncommon`).
    var isUncommon: Bool {
        switch self {
        case .held, .refused, .expired, .failed, .withdrawn: true
        case .intended, .pending, .sent, .merged, .dropped: false
        }
    }
}

/// The row of a notice.
package struct NoticeRecord: Sendable {
    package var id: Int64
    package var publicID: String
    package var personID: Int64
    package var kind: String
    package var subject: String
    package var dedupeKey: String
    /// A value of `notification.notice_status`.
    package var status: String
    package var reason: String?
    /// Nil until the decision.
    package var app: String?
    package var urgency: String?
    package var createdAt: Instant
    package var decidedAt: Instant?
    package var answeredAt: Instant?
    package var expiresAt: Instant
    package var holdUntil: Instant?
    package var holdReason: String?
    package var senderID: Int64?
    package var mergedInto: Int64?
    /// The job that recorded or decided it.
    package var jobID: Int64?

    /// The columns without casts: all but the facts, which may be personal.
    static let stored = """
        id, public_id, person_id, kind, subject, dedupe_key, status, reason, app, urgency,
            created_at, decided_at, answered_at, expires_at, hold_until, hold_reason, sender_id,
            merged_into, job_id
        """

    static let columns = """
        id, public_id::text AS public_id, person_id, kind, subject, dedupe_key,
            status::text AS status, reason, app, urgency, created_at, decided_at, answered_at,
            expires_at, hold_until, hold_reason, sender_id, merged_into, job_id
        """

    init(_ row: Row) throws {
        id = try row.int64("id")
        publicID = try row.text("public_id")
        personID = try row.int64("person_id")
        kind = try row.text("kind")
        subject = try row.text("subject")
        dedupeKey = try row.text("dedupe_key")
        status = try row.text("status")
        reason = try row.optionalText("reason")
        app = try row.optionalText("app")
        urgency = try row.optionalText("urgency")
        createdAt = try row.timestamp("created_at")
        decidedAt = try row.optionalTimestamp("decided_at")
        answeredAt = try row.optionalTimestamp("answered_at")
        expiresAt = try row.timestamp("expires_at")
        holdUntil = try row.optionalTimestamp("hold_until")
        holdReason = try row.optionalText("hold_reason")
        senderID = try row.optionalInt64("sender_id")
        mergedInto = try row.optionalInt64("merged_into")
        jobID = try row.optionalInt64("job_id")
    }
}

/// A person's device, without its token.
package struct DeviceRecord: Sendable {
    package var id: Int64
    package var app: String
    /// `apns` or `fcm`.
    package var platform: String
    package var environment: String
    package var topic: String
    /// The last four characters of the token, to distinguish devices.
    package var tokenEnd: String
    package var registeredAt: Instant
    package var disabledAt: Instant?
    package var disabledReason: String?

    /// Reads a person's devices; the token stays in the database.
    static let ofPerson = """
        SELECT id, app, platform, environment, topic,
            CASE WHEN length(token) > 8 THEN right(token, 4) ELSE '' END AS token_end,
            registered_at, disabled_at, disabled_reason
        FROM notification.devices WHERE person_id = $1 ORDER BY id DESC
        """

    init(_ row: Row) throws {
        id = try row.int64("id")
        app = try row.text("app")
        platform = try row.text("platform")
        environment = try row.text("environment")
        topic = try row.text("topic")
        tokenEnd = try row.text("token_end")
        registeredAt = try row.timestamp("registered_at")
        disabledAt = try row.optionalTimestamp("disabled_at")
        disabledReason = try row.optionalText("disabled_reason")
    }
}
