import ErrandPDF

extension PDFDocument {
    /// Draws a text that ends at a point.
    func textEnding(
        _ text: String, x: Double, y: Double, font: PDFFont = .helvetica, size: Double
    ) throws(PDFError) {
        let width = try width(of: text, font: font, size: size)
        try self.text(text, x: x - width, y: y, font: font, size: size)
    }

    /// Draws a text within a width: reduces the size of a long text, and truncates it below the
    /// smallest size.
    func text(
        _ text: String, x: Double, y: Double, font: PDFFont = .helvetica, size: Double,
        fitting width: Double, smallest: Double = 6
    ) throws(PDFError) {
        let needed = try self.width(of: text, font: font, size: size)
        let fitted = needed > width ? max(smallest, size * width / needed) : size
        var shown = text
        while try self.width(of: shown, font: font, size: fitted) > width + 0.01, !shown.isEmpty {
            shown = String(shown.dropLast(shown.hasSuffix("…") ? 2 : 1)) + "…"
            if shown == "…" { break }
        }
        try self.text(shown, x: x, y: y, font: font, size: fitted)
    }

    /// Breaks a text at blanks into lines of a maximum width.
    func lines(
        of text: String, font: PDFFont = .helvetica, size: Double, fitting width: Double
    ) throws(PDFError) -> [String] {
        var lines: [String] = []
        for word in text.split(separator: " ") {
            let longer = (lines.last.map { $0 + " " } ?? "") + word
            if !lines.isEmpty, try self.width(of: longer, font: font, size: size) <= width {
                lines[lines.count - 1] = longer
            } else {
                lines.append(String(word))
            }
        }
        return lines
    }
}
