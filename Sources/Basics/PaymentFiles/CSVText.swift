/// Fields of comma-separated values (RFC 4180) that a spreadsheet shows and does not run.
package enum CSVText {
    /// A text as a field.
    ///
    /// What begins with `=`, `+`, `-`, `@`, a tab or a line break would be a formula to a
    /// spreadsheet; an apostrophe before it makes it a text again.
    ///
    /// - Parameter alwaysQuotes: also where RFC 4180 does not ask for it.
    package static func field(_ text: String, alwaysQuotes: Bool = false) -> String {
        var field = ""
        if let first = text.unicodeScalars.first, "=+-@\t\r\n".unicodeScalars.contains(first) {
            field = "'"
        }
        // By scalars: CR LF is one character.
        for scalar in text.unicodeScalars {
            if scalar == "\"" { field.unicodeScalars.append(scalar) }
            field.unicodeScalars.append(scalar)
        }
        let needsQuotes = text.unicodeScalars.contains { scalar in
            scalar == "," || scalar == "\"" || scalar == "\r" || scalar == "\n"
        }
        return alwaysQuotes || needsQuotes ? "\"\(field)\"" : field
    }

    /// A line of fields, with its end.
    package static func line(_ fields: [String]) -> [UInt8] {
        Array((fields.joined(separator: ",") + "\r\n").utf8)
    }
}
