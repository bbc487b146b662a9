import Errand
/// Redacts the values of a statement, to show it to operators who may not see the data.
enum QueryShape {
    /// The maximum length of a redacted statement.
    private static let length = 60

    /// The statement on one line, with `…` for its strings and numbers, without comments,
    /// truncated.
    ///
    /// The server may have truncated it before: an unterminated string is redacted to the end.
    static func of(_ statement: String) -> String {
        var shape = ""
        var rest = statement.prefix(20_000)
        while let sign = rest.first {
            // The rest would be truncated.
            guard shape.count <= length else { break }
            switch sign {
            case "'":
                let isEscaped = takesEscapes(shape)
                rest = afterText(rest.dropFirst(), escapes: isEscaped)
                shape += "'…'"
            case "\"":
                let name = rest.dropFirst().prefix { $0 != "\"" }
                rest = rest.dropFirst(name.count + 2)
                shape += "\"\(name)\""
            case "$": rest = afterDollar(rest, &shape)
            case "-" where rest.hasPrefix("--"): rest = rest.drop { !$0.isNewline }
            case "/" where rest.hasPrefix("/*"): rest = afterComment(rest)
            case _ where sign.isWhitespace:
                rest = rest.dropFirst()
                if shape.last != " " { shape += " " }
            case _ where sign.isLetter || sign == "_":
                let word = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
                rest = rest.dropFirst(word.count)
                shape += word
            case _ where sign.isNumber:
                rest = rest.drop { $0.isLetter || $0.isNumber || $0 == "." || $0 == "_" }
                shape += "…"
            default: shape.append(rest.removeFirst())
            }
        }
        return String(shape.prefix(length))
    }

    /// Whether the string that begins here has backslash escapes, such as `E'it\'s'`.
    private static func takesEscapes(_ before: String) -> Bool {
        guard let last = before.last, "eE".contains(last) else { return false }
        guard let sign = before.dropLast().last else { return true }
        return !(sign.isLetter || sign.isNumber || sign == "_")
    }

    private static func afterText(_ text: Substring, escapes: Bool) -> Substring {
        var rest = text
        while let sign = rest.popFirst() {
            if sign == "\\", escapes {
                rest = rest.dropFirst()
            } else if sign == "'" {
                guard rest.first == "'" else { break }
                rest = rest.dropFirst()
            }
        }
        return rest
    }

    /// Skips a parameter such as `$1`, or a string such as `$tag$ … $tag$`.
    private static func afterDollar(_ text: Substring, _ shape: inout String) -> Substring {
        let inner = text.dropFirst()
        let tag = inner.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
        let behind = inner.dropFirst(tag.count)
        guard tag.first?.isNumber != true, behind.first == "$" else {
            shape += "$" + tag
            return behind
        }
        shape += "'…'"
        let body = behind.dropFirst()
        guard let end = body.firstRange(of: "$\(tag)$") else { return "" }
        return body[end.upperBound...]
    }

    /// Skips a comment; comments may be nested.
    private static func afterComment(_ text: Substring) -> Substring {
        var rest = text.dropFirst(2)
        var depth = 1
        while depth > 0, !rest.isEmpty {
            if rest.hasPrefix("/*") || rest.hasPrefix("*/") {
                depth += rest.first == "/" ? 1 : -1
                rest = rest.dropFirst(2)
            } else {
                rest = rest.dropFirst()
            }
        }
        return rest
    }
}
