import ErrandGregorian
import ErrandLedger
import ErrandPDF
import ErrandPaymentFiles
import ErrandPostgres

/// A line of `reports.statement_lines`.
package struct StatementLine: Codable, Sendable {
    package var currency: String
    /// opening, surveys, missions, reversals, other, earlier, payments, closing or overdue.
    package var line: String
    package var source: String?
    package var title: String?
    package var count: Int64?
    package var each: Int64?
    /// In minor units; a positive amount is owed by the establishment.
    package var amount: Int64

    init(_ row: Row) throws {
        currency = try row.text(0)
        line = try row.text(1)
        source = try row.optionalText(2)
        title = try row.optionalText(3)
        count = try row.optionalInt64(4)
        each = try row.optionalInt64(5)
        amount = try row.int64(6)
    }
}

/// Writes `statement.csv` and `statement.pdf`.
///
/// Amounts are decimals without grouping. Owed amounts and credits have columns of their own, so
/// that no cell begins with a minus.
enum StatementFiles {
    static let csvName = "statement.csv"
    static let pdfName = "statement.pdf"
    static let heading = [
        "establishment", "period", "currency", "line", "source", "title", "count", "each", "owed",
        "credited",
    ]

    /// An amount without its sign, such as 1234.50.
    static func decimal(_ amount: Int64, _ currency: String) -> String {
        let exponent = Currency(currency)?.exponent ?? 2
        return DecimalText.plain(abs(amount), fraction: exponent)
    }

    /// The cells of a line: count, each, owed and credited.
    private static func cells(_ line: StatementLine) -> [String] {
        let amount = decimal(line.amount, line.currency)
        return [
            line.count.map(String.init) ?? "",
            line.each.map { decimal($0, line.currency) } ?? "",
            line.amount >= 0 ? amount : "", line.amount < 0 ? amount : "",
        ]
    }

    static func csv(_ head: ReportHead, _ lines: [StatementLine]) -> [UInt8] {
        var bytes = CSVText.line(heading)
        for line in lines {
            let texts = [
                head.establishmentName, head.period, line.currency, line.line, line.source ?? "",
                line.title ?? "",
            ]
            bytes += CSVText.line(texts.map { CSVText.field($0) } + cells(line))
        }
        return bytes
    }

    private static func label(_ line: StatementLine) -> String {
        let text = line.title.map { "\(line.source ?? ""): \($0)" } ?? line.source ?? ""
        return switch line.line {
        case "opening": "Owed at the beginning"
        case "earlier": "Other postings of earlier months"
        case "closing": "Owed at the end"
        case "overdue": "Overdue: owed for more than 30 days"
        case "payments": "Payment \(text.replacing("payment:", with: ""))"
        case "reversals": "Reversal of \(text)"
        default: text
        }
    }

    static func pdf(
        _ head: ReportHead, _ lines: [StatementLine], created: CivilDate
    ) throws -> [UInt8] {
        let pages = try PDFPages(
            title: head.title, name: head.establishmentName, created: created)
        try pages.heading(head.title, size: 18)
        try pages.paragraph("\(head.firstDay) to \(head.lastDay), \(head.timeZone)")
        if lines.isEmpty { try pages.paragraph("Nothing is owed, and nothing was paid.") }
        var last: String?
        for line in lines {
            if line.currency != last {
                last = line.currency
                try pages.heading(line.currency)
                try pages.row(["", "Count", "Each", "Owed", "Credited"], isHead: true)
            }
            try pages.row([label(line)] + cells(line))
        }
        return try pages.document.finish()
    }
}
