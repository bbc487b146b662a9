import ErrandGregorian
import ErrandPDF

/// One sheet of ``ChequeSheets``, which documents the layout.
struct ChequePage {
    let page: PDFDocument
    let issuer: ChequeIssuer
    let cheque: Cheque

    private static let left = 40.0
    private static let right = 580.0
    private static let rowHeight = 12.0

    var number: String {
        let digits = String(cheque.number)
        return String(repeating: "0", count: max(0, 6 - digits.count)) + digits
    }

    /// Draws the cheque.
    func drawCheque() throws(PDFError) {
        try page.text(
            issuer.name, x: Self.left, y: 764, font: .helveticaBold, size: 11, fitting: 190)
        for (row, line) in issuer.address.prefix(3).enumerated() {
            try page.text(
                line, x: Self.left, y: 752 - 10 * Double(row), size: 8.5, fitting: 190)
        }
        try page.text(issuer.bank, x: 245, y: 764, font: .helveticaBold, size: 9, fitting: 150)
        for (row, line) in issuer.bankAddress.prefix(2).enumerated() {
            try page.text(line, x: 245, y: 753 - 10 * Double(row), size: 8, fitting: 150)
        }
        try page.textEnding(number, x: Self.right, y: 770, font: .helveticaBold, size: 11)
        try drawDate()
        try drawAmount()

        try page.text("PAY TO THE", x: Self.left, y: 648, size: 6.5)
        try page.text("ORDER OF", x: Self.left, y: 640, size: 6.5)
        try page.text(cheque.payee, x: 88, y: 641, font: .helveticaBold, size: 11, fitting: 320)
        try page.line(fromX: 86, y: 637, toX: 410, y: 637)

        try page.text("MEMO", x: Self.left, y: 604, size: 6.5)
        try page.text(cheque.memo, x: 68, y: 604, size: 9, fitting: 200)
        try page.line(fromX: 66, y: 601, toX: 270, y: 601)
        try page.text("PER", x: 362, y: 604, size: 6.5)
        try page.line(fromX: 380, y: 601, toX: Self.right, y: 601)
        try page.text("AUTHORIZED SIGNATURE", x: 434, y: 592, size: 6)
    }

    /// Draws the digits of the date above the letters of the form.
    private func drawDate() throws(PDFError) {
        try page.text("DATE", x: 424, y: 745, size: 7)
        let gaps = [0.0, 0, 0, 0, 8, 8, 16, 16]
        func x(_ place: Int) -> Double { 452 + 14 * Double(place) + gaps[place] }
        for (place, digit) in cheque.date.compact.enumerated() {
            try page.text(String(digit), x: x(place), y: 745, font: .courier, size: 12)
        }
        for (place, letter) in "YYYYMMDD".enumerated() {
            try page.text(String(letter), x: x(place) + 1.5, y: 735, size: 6)
        }
    }

    private func drawAmount() throws(PDFError) {
        let figures = "***" + DecimalText.grouped(cheque.amount)
        try page.text("$", x: 446, y: 668, font: .helveticaBold, size: 13)
        try page.textEnding(figures, x: Self.right, y: 668, font: .helveticaBold, size: 12)

        let dollars = issuer.currency == "USD" ? "US DOLLARS" : "DOLLARS"
        let words = "*** \(AmountInWords.text(cents: cheque.amount)) \(dollars) ***"
        try page.text("PAY", x: Self.left, y: 670, size: 6.5)
        // Two lines hold the longest text; the last line is on the rule.
        let lines = try page.lines(of: words, size: 9.5, fitting: 348)
        for (row, line) in lines.enumerated() {
            let y = 670 + 12 * Double(lines.count - 1 - row)
            try page.text(line, x: 62, y: y, size: 9.5, fitting: 348)
        }
        try page.line(fromX: 60, y: 666, toX: 412, y: 666)
    }

