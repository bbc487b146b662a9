package import ErrandGregorian
import ErrandPDF

/// A statement of a person's credits and payments in a year.
package struct Statement: Sendable, Equatable {
    /// A line of the statement.
    package struct Line: Sendable, Equatable {
        /// The date.
        package var date: CivilDate
        /// The description.
        package var text: String
        /// Our reference, such as a payment's; may be empty.
        package var reference: String
        /// Minor units; payments and deductions may be negative.
        package var amount: Int64

        /// Creates a line.
        package init(date: CivilDate, text: String, reference: String, amount: Int64) {
            self.date = date
            self.text = text
            self.reference = reference
            self.amount = amount
        }
    }

    /// A total below the lines, such as "Earned" and "Paid".
    package struct Total: Sendable, Equatable {
        /// The label.
        package var name: String
        /// Minor units.
        package var amount: Int64

        /// Creates a total.
        package init(name: String, amount: Int64) {
            self.name = name
            self.amount = amount
        }
    }

    /// The person's name.
    package var name: String
    /// The address lines below the name.
    package var address: [String]
    /// The year of the statement.
    package var year: Int
    /// The currency, by ISO 4217.
    package var currency: String
    /// Digits after the point of the currency.
    package var fraction: Int
    /// The lines, sorted by date.
    package var lines: [Line]
    /// The totals, in the order of the document.
    package var totals: [Total]

    /// Creates a statement.
    package init(
        name: String, address: [String], year: Int, currency: String, fraction: Int = 2,
        lines: [Line], totals: [Total]
    ) {
        self.name = name
        self.address = address
        self.year = year
        self.currency = currency
        self.fraction = fraction
        self.lines = lines
        self.totals = totals
    }

    /// Returns the lines as CSV (RFC 4180) with a heading, in UTF-8.
    package func csv() -> [UInt8] {
        var bytes = CSVText.line(["date", "description", "reference", "amount", "currency"])
        for line in lines {
            // Amounts are our own numbers: a leading minus is not a formula.
            bytes += CSVText.line([
                line.date.dashed, CSVText.field(line.text), CSVText.field(line.reference),
                DecimalText.plain(line.amount, fraction: fraction), CSVText.field(currency),
            ])
        }
        return bytes
    }
}

/// Renders a ``Statement`` as a PDF on Letter paper.
package enum StatementPDF {
    private static let rowHeight = 13.0
    private static let rowsPerPage = 42
    private static let left = 54.0
    private static let right = 558.0

    /// Returns the document.
    ///
    /// - Parameters:
    ///   - issuer: the name of the company.
    ///   - created: the date on the document.
    package static func document(
        _ statement: Statement, issuer: String, created: CivilDate
    ) throws -> [UInt8] {
        let document = try PDFDocument(
            title: "Statement \(statement.year)", author: issuer, created: created)
        // The totals follow the last line, on another page if necessary.
        let rows = statement.lines.count + statement.totals.count + 1
        let pages = max(1, (rows + rowsPerPage - 1) / rowsPerPage)
        let issued = "\(issuer), \(created.dashed)"
        for page in 0..<pages {
            try document.addPage(width: 612, height: 792)
            try drawHead(of: statement, on: document)
            try document.text(issued, x: left, y: 40, size: 8, fitting: 400)
            try document.textEnding("Page \(page + 1) of \(pages)", x: right, y: 40, size: 8)
            for row in 0..<rowsPerPage {
                try draw(
                    page * rowsPerPage + row, of: statement, on: document,
                    y: 608 - rowHeight * Double(row + 1))
            }
        }
        return try document.finish()
    }

    private static func drawHead(
        of statement: Statement, on document: PDFDocument
    ) throws(PDFError) {
        try document.text(
            "Statement for \(statement.year)", x: left, y: 734, font: .helveticaBold, size: 15)
        try document.text(
            statement.name, x: left, y: 710, font: .helveticaBold, size: 10, fitting: 400)
        for (row, line) in statement.address.prefix(5).enumerated() {
            try document.text(
                line, x: left, y: 697 - 12 * Double(row), size: 9.5, fitting: 400)
        }
        for (text, x) in [("Date", left), ("Description", 124), ("Reference", 372)] {
            try document.text(text, x: x, y: 610, font: .helveticaBold, size: 9)
        }
        try document.textEnding(
            "Amount (\(statement.currency))", x: right, y: 610, font: .helveticaBold, size: 9)
        try document.line(fromX: left, y: 606, toX: right, y: 606)
    }

    private static func draw(
        _ row: Int, of statement: Statement, on document: PDFDocument, y: Double
    ) throws(PDFError) {
        func amount(_ minor: Int64, font: PDFFont) throws(PDFError) {
            try document.textEnding(
                DecimalText.grouped(minor, fraction: statement.fraction), x: right, y: y,
                font: font, size: 9)
        }
        if row < statement.lines.count {
            let line = statement.lines[row]
            try document.text(line.date.dashed, x: left, y: y, size: 9)
            try document.text(line.text, x: 124, y: y, size: 9, fitting: 242)
            try document.text(line.reference, x: 372, y: y, size: 9, fitting: 106)
            try amount(line.amount, font: .helvetica)
            return
        }
        // A blank row separates the lines and the totals.
        let place = row - statement.lines.count - 1
        guard statement.totals.indices.contains(place) else { return }
        let total = statement.totals[place]
        try document.text(total.name, x: 372, y: y, font: .helveticaBold, size: 9, fitting: 106)
        try amount(total.amount, font: .helveticaBold)
    }
}
