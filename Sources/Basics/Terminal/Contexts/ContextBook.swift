/// What a contexts.toml says.
///
/// The file is of a small part of TOML: `[name]` begins a context; `key = "text"`, `key = true`
/// and `key = false` set it up; `#` begins a comment; `current = "name"` stands above the first
/// context. Anything else is refused with its line, because a setting that is passed over in
/// silence may be the one that says production.
package struct ContextBook: Equatable, Sendable {
    /// Why the text is refused.
    package struct Flaw: Error, Equatable {
        package var line: Int
        /// Says what was expected.
        package var message: String
    }

    private enum Value {
        case text(String)
        case flag(Bool)
    }

    private static let keys = [
        "database_url", "redis_url", "operator", "production", "read_only", "color",
    ]

    /// The context that is used when none is named.
    package private(set) var current: String?
    /// In the order of the file.
    package private(set) var contexts: [NamedContext] = []

    package subscript(_ name: String) -> NamedContext? { contexts.first { $0.name == name } }

    /// Reads a text.
    package init(_ text: String) throws(Flaw) {
        var seen: Set<String> = []
        for (index, line) in Self.lines(text).enumerated() {
            do throws(Complaint) {
                try read(line.drop { $0.isWhitespace }, &seen)
            } catch {
                throw Flaw(line: index + 1, message: error.text)
            }
        }
        if let current, self[current] == nil {
            throw Flaw(
                line: Self.lineOfCurrent(text)?.number ?? 1,
                message: "current = \"\(current)\" names no context; there are: "
                    + contexts.map(\.name).joined(separator: ", "))
        }
    }

    private struct Complaint: Error {
        var text: String
        init(_ text: String) { self.text = text }
    }

    private mutating func read(
        _ line: Substring, _ seen: inout Set<String>
    ) throws(Complaint) {
        guard let first = line.first, first != "#" else { return }
        if first == "[" {
            let name = line.dropFirst().prefix { $0 != "]" }
            guard line.dropFirst(name.count + 1).first == "]", Self.isName(name) else {
                throw Complaint("expected [name], of letters, digits, dashes and underscores")
            }
            try Self.checkEnd(line.dropFirst(name.count + 2))
            guard self[String(name)] == nil else {
                throw Complaint("the context \(name) stands here for the second time")
            }
            contexts.append(NamedContext(String(name)))
            seen = []
            return
        }
        let key = line.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "-" }
        let rest = line.dropFirst(key.count).drop { $0 == " " || $0 == "\t" }
        guard !key.isEmpty, rest.first == "=" else {
            throw Complaint("expected [name], key = \"text\", key = true, key = false or # …")
        }
        let value = try Self.value(rest.dropFirst().drop { $0 == " " || $0 == "\t" }, of: key)
        guard seen.insert(String(key)).inserted else {
            throw Complaint("\(key) is set for the second time")
        }
        try set(String(key), value)
    }

    private mutating func set(_ key: String, _ value: Value) throws(Complaint) {
        guard let last = contexts.indices.last else {
            guard key == "current" else {
                throw Complaint("expected current = \"name\" or [name] before \(key)")
            }
            current = try Self.text(value, key)
            return
        }
        switch key {
        case "database_url": contexts[last].databaseURL = try Self.text(value, key)
        case "redis_url": contexts[last].redisURL = try Self.text(value, key)
        case "operator": contexts[last].operatorName = try Self.text(value, key)
        case "production": contexts[last].isProduction = try Self.flag(value, key)
        case "read_only": contexts[last].isReadOnly = try Self.flag(value, key)
        case "color":
            guard let color = ColorChoice(rawValue: try Self.text(value, key)) else {
                throw Complaint("expected color = \"auto\", \"always\" or \"never\"")
            }
            contexts[last].color = color
        case "current": throw Complaint("current belongs above the first [name]")
        default:
            let guess = nearest(to: key, among: Self.keys).map { "; did you mean \($0)?" } ?? ""
            throw Complaint(
                "\(key) is not known: expected \(Self.keys.joined(separator: ", "))\(guess)")
        }
    }

    private static func isName(_ name: Substring) -> Bool {
        !name.isEmpty
            && name.allSatisfy { character in
                character.isASCII
                    && (character.isLetter || character.isNumber || "_-".contains(character))
            }
    }

    private static func checkEnd(_ rest: Substring) throws(Complaint) {
        let rest = rest.drop { $0.isWhitespace }
        guard rest.isEmpty || rest.first == "#" else {
            throw Complaint("expected the end of the line or # …, not '\(rest)'")
        }
    }

    private static func value(_ text: Substring, of key: Substring) throws(Complaint) -> Value {
        for (word, flag) in [("true", true), ("false", false)] where text.hasPrefix(word) {
            try checkEnd(text.dropFirst(word.count))
            return .flag(flag)
        }
        guard text.first == "\"" else {
            throw Complaint("expected \(key) = \"text\", true or false")
        }
        var rest = text.dropFirst()
        var value = ""
        while let character = rest.popFirst() {
            switch character {
            case "\"":
                try checkEnd(rest)
                return .text(value)
            case "\\":
                guard let escaped = rest.popFirst(), escaped == "\"" || escaped == "\\" else {
                    throw Complaint("expected \\\" or \\\\ after the backslash in \(key)")
                }
                value.append(escaped)
            default: value.append(character)
            }
        }
        throw Complaint("expected a quotation mark at the end of \(key)")
    }

    private static func text(_ value: Value, _ key: String) throws(Complaint) -> String {
        guard case .text(let text) = value, !text.isEmpty else {
            throw Complaint("expected \(key) = \"text\"")
        }
        return text
    }

    private static func flag(_ value: Value, _ key: String) throws(Complaint) -> Bool {
        guard case .flag(let flag) = value else {
            throw Complaint("expected \(key) = true or \(key) = false")
        }
        return flag
    }

    // MARK: Writing

    /// A file may come from where lines end with CR and LF, which are one character.
    private static func lines(_ text: String) -> [Substring] {
        text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    }

    /// The line that sets the current context.
    private static func lineOfCurrent(_ text: String) -> (number: Int, text: Substring)? {
        for (index, whole) in lines(text).enumerated() {
            let line = whole.drop { $0.isWhitespace }
            if line.first == "[" { return nil }
            if line.hasPrefix("current") { return (index + 1, whole) }
        }
        return nil
    }

    /// The text with another current context; all else stays as it was written.
    package static func text(_ text: String, withCurrent name: String) -> String {
        let setting = "current = \"\(name)\""
        guard let line = lineOfCurrent(text)?.text else {
            return setting + (text.contains("\r\n") ? "\r\n" : "\n") + text
        }
        return "\(text[..<line.startIndex])\(setting)\(text[line.endIndex...])"
    }
}
