package import ErrandJSONText

/// Comma-separated values (RFC 4180).
package enum CSV {
    /// One line, including its line break.
    package static func line(_ values: [String]) -> [UInt8] {
        Array((values.joined(separator: ",") + "\r\n").utf8)
    }

    /// A JSON value as a field, quoted if necessary; null is an empty field, an empty text is a
    /// quoted one.
    package static func field(_ value: JSONValue) -> String {
        if value == .null { return "" }
        return quoted(text(of: value))
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
