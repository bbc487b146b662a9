/// An invalid address, message or mail server URL, found before sending.
package enum EmailError: Error, Equatable, CustomStringConvertible {
    /// An invalid address.
    case badAddress(String, expected: String)
    /// An invalid part of a message.
    case badField(String, value: String, expected: String)
    /// An invalid mail server URL; its password is hidden.
    case badURL(String, expected: String)

    /// The value and the expectation.
    package var description: String {
        switch self {
        case .badAddress(let address, let expected):
            "address \(Self.visible(address)): expected \(expected)"
        case .badField(let name, let value, let expected):
            "\(name) \(Self.visible(value)): expected \(expected)"
        case .badURL(let url, let expected):
            "mail server \(Self.visible(url)): expected \(expected)"
        }
    }

    /// Returns the value with escaped control characters, cut if long, for a log line.
    private static func visible(_ value: String) -> String {
        let escaped = value.unicodeScalars.prefix(120).map { $0.escaped(asASCII: false) }
        return "\"\(escaped.joined())\(value.unicodeScalars.count > 120 ? "…" : "")\""
    }
}

extension String {
    /// Whether the text fits on one line of a header: no CR, LF or other control characters.
    var isOneLine: Bool {
        // Fast path: most texts are ASCII, and reading each scalar's category is slow.
        utf8.allSatisfy { (0x20..<0x7F).contains($0) }
            || unicodeScalars.allSatisfy { scalar in
                scalar.properties.generalCategory != .control
                    && scalar.properties.generalCategory != .lineSeparator
                    && scalar.properties.generalCategory != .paragraphSeparator
            }
    }
}