    /// Draws the stub with the remittance; returns the lines that do not fit.
    func drawStub() throws(PDFError) -> [RemittanceLine] {
        try page.text(
            issuer.name, x: Self.left, y: 516, font: .helveticaBold, size: 10, fitting: 320)
        try page.textEnding(
            "Cheque \(number)   \(cheque.date.dashed)", x: Self.right, y: 516, size: 9)
        try page.text(cheque.payee, x: Self.left, y: 502, size: 9, fitting: 300)
        try page.textEnding(
            "\(issuer.currency) \(DecimalText.grouped(cheque.amount))", x: Self.right, y: 502,
            font: .helveticaBold, size: 9)
        guard !cheque.lines.isEmpty else { return [] }
        let top = 484.0
        let rows = Self.rows(from: top, downTo: 284)
        let fitting = cheque.lines.count <= rows ? cheque.lines.count : rows - 1
        try RemittanceTable(page: page).draw(cheque.lines.prefix(fitting), top: top)
        let rest = cheque.lines.dropFirst(fitting)
        if !rest.isEmpty {
            try page.text(
                "\(rest.count) more lines are on the sheet enclosed", x: Self.left,
                y: top - 2 - Self.rowHeight * Double(rows), size: 8.5)
        }
        return Array(rest)
    }

    private static func rows(from top: Double, downTo bottom: Double) -> Int {
        Int((top - bottom) / rowHeight)
    }

    /// Draws name and address in the window.
    func drawAddress() throws(PDFError) {
        try page.text(
            issuer.name, x: Self.left, y: 236, font: .helveticaBold, size: 10, fitting: 300)
        for (row, line) in issuer.address.prefix(3).enumerated() {
            try page.text(line, x: Self.left, y: 224 - 11 * Double(row), size: 9, fitting: 300)
        }
        let lines = [cheque.payee] + cheque.address
        // Five lines need smaller leading.
        let (size, leading) = lines.count > 4 ? (8.5, 9.2) : (10.0, 10.8)
        let top = lines.count > 4 ? 77.0 : 75.5
        for (row, line) in lines.enumerated() {
            try page.text(
                line, x: 72, y: top - leading * Double(row), size: size, fitting: 240)
        }
    }
}

/// A table of remittance lines with a heading.
struct RemittanceTable {
    let page: PDFDocument
    static let rowHeight = 12.0

    /// Draws the heading at `top` and the rows below it.
    func draw(_ lines: some Sequence<RemittanceLine>, top: Double) throws(PDFError) {
        try page.text("Date", x: 40, y: top, font: .helveticaBold, size: 8.5)
        try page.text("For", x: 110, y: top, font: .helveticaBold, size: 8.5)
        try page.textEnding("Amount", x: 580, y: top, font: .helveticaBold, size: 8.5)
        try page.line(fromX: 40, y: top - 3, toX: 580, y: top - 3)
        var y = top - 2
        for line in lines {
            y -= Self.rowHeight
            try page.text(line.date.dashed, x: 40, y: y, size: 8.5)
            try page.text(line.text, x: 110, y: y, size: 8.5, fitting: 370)
            try page.textEnding(DecimalText.grouped(line.amount), x: 580, y: y, size: 8.5)
        }
    }
}

/// Plain pages with the lines that do not fit on the stub of a cheque.
struct ContinuationPages {
    let page: PDFDocument
    let issuer: ChequeIssuer
    let cheque: Cheque
    private static let rowsPerPage = 54

    func draw(_ lines: [RemittanceLine]) throws(PDFError) {
        let number = ChequePage(page: page, issuer: issuer, cheque: cheque).number
        let pages = (lines.count + Self.rowsPerPage - 1) / Self.rowsPerPage
        for part in 0..<pages {
            try page.addPage(width: ChequeSheets.width, height: ChequeSheets.height)
            try page.text(
                issuer.name, x: 40, y: 752, font: .helveticaBold, size: 10, fitting: 320)
            try page.textEnding(
                "Cheque \(number)   \(cheque.date.dashed)   continued \(part + 1) of \(pages)",
                x: 580, y: 752, size: 9)
            try page.text(cheque.payee, x: 40, y: 738, size: 9, fitting: 540)
            let first = part * Self.rowsPerPage
            try RemittanceTable(page: page).draw(
                lines[first..<min(first + Self.rowsPerPage, lines.count)], top: 714)
        }
        try page.textEnding(
            "\(issuer.currency) \(DecimalText.grouped(cheque.amount)) in all", x: 580, y: 40,
            font: .helveticaBold, size: 9)
    }
}
