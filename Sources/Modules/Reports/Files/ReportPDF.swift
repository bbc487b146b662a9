import ErrandGregorian
import ErrandPDF

/// Draws `report.pdf`: the figures of `report.csv` with charts, and the first texts.
struct ReportPDF {
    static let name = "report.pdf"
    /// The texts of one question, and the lines of missions, that a PDF shows.
    static let textsPerQuestion = 15
    static let missionLines = 200
    private static let barColor = PDFColor(red: 0.20, green: 0.42, blue: 0.65)
    private static let railColor = PDFColor(red: 0.91, green: 0.93, blue: 0.95)

    private let pages: PDFPages
    private let content: ReportContent
    /// The texts of each question that are shown, and how many there are.
    private var texts: [QuestionKey: (shown: [String], count: Int)] = [:]
    private var missionTexts: (shown: [(visit: Int32, title: String, text: String)], count: Int) =
        ([], 0)

    init(_ content: ReportContent, created: CivilDate) throws {
        self.content = content
        pages = try PDFPages(
            title: content.head.title, name: content.head.establishmentName, created: created)
    }

    /// Takes a text, which is masked already.
    mutating func add(_ text: String, of row: Figure) {
        guard let number = row.question else { return }
        if row.section == "mission_answer" {
            missionTexts.count += 1
            if missionTexts.count <= Self.missionLines {
                missionTexts.shown.append((number, row.measure ?? "", text))
            }
            return
        }
        guard let survey = row.survey, let version = row.version else { return }
        let key = QuestionKey(survey: SurveyKey(survey: survey, version: version), number: number)
        var known = texts[key] ?? ([], 0)
        known.count += 1
        if known.count <= Self.textsPerQuestion { known.shown.append(text) }
        texts[key] = known
    }

    /// Returns the document.
    func finish() throws -> [UInt8] {
        let head = content.head
        try pages.heading(head.title, size: 18)
        try pages.paragraph("\(head.firstDay) to \(head.lastDay), \(head.timeZone)")
        if content.isEmpty {
            try pages.paragraph(
                "In this period no survey was given, completed or expired, no coupon was granted, "
                    + "redeemed or expired, and no mission was approved.")
        }
        try drawSummary()
        try drawTrend()
        var last: SurveyKey?
        for key in content.questions.keys.sorted() {
            if key.survey != last {
                last = key.survey
                try pages.heading(
                    "Survey \(key.survey.survey), version \(key.survey.version): "
                        + (content.surveys[key.survey] ?? ""), keeping: 120)
            }
            try draw(key)
        }
        try drawOthers()
        try drawGroups()
        try pages.heading("About these figures", size: 10)
        try pages.paragraph(
            "Answers of people who have agreed to share them. The completion rate is the share of "
                + "completed surveys among those that were completed or expired in the period. "
                + "Texts are masked where they may name a person. Groups of fewer than "
                + "\(GroupSuppression.threshold) people are not shown. report.csv has all figures "
                + "and texts.", size: 8)
        return try pages.document.finish()
    }

    /// A share of four decimals as a percentage of two; `-` for none.
    static func percent(_ share: String?) -> String {
        guard let share else { return "-" }
        let parts = share.split(separator: ".", omittingEmptySubsequences: false)
        let fraction = parts.count > 1 ? String(parts[1]) : ""
        let digits = parts[0] + fraction + String(repeating: "0", count: max(0, 4 - fraction.count))
        let whole = Int(digits) ?? 0
        let cents = whole % 100
        return "\(whole / 100).\(cents < 10 ? "0" : "")\(cents) %"
    }

    private func drawSummary() throws {
        try pages.heading("Surveys by branch")
        try pages.row(
            ["Branch", "Given", "Completed", "Expired", "Completion", "Median min."], isHead: true)
        for branch in content.rowsOfBranches {
            try pages.row(
                [branch == nil ? "All branches" : content.name(of: branch)]
                    + ReportContent.summaryMeasures.map { content.count($0, at: branch) }
                    + [
                        Self.percent(content.completionRate(at: branch)),
                        content.summary[branch]?["median_minutes"] ?? "-",
                    ])
        }
    }

    private func drawTrend() throws {
        // A trend needs two periods that are known; between them, gaps are shown as gaps.
        let values = content.trend.map { $0.measures["completed"].map { Double($0) ?? 0 } }
        guard values.count(where: { $0 != nil }) > 1 else { return }
        try pages.heading("Completed surveys, last \(values.count) periods", keeping: 130)
        try pages.need(120)
        let (left, right) = (PDFPages.left + 40, PDFPages.right - 30)
        let (bottom, height) = (pages.y - 95, 80.0)
        let highest = max(values.compactMap { $0 }.max() ?? 0, 1)
        let step = (right - left) / Double(max(values.count - 1, 1))
        let points = values.enumerated().map { place, value in
            value.map {
                PDFPoint(x: left + step * Double(place), y: bottom + height * $0 / highest)
            }
        }
        let document = pages.document
        try document.line(fromX: left, y: bottom, toX: right, y: bottom, width: 0.4)
        for run in points.split(separator: nil) {
            try document.polyline(run.compactMap { $0 }, width: 1.5, color: Self.barColor)
        }
        for (place, point) in points.enumerated() {
            let x = left + step * Double(place)
            let period = content.trend[place].period
            let label = try document.width(of: period, size: 6)
            try document.text(period, x: x - label / 2, y: bottom - 10, size: 6)
            guard let point else { continue }
            try document.fill(
                x: point.x - 2, y: point.y - 2, width: 4, height: 4, color: Self.barColor)
            let value = content.trend[place].measures["completed"] ?? "0"
            let width = try document.width(of: value, size: 7)
            try document.text(value, x: point.x - width / 2, y: point.y + 5, size: 7)
        }
        pages.move(120)
    }

