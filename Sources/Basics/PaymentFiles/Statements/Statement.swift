package import ErrandGregorian
import ErrandPDF

/// What a person was credited and paid in a year.
package struct Statement: Sendable, Equatable {
    /// One line of it.
    package struct Line: Sendable, Equatable {
        /// When.
        package var date: CivilDate
        /// What it was.
        package var text: String
        /// Our reference, such as that of a payment; may be empty.
        package var reference: String
        /// Minor units; what was paid out or kept back is negative.
        package var amount: Int64

        /// A line by its parts.
        package init(date: CivilDate, text: String, reference: String, amount: Int64) {
            self.date = date
            self.text = text
            self.reference = reference
            self.amount = amount
        }
    }

    /// A sum under the lines, such as "Earned" and "Paid".
    package struct Total: Sendable, Equatable {
        /// What is summed.
        package var name: String
        /// Minor units.
        package var amount: Int64

        /// A sum by its parts.
        package init(name: String, amount: Int64) {
            self.name = name
            self.amount = amount
        }
    }

    /// The person's name.
    package var name: String
    /// The lines under it.
    package var address: [String]
    /// The year that it is about.
    package var year: Int
    /// By ISO 4217.
    package var currency: String
    /// Digits behind the point of that currency.
    package var fraction: Int
    /// By date.
    package var lines: [Line]
    /// In the order in which they are shown.
    package var totals: [Total]

    /// A statement by its parts.
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

    /// The lines as comma-separated values (RFC 4180) with a heading, in UTF-8.
    package func csv() -> [UInt8] {
        var bytes = CSVText.line(["date", "description", "reference", "amount", "currency"])
        for line in lines {
            // Amounts are numbers of our own making: their minus is no formula.
            bytes += CSVText.line([
                line.date.dashed, CSVText.field(line.text), CSVText.field(line.reference),
                DecimalText.plain(line.amount, fraction: fraction), CSVText.field(currency),
            ])
        }
        return bytes
    }
}

/// A ``Statement`` on Letter paper.
package enum StatementPDF {
    private static let rowHeight = 13.0
    private static let rowsPerPage = 42
    private static let left = 54.0
    private static let right = 558.0

    /// The document.
    ///
    /// - Parameters:
    ///   - issuer: the name over it.
    ///   - created: the day that it bears.
    package static func document(
        _ statement: Statement, issuer: String, created: CivilDate
    ) throws -> [UInt8] {
        let document = try PDFDocument(
            title: "Statement \(statement.year)", author: issuer, created: created)
        // The sums stand under the last line, on a page of their own if need be.
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
        // A row is left blank between the lines and the sums.
        let place = row - statement.lines.count - 1
        guard statement.totals.indices.contains(place) else { return }
        let total = statement.totals[place]
        try document.text(total.name, x: 372, y: y, font: .helveticaBold, size: 9, fitting: 106)
        try amount(total.amount, font: .helveticaBold)
    }
}
