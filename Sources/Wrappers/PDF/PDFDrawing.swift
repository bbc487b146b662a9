import CErrandHaru

/// A color of charts, from 0 to 1 per part.
package struct PDFColor: Sendable, Equatable {
    package var red: Double
    package var green: Double
    package var blue: Double

    package init(red: Double, green: Double, blue: Double) {
        self.red = red
        self.green = green
        self.blue = blue
    }

    /// The color of texts.
    package static let black = PDFColor(red: 0, green: 0, blue: 0)
}

/// A point on a page, from its lower left corner.
package struct PDFPoint: Sendable, Equatable {
    package var x: Double
    package var y: Double

    package init(x: Double, y: Double) {
        self.x = x
        self.y = y
    }
}

/// What charts are drawn with. Texts and lines stay black.
extension PDFDocument {
    /// Fills a rectangle whose lower left corner is at a point.
    package func fill(
        x: Double, y: Double, width: Double, height: Double, color: PDFColor
    ) throws(PDFError) {
        try unsafe drawing("a rectangle") { page in
            unsafe [
                HPDF_Page_SetRGBFill(
                    page, Float(color.red), Float(color.green), Float(color.blue)),
                HPDF_Page_Rectangle(page, Float(x), Float(y), Float(width), Float(height)),
                HPDF_Page_Fill(page), HPDF_Page_SetRGBFill(page, 0, 0, 0),
            ]
        }
    }

    /// Draws straight lines from each point to the next; nothing for fewer than two.
    package func polyline(
        _ points: [PDFPoint], width: Double = 1, color: PDFColor = .black
    ) throws(PDFError) {
        guard points.count > 1 else { return }
        try unsafe drawing("a line") { page in
            var codes = unsafe [
                HPDF_Page_SetLineWidth(page, Float(width)),
                HPDF_Page_SetRGBStroke(
                    page, Float(color.red), Float(color.green), Float(color.blue)),
                HPDF_Page_MoveTo(page, Float(points[0].x), Float(points[0].y)),
            ]
            for point in points.dropFirst() {
                codes.append(unsafe HPDF_Page_LineTo(page, Float(point.x), Float(point.y)))
            }
            codes.append(unsafe HPDF_Page_Stroke(page))
            codes.append(unsafe HPDF_Page_SetRGBStroke(page, 0, 0, 0))
            return codes
        }
    }

    /// Breaks a text into lines of at most a width, between words; a longer word is broken.
    ///
    /// - Parameter limit: the maximum number of lines; the last one then ends in an ellipsis.
    package func lines(
        of text: String, width limitWidth: Double, font: PDFFont = .helvetica, size: Double,
        limit: Int
    ) throws(PDFError) -> [String] {
        // Widths add up: the fonts have no kerning here.
        func points(_ text: String) throws(PDFError) -> Double {
            try self.width(of: text, font: font, size: size)
        }
        let space = try points(" ")
        var lines: [String] = []
        var (line, lineWidth) = ("", 0.0)
        for word in text.split(whereSeparator: \.isWhitespace) {
            var (word, wordWidth) = (String(word), try points(String(word)))
            if !line.isEmpty, lineWidth + space + wordWidth <= limitWidth {
                line += " " + word
                lineWidth += space + wordWidth
                continue
            }
            if !line.isEmpty { lines.append(line) }
            while wordWidth > limitWidth, word.count > 1, lines.count <= limit {
                var (head, headWidth) = ("", 0.0)
                for letter in word {
                    headWidth += try points(String(letter))
                    if !head.isEmpty, headWidth > limitWidth { break }
                    head.append(letter)
                }
                lines.append(head)
                word.removeFirst(head.count)
                wordWidth = try points(word)
            }
            (line, lineWidth) = (word, wordWidth)
            if lines.count > limit { break }
        }
        if !line.isEmpty { lines.append(line) }
        guard lines.count > limit else { return lines }
        var last = lines[limit - 1]
        while !last.isEmpty, try points(last + "…") > limitWidth { last.removeLast() }
        return Array(lines[..<(limit - 1)]) + [last + "…"]
    }
}
