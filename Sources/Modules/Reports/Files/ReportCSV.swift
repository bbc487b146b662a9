import ErrandDurableFiles
import ErrandPaymentFiles

/// Writes `report.csv` (RFC 4180, UTF-8): one figure or text a line.
///
/// Texts that a spreadsheet would read as formulas begin with an apostrophe; see `CSVText`.
struct ReportCSV {
    static let name = "report.csv"
    static let heading = [
        "section", "branch_id", "branch", "survey_id", "version", "survey", "question", "kind",
        "label", "item", "option", "measure", "value", "text",
    ]

    private let draft: FileDraft

    init(_ draft: FileDraft) throws {
        self.draft = draft
        try draft.append(CSVText.line(Self.heading))
    }

    /// A line by the names of its fields.
    private func line(_ fields: [String: String]) throws {
        try draft.append(
            CSVText.line(Self.heading.map { fields[$0].map { CSVText.field($0) } ?? "" }))
    }

    private func fields(
        _ section: String, _ branch: Int64?, of content: ReportContent
    ) -> [String: String] {
        [
            "section": section, "branch_id": branch.map(String.init) ?? "",
            "branch": content.name(of: branch),
        ]
    }

    /// Writes all but the texts.
    func write(_ content: ReportContent) throws {
        try writePeriod(content)
        for branch in content.rowsOfBranches { try writeSummary(of: branch, content) }
        for key in content.questions.keys.sorted() { try write(key, content) }
        for measure in ReportContent.couponMeasures {
            try figure("coupons", nil, measure, content.coupons[measure] ?? "0", content)
        }
        for branch in content.rowsOfBranches {
            guard branch == nil || content.missions[branch] != nil else { continue }
            try figure("missions", branch, "approved", content.missions[branch] ?? "0", content)
        }
        for cell in content.groups {
            var fields = fields("people", cell.branch, of: content)
            fields["kind"] = cell.dimension
            fields["option"] = cell.label
            fields["measure"] = "people"
            fields["value"] = String(cell.people)
            try line(fields)
        }
        for period in content.trend {
            for measure in ReportContent.summaryMeasures {
                guard let value = period.measures[measure] else { continue }
                try line([
                    "section": "trend", "label": period.period, "measure": measure, "value": value,
                ])
            }
        }
    }

    private func writePeriod(_ content: ReportContent) throws {
        let head = content.head
        for (measure, text) in [
            ("establishment", head.establishmentName), ("kind", head.kind),
            ("period", head.period), ("first_day", head.firstDay), ("last_day", head.lastDay),
            ("time_zone", head.timeZone),
            ("is_empty", content.isEmpty ? "true" : "false"),
        ] {
            try line(["section": "period", "measure": measure, "text": text])
        }
    }

    private func figure(
        _ section: String, _ branch: Int64?, _ measure: String, _ value: String,
        _ content: ReportContent
    ) throws {
        var fields = fields(section, branch, of: content)
        fields["measure"] = measure
        fields["value"] = value
        try line(fields)
    }

    private func writeSummary(of branch: Int64?, _ content: ReportContent) throws {
        for measure in ReportContent.summaryMeasures {
            try figure("summary", branch, measure, content.count(measure, at: branch), content)
        }
        if let rate = content.completionRate(at: branch) {
            try figure("summary", branch, "completion_rate", rate, content)
        }
        if let minutes = content.summary[branch]?["median_minutes"] {
            try figure("summary", branch, "median_minutes", minutes, content)
        }
    }

    private func fields(
        _ section: String, _ branch: Int64?, _ key: QuestionKey, _ content: ReportContent
    ) -> [String: String] {
        var fields = fields(section, branch, of: content)
        fields["survey_id"] = String(key.survey.survey)
        fields["version"] = String(key.survey.version)
        fields["survey"] = content.surveys[key.survey]
        fields["question"] = String(key.number)
        fields["kind"] = content.questions[key]?.kind
        fields["label"] = content.questions[key]?.label
        return fields
    }

    private func write(_ key: QuestionKey, _ content: ReportContent) throws {
        for branch in content.rowsOfBranches {
            guard let figures = content.answers[key]?[branch] else { continue }
            var fields = fields("answer", branch, key, content)
            for measure in ["answered", "mean", "median"] {
                guard let value = figures.measures[measure] else { continue }
                fields["measure"] = measure
                fields["value"] = value
                try line(fields)
            }
            for item in figures.items.keys.sorted() {
                guard let pair = figures.items[item] else { continue }
                fields["item"] = String(item)
                fields["option"] = content.optionName(item, of: key)
                for (measure, value) in [("count", pair.count), ("share", pair.share)] {
                    fields["measure"] = measure
                    fields["value"] = value
                    try line(fields)
                }
            }
        }
    }

    /// Writes a text, which is masked already.
    func write(_ text: String, of row: Figure, _ content: ReportContent) throws {
        guard let number = row.question else { return }
        if row.section == "mission_answer" {
            var fields = fields("mission_answer", row.branch, of: content)
            fields["question"] = String(number)
            fields["item"] = row.item.map { String($0) }
            fields["label"] = row.measure
            fields["text"] = text
            return try line(fields)
        }
        guard let survey = row.survey, let version = row.version else { return }
        let key = QuestionKey(survey: SurveyKey(survey: survey, version: version), number: number)
        var fields = fields("text", row.branch, key, content)
        fields["text"] = text
        try line(fields)
    }
}
