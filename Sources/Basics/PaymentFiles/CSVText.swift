/// CSV fields (RFC 4180) that spreadsheets do not interpret as formulas.
package enum CSVText {
    /// Returns a text as a field.
    ///
    /// Spreadsheets interpret a text that starts with `=`, `+`, `-`, `@`, a tab or a line break,
    /// perhaps after quotes or spaces, as a formula; a leading apostrophe prevents it.
    ///
    /// - Parameter alwaysQuotes: quotes the field even if RFC 4180 does not require it.
    package static func field(_ text: String, alwaysQuotes: Bool = false) -> String {
        var field = ""
        // The last four are the full-width forms of = + - @.
        let formulas = "=+-@\t\r\n\u{FF1D}\u{FF0B}\u{FF0D}\u{FF20}".unicodeScalars
        let quotes = " \u{A0}\"'".unicodeScalars
        let start = text.unicodeScalars.first { !quotes.contains($0) }
        if let start, formulas.contains(start) { field = "'" }
        // Iterate over scalars, because CR LF is one character.
        for scalar in text.unicodeScalars {
            if scalar == "\"" { field.unicodeScalars.append(scalar) }
            field.unicodeScalars.append(scalar)
        }
        let needsQuotes = text.unicodeScalars.contains { scalar in
            scalar == "," || scalar == "\"" || scalar == "\r" || scalar == "\n"
        }
        return alwaysQuotes || needsQuotes ? "\"\(field)\"" : field
    }

    /// Returns a line of fields, with the line end.
    package static func line(_ fields: [String]) -> [UInt8] {
        Array((fields.joined(separator: ",") + "\r\n").utf8)
    }
}
