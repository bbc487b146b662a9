import Errand
package import ErrandPostgres

/// What operators do to surveys and answers, each with its line of the audit.
package struct SurveyChanges: Sendable {
    private let session: Session
    private let actor: String

    package init(session: Session, actor: String) {
        self.session = session
        self.actor = actor
    }

    /// A survey, as `surveys.put_survey` takes it.
    package struct Survey: Sendable {
        package var id: Int64
        package var establishmentID: Int64
        package var title: String
        package var minutes: Int
        package var expiresDays: Int
        package var paid: Int64
        package var cut: Int64
        package var currency: String
        package var couponTitle: String?
        package var couponDays: Int
        /// The questions as a JSON array.
        package var questions: [UInt8]
        package var isForReceipts: Bool
    }

    // Others may wait behind one who waits for a lock: not for long.
    private static let limit = Statement("SET LOCAL lock_timeout = '5s'")

    private func run<Value: Sendable>(
        _ action: String, _ subject: String, reason: String?, _ statement: Statement,
        read: @escaping @Sendable (Rows) throws -> Value
    ) async throws -> Value {
        let line = AuditLine(
            operatorName: actor, action: action, subject: subject, reason: reason)
        return try await session.transaction { session in
            let rows = try session.pipeline([Self.limit, statement])
            let value = try read(rows[1])
            _ = try session.pipeline([line.statement])
            return value
        }
    }

    private static let put = """
        SELECT surveys.put_survey($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11::text::jsonb, $12)
        """

    /// Adds or changes a survey, and returns its version.
    package func put(_ survey: Survey, reason: String?) async throws -> Int {
        let parameters: [Parameter] = [
            .int64(survey.id), .int64(survey.establishmentID), .text(survey.title),
            .int32(Int32(survey.minutes)), .int32(Int32(survey.expiresDays)),
            .int64(survey.paid), .int64(survey.cut), .text(survey.currency),
            .optional(survey.couponTitle), .int32(Int32(survey.couponDays)),
            .text(String(decoding: survey.questions, as: UTF8.self)),
            .bool(survey.isForReceipts),
        ]
        return try await run(
            "survey put", "survey \(survey.id)", reason: reason, Statement(Self.put, parameters)
        ) { Int(try $0.int32(0, 0)) }
    }

    private static let close = "SELECT surveys.close_survey($1)"

    /// Closes a survey, and returns when it was closed.
    package func close(_ survey: Int64, reason: String?) async throws -> Instant {
        try await run(
            "survey close", "survey \(survey)", reason: reason,
            Statement(Self.close, [.int64(survey)])
        ) { try $0.timestamp(0, 0) }
    }

    /// What a reviewer says of answers.
    package enum Verdict: String, Sendable, CaseIterable {
        case good
        /// Careless.
        case bad
        /// Bad, with proof.
        case fraud
    }

    private static let review = "SELECT surveys.review($1, $2, $3, $4)"

    /// Records a verdict on answers; false if the same was said before.
    ///
    /// - Parameter note: the reason; required unless the verdict is good.
    package func review(
        _ invitation: Int64, _ verdict: Verdict, note: String?
    ) async throws -> Bool {
        try await run(
            "survey review", "invitation \(invitation): \(verdict.rawValue)", reason: note,
            Statement(
                Self.review,
                [
                    .int64(invitation), .text(verdict.rawValue), .text(actor), .optional(note),
                ])
        ) { try $0.text(0, 0) != "same" }
    }
}
