package import ErrandPostgres

/// A filter of surveys; nil matches all.
package struct SurveyFilter: Sendable {
    package var establishmentID: Int64?
    package var isClosed: Bool?
    /// The id of the last survey of the previous page.
    package var behind: Int64?
    package var limit = 50

    /// Creates a filter that matches all surveys.
    package init() {}
}

/// A filter of invitations; nil matches all.
package struct InvitationFilter: Sendable {
    package var personID: Int64?
    package var surveyID: Int64?
    package var establishmentID: Int64?
    package var state: InvitationState?
    /// The id of the last invitation of the previous page.
    package var behind: Int64?
    package var limit = 50

    /// Creates a filter that matches all invitations.
    package init() {}
}

/// Reads the rows of surveys and invitations.
package struct SurveyRows: Sendable {
    let session: Session

    package init(session: Session) { self.session = session }

    private static let listing = """
        SELECT \(SurveyRecord.columns) FROM \(SurveyRecord.tables)
        WHERE ($1::bigint IS NULL OR s.establishment_id = $1)
          AND ($2::boolean IS NULL OR (s.closed_at IS NOT NULL) = $2)
          AND s.id < coalesce($3, 9223372036854775807)
        ORDER BY s.id DESC LIMIT $4
        """

    /// Returns one page of the surveys that match a filter, highest id first.
    package func page(_ filter: SurveyFilter) async throws -> [SurveyRecord] {
        try await session.query(
            Self.listing,
            [
                .optional(filter.establishmentID), filter.isClosed.map(Parameter.bool) ?? .null,
                .optional(filter.behind), .int64(Int64(filter.limit)),
            ]
        ).map(SurveyRecord.init)
    }

    private static let one = """
        SELECT \(SurveyRecord.columns) FROM \(SurveyRecord.tables) WHERE s.id = $1
        """
    private static let ended = """
        SELECT count(*) FILTER (WHERE i.state = 'open' AND i.expires_at > $3) AS open,
            count(*) FILTER (WHERE i.state = 'completed') AS completed,
            count(*) FILTER (WHERE i.state = 'expired'
                OR i.state = 'open' AND i.expires_at <= $3) AS expired
        FROM surveys.invitations i
        WHERE i.establishment_id = $2 AND i.survey_id = $1
          AND i.invited_at > $3::timestamptz - interval '30 days'
        """

    /// A survey with its questions, and the numbers of its invitations of the last 30 days.
    package struct Whole: Sendable {
        package var survey: SurveyRecord
        package var questions: [QuestionRecord]
        package var open: Int
        package var completed: Int
        package var expired: Int
    }

    /// Returns a survey with its questions; nil if no survey has the id.
    package func survey(_ id: Int64, now: Instant) async throws -> Whole? {
        guard let row = try await session.query(Self.one, [.int64(id)]).first else { return nil }
        let survey = try SurveyRecord(row)
        let rows = try await session.pipeline([
            Statement(QuestionRecord.statement, [.int64(id), .int32(Int32(survey.version))]),
            Statement(
                Self.ended,
                [.int64(id), .int64(survey.establishmentID), .timestamp(now)]),
        ])
        guard let counts = rows[1].first else { throw PostgresError.decoding("no row") }
        return Whole(
            survey: survey, questions: try rows[0].map(QuestionRecord.init),
            open: Int(try counts.int64("open")), completed: Int(try counts.int64("completed")),
            expired: Int(try counts.int64("expired")))
    }

    /// Returns the questions of a version.
    package func questions(of survey: Int64, version: Int) async throws -> [QuestionRecord] {
        try await session.query(
            QuestionRecord.statement, [.int64(survey), .int32(Int32(version))]
        ).map(QuestionRecord.init)
    }

    private static let invitations = """
        SELECT \(InvitationRecord.columns(at: "$7"))
        FROM surveys.invitations i
        JOIN surveys.versions v ON v.survey_id = i.survey_id AND v.version = i.version
        WHERE ($1::bigint IS NULL OR i.person_id = $1)
          -- Its establishment has an index.
          AND ($2::bigint IS NULL OR i.survey_id = $2 AND i.establishment_id = (
              SELECT s.establishment_id FROM surveys.surveys s WHERE s.id = $2))
          AND ($3::bigint IS NULL OR i.establishment_id = $3)
          AND ($4::text IS NULL OR $4 = CASE WHEN i.state = 'open' AND i.expires_at <= $7
              THEN 'expired' ELSE i.state::text END)
          AND i.id < coalesce($5, 9223372036854775807)
        ORDER BY i.id DESC LIMIT $6
        """

    /// Returns one page of the invitations that match a filter, newest first.
    package func invitations(
        _ filter: InvitationFilter, now: Instant
    ) async throws -> [InvitationRecord] {
        try await session.query(
            Self.invitations,
            [
                .optional(filter.personID), .optional(filter.surveyID),
                .optional(filter.establishmentID), .optional(filter.state?.rawValue),
                .optional(filter.behind), .int64(Int64(filter.limit)), .timestamp(now),
            ]
        ).map(InvitationRecord.init)
    }

    private static let invitation = """
        SELECT \(InvitationRecord.columns(at: "$2"))
        FROM surveys.invitations i
        JOIN surveys.versions v ON v.survey_id = i.survey_id AND v.version = i.version
        WHERE i.id = $1
        """

    /// Returns an invitation; nil if none has the id.
    package func invitation(_ id: Int64, now: Instant) async throws -> InvitationRecord? {
        try await session.query(Self.invitation, [.int64(id), .timestamp(now)]).map(
            InvitationRecord.init
        ).first
    }
}