    private func draw(_ key: QuestionKey) throws {
        guard let question = content.questions[key] else { return }
        let whole = content.answers[key]?[nil]
        try pages.heading("\(key.number). \(question.label)", size: 10, keeping: 34)
        let measures = whole?.measures ?? [:]
        try pages.paragraph(
            "Answered: \(measures["answered"] ?? "0")"
                + (measures["mean"].map { ", mean: \($0)" } ?? "")
                + (measures["median"].map { ", median: \($0)" } ?? ""), size: 8.5)
        if question.kind == "text" { return try drawTexts(texts[key]) }
        let counts = (whole?.items ?? [:]).mapValues { Double($0.count) ?? 0 }
        let highest = max(counts.values.max() ?? 0, 1)
        for item in (whole?.items ?? [:]).keys.sorted() {
            guard let pair = whole?.items[item] else { continue }
            try drawBar(
                content.optionName(item, of: key), pair, part: (counts[item] ?? 0) / highest)
        }
        try drawBranches(key, question)
    }

    private func drawBar(
        _ label: String, _ pair: (count: String, share: String), part: Double
    ) throws {
        try pages.need(14)
        pages.move(14)
        let document = pages.document
        let lines = try document.lines(of: label, width: 170, size: 8.5, limit: 1)
        try document.text(lines.first ?? "", x: PDFPages.left, y: pages.y, size: 8.5)
        let (left, width) = (PDFPages.left + 180, 220.0)
        try document.fill(
            x: left, y: pages.y - 2, width: width, height: 9, color: Self.railColor)
        if part > 0 {
            try document.fill(
                x: left, y: pages.y - 2, width: width * part, height: 9, color: Self.barColor)
        }
        try pages.ending(pair.count, x: left + width + 44, y: pages.y, size: 8.5)
        try pages.ending(Self.percent(pair.share), x: PDFPages.right, y: pages.y, size: 8.5)
    }

    private func drawBranches(_ key: QuestionKey, _ question: Question) throws {
        let rows = content.rowsOfBranches.compactMap { $0 }.filter {
            content.answers[key]?[$0] != nil
        }
        guard rows.count > 1 else { return }
        pages.move(4)
        let isRating = question.kind == "rating"
        let items = question.options.count <= 5 ? Array(question.options.indices) : []
        guard isRating || !items.isEmpty else { return }
        try pages.row(
            ["Branch", "Answered"]
                + (isRating ? ["Mean", "Median"] : items.map { option($0, key) }),
            isHead: true)
        for branch in rows {
            guard let figures = content.answers[key]?[branch] else { continue }
            try pages.row(
                [content.name(of: branch), figures.measures["answered"] ?? "0"]
                    + (isRating
                        ? [figures.measures["mean"] ?? "-", figures.measures["median"] ?? "-"]
                        : items.map { figures.items[Int32($0) + 1]?.count ?? "0" }))
        }
    }

    private func option(_ place: Int, _ key: QuestionKey) -> String {
        let name = content.optionName(Int32(place) + 1, of: key)
        return name.count > 12 ? name.prefix(11) + "…" : name
    }

    private func drawTexts(_ texts: (shown: [String], count: Int)?) throws {
        guard let texts else { return }
        for text in texts.shown {
            try pages.paragraph("- \(text)", size: 8.5, indent: 10, limit: 8)
        }
        if texts.count > texts.shown.count {
            try pages.paragraph(
                "\(texts.count - texts.shown.count) more in report.csv.", size: 8.5, indent: 10)
        }
    }

    private func drawOthers() throws {
        try pages.heading("Coupons")
        try pages.row(["", "Granted", "Redeemed", "Expired", "Near notices"], isHead: true)
        try pages.row(
            ["All branches"] + ReportContent.couponMeasures.map { content.coupons[$0] ?? "0" })
        try pages.heading("Missions")
        try pages.row(["Branch", "Approved"], isHead: true)
        for branch in content.rowsOfBranches {
            guard branch == nil || content.missions[branch] != nil else { continue }
            try pages.row(
                [
                    branch == nil ? "All branches" : content.name(of: branch),
                    content.missions[branch] ?? "0",
                ])
        }
        var last: Int32?
        for line in missionTexts.shown {
            if line.visit != last {
                last = line.visit
                try pages.heading("Visit \(line.visit)", size: 9, keeping: 24)
            }
            try pages.paragraph(
                line.text.isEmpty ? "\(line.title): done" : "\(line.title): \(line.text)",
                size: 8.5, indent: 10, limit: 30)
        }
        if missionTexts.count > missionTexts.shown.count {
            try pages.paragraph(
                "\(missionTexts.count - missionTexts.shown.count) more in report.csv.", size: 8.5)
        }
    }

    private func drawGroups() throws {
        for (dimension, title) in [("age", "People by age"), ("postal", "People by postal area")] {
            let cells = content.groups.filter { $0.dimension == dimension }
            guard !cells.isEmpty else { continue }
            try pages.heading(title)
            for cell in cells {
                try pages.row([
                    "\(cell.branch == nil ? "All branches" : content.name(of: cell.branch)): "
                        + cell.label,
                    String(cell.people),
                ])
            }
        }
    }
}
