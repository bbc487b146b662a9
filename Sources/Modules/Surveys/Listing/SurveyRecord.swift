package import ErrandPostgres

/// A survey with its current version.
package struct SurveyRecord: Sendable {
    package var id: Int64
    package var establishmentID: Int64
    package var establishment: String
    package var version: Int
    package var title: String
    package var minutes: Int
    /// The number of days after the purchase in which it can be answered.
    package var expiresDays: Int
    /// What the establishment pays for a completion, in minor units.
    package var paid: Int64
    /// The person's share of it, in minor units.
    package var cut: Int64
    package var currency: String
    package var couponTitle: String?
    package var couponDays: Int?
    /// Whether receipts of the establishment lead to it.
    package var isForReceipts: Bool
    package var putAt: Instant
    package var closedAt: Instant?

    /// The columns of `s`, a survey, `v`, its current version, and `e`, its establishment.
    static let columns = """
        s.id, s.establishment_id, e.name AS establishment, s.version, v.title, v.minutes,
            v.expires_days, v.paid, v.cut, v.currency, v.coupon_title, v.coupon_days,
            s.for_receipts, v.put_at, s.closed_at
        """

    /// The tables of these columns.
    static let tables = """
        surveys.surveys s
        JOIN surveys.versions v ON v.survey_id = s.id AND v.version = s.version
        JOIN establishments.establishments e ON e.id = s.establishment_id
        """

    init(_ row: Row) throws {
        id = try row.int64("id")
        establishmentID = try row.int64("establishment_id")
        establishment = try row.text("establishment")
        version = Int(try row.int32("version"))
        title = try row.text("title")
        minutes = Int(try row.int32("minutes"))
        expiresDays = Int(try row.int32("expires_days"))
        paid = try row.int64("paid")
        cut = try row.int64("cut")
        currency = try row.text("currency")
        couponTitle = try row.optionalText("coupon_title")
        couponDays = try row.optionalInt32("coupon_days").map(Int.init)
        isForReceipts = try row.bool("for_receipts")
        putAt = try row.timestamp("put_at")
        closedAt = try row.optionalTimestamp("closed_at")
    }
}

/// A question of a version.
package struct QuestionRecord: Sendable {
    package var number: Int
    package var kind: String
    package var label: String
    package var isRequired: Bool
    /// What a choice offers; empty for other kinds.
    package var options: [String]

    /// Reads the questions of the version $2 of the survey $1.
    static let statement = """
        SELECT number::int AS number, kind::text AS kind, label, is_required,
            coalesce(options, '{}') AS options
        FROM surveys.questions WHERE survey_id = $1 AND version = $2 ORDER BY number
        """

    init(_ row: Row) throws {
        number = Int(try row.int32("number"))
        kind = try row.text("kind")
        label = try row.text("label")
        isRequired = try row.bool("is_required")
        options = try row.textArray("options")
    }
}

/// The state of an invitation.
package enum InvitationState: String, Sendable, CaseIterable {
    case open, completed, expired, withdrawn
}

/// An invitation of a person to a survey; never with answers.
package struct InvitationRecord: Sendable {
    package var id: Int64
    package var surveyID: Int64
    package var version: Int
    package var title: String
    package var establishmentID: Int64
    package var branchID: Int64?
    /// Nil once the person is erased, and 13 months after the completion.
    package var personID: Int64?
    package var source: String
    package var purchasedAt: Instant
    package var invitedAt: Instant
    package var expiresAt: Instant
    package var state: InvitationState
    package var endedAt: Instant?

    /// The columns of `i`, an invitation, and `v`, its version.
    ///
    /// What has ended by the time of the parameter `now` is expired, whatever the sweep did.
    static func columns(at now: String) -> String {
        """
        i.id, i.survey_id, i.version, v.title, i.establishment_id, i.branch_id, i.person_id,
            i.source, i.purchased_at, i.invited_at, i.expires_at,
            CASE WHEN i.state = 'open' AND i.expires_at <= \(now) THEN 'expired'
                ELSE i.state::text END AS state, i.ended_at
        """
    }

    init(_ row: Row) throws {
        id = try row.int64("id")
        surveyID = try row.int64("survey_id")
        version = Int(try row.int32("version"))
        title = try row.text("title")
        establishmentID = try row.int64("establishment_id")
        branchID = try row.optionalInt64("branch_id")
        personID = try row.optionalInt64("person_id")
        source = try row.text("source")
        purchasedAt = try row.timestamp("purchased_at")
        invitedAt = try row.timestamp("invited_at")
        expiresAt = try row.timestamp("expires_at")
        let word = try row.text("state")
        guard let state = InvitationState(rawValue: word) else {
            throw PostgresError.decoding("surveys.invitations has the state \(word)")
        }
        self.state = state
        endedAt = try row.optionalTimestamp("ended_at")
    }
}
