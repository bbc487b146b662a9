import ErrandGregorian

/// What a report is about.
package struct ReportHead: Sendable {
    package var id: Int64
    package var establishment: Int64
    package var establishmentName: String
    /// weekly, monthly or statement.
    package var kind: String
    /// Such as 2026-W47 or 2026-10.
    package var period: String
    package var firstDay: String
    /// The last day of the period.
    package var lastDay: String
    package var timeZone: String

    /// Such as `Weekly report 2026-W47`.
    package var title: String {
        switch kind {
        case "weekly": "Weekly report \(period)"
        case "monthly": "Monthly report \(period)"
        default: "Statement \(period)"
        }
    }
}

/// The names that a revision shows: they are those of when it was made.
struct ReportNames: Codable, Sendable {
    struct Branch: Codable, Sendable {
        var id: Int64
        var name: String
    }

    var establishment: String
    var branches: [Branch]
}

/// A period of the trend; one without measures is a gap.
struct TrendPeriod: Codable, Sendable {
    var period: String
    var measures: [String: String]
}

/// The figures of a report, without the texts, which may be many.
struct ReportContent: Sendable {
    /// The measures of a summary, in their order.
    static let summaryMeasures = ["given", "completed", "expired"]
    static let couponMeasures = ["granted", "redeemed", "expired", "near_notices"]

    private(set) var head: ReportHead
    private(set) var branches: [(id: Int64, name: String)] = []
    private(set) var names: [Int64: String] = [:]
    private(set) var surveys: [SurveyKey: String] = [:]
    private(set) var questions: [QuestionKey: Question] = [:]
    private(set) var summary: [Int64?: [String: String]] = [:]
    private(set) var answers: [QuestionKey: [Int64?: AnswerFigures]] = [:]
    private(set) var coupons: [String: String] = [:]
    private(set) var missions: [Int64?: String] = [:]
    var trend: [TrendPeriod] = []
    var groups: [GroupCell] = []
    /// The rows that the figures count.
    private(set) var prints: RevisionRule.Prints = [:]

    init(_ head: ReportHead) { self.head = head }

    /// Adds a row; false if it is a text, which is not kept here.
    mutating func add(_ row: Figure) -> Bool {
        let key = row.survey.flatMap { survey in
            row.version.map { SurveyKey(survey: survey, version: $0) }
        }
        switch row.section {
        case "branch":
            branches.append((row.branch ?? 0, row.name ?? ""))
            names[row.branch ?? 0] = row.name
        case "survey":
            if let key { surveys[key] = row.name }
        case "summary":
            if let measure = row.measure { summary[row.branch, default: [:]][measure] = row.value }
        case "coupons":
            if let measure = row.measure { coupons[measure] = row.value }
        case "mission":
            missions[row.branch] = row.value
        case "trend":
            guard let period = row.name else { break }
            if trend.last?.period != period {
                // A trend begins with a period that is known.
                if row.measure == nil, trend.isEmpty { break }
                trend.append(TrendPeriod(period: period, measures: [:]))
            }
            if let measure = row.measure { trend[trend.count - 1].measures[measure] = row.value }
        case "print":
            let parts = [row.branch, row.survey, row.version.map(Int64.init)]
            let cell = ([row.measure ?? ""] + parts.map { $0.map(String.init) ?? "" })
                .joined(separator: ":")
            prints[cell] = row.name?.utf8.split(separator: UInt8(ascii: ","))
                .compactMap { Int64(Substring($0)) }
        case "question", "option", "answer":
            guard let key, let number = row.question else { break }
            add(row, to: QuestionKey(survey: key, number: number))
        default:
            return false
        }
        return true
    }

