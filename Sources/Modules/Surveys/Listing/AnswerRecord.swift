package import ErrandPostgres

/// The completion of an invitation, with its review; without answers.
package struct CompletionRecord: Sendable {
    package var invitationID: Int64
    package var surveyID: Int64
    package var version: Int
    package var title: String
    package var establishmentID: Int64
    package var branchID: Int64?
    /// Nil once the person is erased, and 13 months after the completion.
    package var personID: Int64?
    package var completedAt: Instant
    package var secondsSpent: Int
    /// The stated duration.
    package var minutes: Int
    /// counted, review or rejected.
    package var state: String
    package var couponID: Int64?
    /// Its name in the ledger, the coupons and the reviews of missions; nil without a person.
    package var origin: String?
    package var review: Review?

    /// The review of the answers.
    package struct Review: Sendable {
        package var sampledAt: Instant
        package var flags: [String]
        /// good, bad or fraud; nil while it waits.
        package var verdict: String?
        package var reviewedAt: Instant?
        package var actor: String?
        package var note: String?
    }

    /// The columns of `c`, a completion, `v`, its version, and `r`, its review or nulls, but for
    /// the note, which inspectors may not read.
    static let columns = """
        c.invitation_id, c.survey_id, c.version, v.title, c.establishment_id, c.branch_id,
            c.person_id, c.completed_at, c.seconds_spent, v.minutes, c.state, c.coupon_id,
            c.origin, r.sampled_at, r.flags, r.verdict, r.reviewed_at, r.actor
        """

    init(_ row: Row) throws {
        invitationID = try row.int64("invitation_id")
        surveyID = try row.int64("survey_id")
        version = Int(try row.int32("version"))
        title = try row.text("title")
        establishmentID = try row.int64("establishment_id")
        branchID = try row.optionalInt64("branch_id")
        personID = try row.optionalInt64("person_id")
        completedAt = try row.timestamp("completed_at")
        secondsSpent = Int(try row.int32("seconds_spent"))
        minutes = Int(try row.int32("minutes"))
        state = try row.text("state")
        couponID = try row.optionalInt64("coupon_id")
        origin = try row.optionalText("origin")
        guard let sampledAt = try row.optionalTimestamp("sampled_at") else { return }
        review = Review(
            sampledAt: sampledAt, flags: try row.optionalTextArray("flags") ?? [],
            verdict: try row.optionalText("verdict"),
            reviewedAt: try row.optionalTimestamp("reviewed_at"),
            actor: try row.optionalText("actor"), note: try row.optionalText("note"))
    }
}

/// The answer to one question, in words.
package struct AnswerRecord: Sendable {
    package var number: Int
    package var kind: String
    package var label: String
    /// The rating, the options, yes or no, or the text; nil without an answer.
    package var answer: String?

    /// Reads the answers of the invitation $1, each as JSON; of texts only the length unless $2.
    static let statement = """
        SELECT q.number::int AS number, q.kind::text AS kind, q.label,
            CASE WHEN a.value IS NULL THEN NULL ELSE CASE q.kind
                WHEN 'choice' THEN q.options[(a.value #>> '{}')::int]
                WHEN 'many' THEN (SELECT coalesce(string_agg(q.options[o::int], ', '), '')
                    FROM jsonb_array_elements_text(a.value) AS o)
                WHEN 'yes_no' THEN CASE a.value WHEN 'true' THEN 'yes' ELSE 'no' END
                WHEN 'text' THEN CASE WHEN $2 THEN a.value #>> '{}'
                    ELSE '(hidden, ' || length(a.value #>> '{}') || ' characters)' END
                ELSE a.value #>> '{}' END END AS answer
        FROM surveys.completions c
        JOIN surveys.questions q ON q.survey_id = c.survey_id AND q.version = c.version
        CROSS JOIN LATERAL (SELECT c.answers -> q.number::text AS value OFFSET 0) AS a
        WHERE c.invitation_id = $1 ORDER BY q.number
        """

    init(_ row: Row) throws {
        number = Int(try row.int32("number"))
        kind = try row.text("kind")
        label = try row.text("label")
        answer = try row.optionalText("answer")
    }
}

extension SurveyRows {
    private static let completion = """
        SELECT \(CompletionRecord.columns), r.note
        FROM surveys.completions c
        JOIN surveys.versions v ON v.survey_id = c.survey_id AND v.version = c.version
        LEFT JOIN surveys.reviews r ON r.invitation_id = c.invitation_id
        WHERE c.invitation_id = $1
        """

    /// Returns the completion of an invitation; nil if it was not completed.
    package func completion(_ invitation: Int64) async throws -> CompletionRecord? {
        try await session.query(Self.completion, [.int64(invitation)]).map(CompletionRecord.init)
            .first
    }

    /// Returns the answers of an invitation, in words.
    ///
    /// - Parameter withTexts: whether to return what the person wrote; else its length.
    package func answers(
        of invitation: Int64, withTexts: Bool
    ) async throws -> [AnswerRecord] {
        try await session.query(
            AnswerRecord.statement, [.int64(invitation), .bool(withTexts)]
        ).map(AnswerRecord.init)
    }

    private static let waiting = """
        SELECT \(CompletionRecord.columns), NULL AS note
        FROM surveys.reviews r
        JOIN surveys.completions c ON c.invitation_id = r.invitation_id
        JOIN surveys.versions v ON v.survey_id = c.survey_id AND v.version = c.version
        WHERE r.verdict IS NULL AND (NOT $1 OR r.flags <> '{}')
          AND ($2::bigint IS NULL OR c.establishment_id = $2)
          AND (r.sampled_at, r.invitation_id) > (coalesce((SELECT b.sampled_at
              FROM surveys.reviews b WHERE b.invitation_id = $3), '-infinity'), coalesce($3, 0))
        ORDER BY r.sampled_at, r.invitation_id LIMIT $4
        """

    /// Returns one page of the answers that wait for a review, longest first.
    ///
    /// - Parameter behind: the invitation of the last one of the previous page.
    package func waiting(
        flagged: Bool, establishment: Int64?, behind: Int64?, limit: Int
    ) async throws -> [CompletionRecord] {
        try await session.query(
            Self.waiting,
            [
                .bool(flagged), .optional(establishment), .optional(behind),
                .int64(Int64(limit)),
            ]
        ).map(CompletionRecord.init)
    }
}
