/// Why an address, a message or a mail server's URL is refused before anything is sent.
package enum EmailError: Error, Equatable, CustomStringConvertible {
    /// Not an address that mail can be sent to.
    case badAddress(String, expected: String)
    /// A part of a message that cannot stand in a mail.
    case badField(String, value: String, expected: String)
    /// A mail server's URL, its password hidden.
    case badURL(String, expected: String)

    /// What was given and what was expected.
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

    /// Control characters are shown escaped, and long values cut, so that a log line stays one.
    private static func visible(_ value: String) -> String {
        let escaped = value.unicodeScalars.prefix(120).map { $0.escaped(asASCII: false) }
        return "\"\(escaped.joined())\(value.unicodeScalars.count > 120 ? "…" : "")\""
    }
}

extension String {
    /// Whether the text can stand on one line of a header: no CR, no LF, no other control.
    var isOneLine: Bool {
        // Most texts are plain, and to ask for each scalar's category is slow.
        utf8.allSatisfy { (0x20..<0x7F).contains($0) }
            || unicodeScalars.allSatisfy { scalar in
                scalar.properties.generalCategory != .control
                    && scalar.properties.generalCategory != .lineSeparator
                    && scalar.properties.generalCategory != .paragraphSeparator
            }
    }
}
