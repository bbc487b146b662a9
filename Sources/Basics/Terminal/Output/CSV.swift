package import ErrandJSONText

/// Comma-separated values (RFC 4180) that spreadsheets do not interpret as formulas.
package enum CSV {
    /// One line, including its line break.
    package static func line(_ values: [String]) -> [UInt8] {
        Array((values.joined(separator: ",") + "\r\n").utf8)
    }

    /// A JSON value as a field, quoted if necessary; null is an empty field, an empty text is a
    /// quoted one.
    ///
    /// A text that a spreadsheet would interpret as a formula begins with an apostrophe, as OWASP
    /// recommends; numbers stay numbers. Control characters other than tabs and line breaks are
    /// replaced by their symbols.
    package static func field(_ value: JSONValue) -> String {
        switch value {
        case .null: return ""
        case .int, .double, .bool: return text(of: value)
        default:
            let text = harmless(text(of: value))
            return quoted(beginsFormula(text) ? "'" + text : text)
        }
    }

    /// Whether a spreadsheet may interpret a text as a formula, perhaps after removing quotes and
    /// spaces; a plain number is none.
    private static func beginsFormula(_ text: String) -> Bool {
        for scalar in text.unicodeScalars {
            switch scalar {
            case " ", "\u{A0}", "\"", "'": continue
            case "+", "-": return !isNumber(text)
            // The last four are the full-width forms of = + - @.
            case "=", "@", "\t", "\r", "\n", "\u{FF1D}", "\u{FF0B}", "\u{FF0D}", "\u{FF20}":
                return true
            default: return false
            }
        }
        return false
    }

    /// Whether a text is a sign and decimal digits, perhaps with a fraction.
    private static func isNumber(_ text: String) -> Bool {
        let parts = text.dropFirst().split(separator: ".", omittingEmptySubsequences: false)
        return (1...2).contains(parts.count)
            && parts.allSatisfy { part in
                !part.isEmpty && part.utf8.allSatisfy { (0x30...0x39).contains($0) }
            }
    }

    private static func harmless(_ text: String) -> String {
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text }
        var safe = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            let isBlank = scalar == "\t" || scalar == "\n" || scalar == "\r"
            safe.append(isBlank ? scalar : DisplayWidth.visible(scalar))
        }
        return String(safe)
    }

    /// A JSON value as text: a string without quotes, other values as JSON.
    static func text(of value: JSONValue) -> String {
        if case .text(let text) = value { return text }
        return String(decoding: value.serialized, as: UTF8.self)
    }

    /// A text as a field.
    package static func quoted(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            byte != 0x2C && byte != 0x22 && byte != 0x0A && byte != 0x0D
        }
        if isPlain, !text.isEmpty, text.first != " ", text.last != " " { return text }
        var field = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" { field.unicodeScalars.append(scalar) }
            field.unicodeScalars.append(scalar)
        }
        return field + "\""
    }
}