    private mutating func add(_ row: Figure, to key: QuestionKey) {
        switch row.section {
        case "question":
            questions[key] = Question(kind: row.measure ?? "", label: row.name ?? "")
        case "option":
            questions[key]?.options.append(row.name ?? "")
        default:
            guard let measure = row.measure, let value = row.value else { return }
            var figures = answers[key]?[row.branch] ?? AnswerFigures()
            if let item = row.item {
                var pair = figures.items[item] ?? ("0", "0")
                if measure == "count" { pair.count = value } else { pair.share = value }
                figures.items[item] = pair
            } else {
                figures.measures[measure] = value
            }
            answers[key, default: [:]][row.branch] = figures
        }
    }

    /// The names that are shown.
    var shownNames: ReportNames {
        ReportNames(
            establishment: head.establishmentName,
            branches: branches.map { .init(id: $0.id, name: $0.name) })
    }

    /// Shows the names of an earlier revision.
    mutating func use(_ names: ReportNames) {
        head.establishmentName = names.establishment
        branches = names.branches.map { ($0.id, $0.name) }
        self.names = Dictionary(names.branches.map { ($0.id, $0.name) }) { first, _ in first }
    }

    /// Adds the period of this report behind the earlier ones; call it when all rows are there.
    mutating func finish() {
        // What nobody chose, of the whole establishment.
        for (key, question) in questions where answers[key]?[nil] != nil {
            for place in question.options.indices {
                let item = Int32(place) + 1
                if answers[key]?[nil]?.items[item] == nil {
                    answers[key]?[nil]?.items[item] = ("0", "0")
                }
            }
        }
        trend.append(
            TrendPeriod(
                period: head.period,
                measures: Dictionary(
                    uniqueKeysWithValues: Self.summaryMeasures.map { ($0, count($0)) })))
    }

    /// A count of the whole establishment or of a branch; 0 if there is none.
    func count(_ measure: String, at branch: Int64? = nil) -> String {
        summary[branch]?[measure] ?? "0"
    }

    /// Of the surveys that ended in the period, the share that was completed, with four decimals;
    /// nil if none ended.
    func completionRate(at branch: Int64? = nil) -> String? {
        Self.rate(
            completed: count("completed", at: branch), expired: count("expired", at: branch))
    }

    static func rate(completed: String, expired: String) -> String? {
        guard let completed = Int64(completed), let expired = Int64(expired),
            completed + expired > 0
        else { return nil }
        let ended = completed + expired
        // Rounded to the nearest, in whole numbers.
        let parts = (completed * 20_000 + ended) / (ended * 2)
        let digits = String(parts % 10_000)
        let fraction = String(repeating: "0", count: 4 - digits.count) + digits
        let trimmed = fraction.reversed().drop { $0 == "0" }.reversed()
        return "\(parts / 10_000)" + (trimmed.isEmpty ? "" : "." + String(trimmed))
    }

    /// Whether nothing happened with surveys, coupons or missions.
    var isEmpty: Bool {
        Self.summaryMeasures.allSatisfy { count($0) == "0" }
            && coupons.values.allSatisfy { $0 == "0" } && missions.values.allSatisfy { $0 == "0" }
    }

    /// The branches that have figures, the establishment's first, in the order of their ids; 0 for
    /// receipts without a branch comes last.
    var rowsOfBranches: [Int64?] {
        [nil] + branches.map(\.id) + (summary[0] == nil ? [] : [0])
    }

    /// The name of a branch, as files have it.
    func name(of branch: Int64?) -> String {
        guard let branch else { return "all" }
        return branch == 0 ? "no branch" : names[branch] ?? ""
    }

    /// The words of an option of a question.
    func optionName(_ item: Int32, of key: QuestionKey) -> String {
        guard let options = questions[key]?.options, item >= 1, item <= options.count else {
            return ""
        }
        return options[Int(item) - 1]
    }

    /// The figures for the trend of later reports.
    var headline: [String: Int64] {
        Dictionary(
            uniqueKeysWithValues: Self.summaryMeasures.map { ($0, Int64(count($0)) ?? 0) })
    }
}
