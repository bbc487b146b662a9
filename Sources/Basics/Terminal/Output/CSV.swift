package import ErrandJSONText

/// Comma-separated values as RFC 4180 has them.
package enum CSV {
    /// One line, with its end.
    package static func line(_ values: [String]) -> [UInt8] {
        Array((values.joined(separator: ",") + "\r\n").utf8)
    }

    /// A value of JSON as a field, quoted where need be; null is an empty field, an empty text
    /// is a quoted one.
    package static func field(_ value: JSONValue) -> String {
        if value == .null { return "" }
        return quoted(text(of: value))
    }

    /// A value of JSON as text: nested ones, and numbers, as JSON writes them.
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
