import ErrandPostgres

/// A row of `reports.figures`; what people wrote is masked.
struct Figure: Sendable {
    var section: String
    var branch: Int64?
    var survey: Int64?
    var version: Int32?
    var question: Int32?
    var item: Int32?
    var measure: String?
    /// A decimal number without trailing zeros.
    var value: String?
    var name: String?

    static let columns = """
        section, branch_id, survey_id, version, question, item, measure,
        trim_scale(value)::text AS value, CASE WHEN section IN ('text', 'mission_answer')
            THEN surveys.masked(name) ELSE name END AS name
        """

    init(_ row: Row) throws {
        section = try row.text(0)
        branch = try row.optionalInt64(1)
        survey = try row.optionalInt64(2)
        version = try row.optionalInt32(3)
        question = try row.optionalInt32(4)
        item = try row.optionalInt32(5)
        measure = try row.optionalText(6)
        value = try row.optionalText(7)
        name = try row.optionalText(8)
    }
}

/// A version of a survey.
struct SurveyKey: Hashable, Comparable, Sendable {
    var survey: Int64
    var version: Int32

    static func < (left: Self, right: Self) -> Bool {
        (left.survey, left.version) < (right.survey, right.version)
    }
}

/// A question of a version.
struct QuestionKey: Hashable, Comparable, Sendable {
    var survey: SurveyKey
    var number: Int32

    static func < (left: Self, right: Self) -> Bool {
        (left.survey, left.number) < (right.survey, right.number)
    }
}

/// What was asked.
struct Question: Sendable {
    var kind: String
    var label: String
    var options: [String] = []
}

/// How a question was answered, in the whole establishment or at one branch.
struct AnswerFigures: Sendable {
    /// answered, mean and median.
    var measures: [String: String] = [:]
    /// The count and the share of each item, from 1.
    var items: [Int32: (count: String, share: String)] = [:]
}
