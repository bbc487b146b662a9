/// Sanitizes texts from data for templates.
enum PlainText {
    /// The maximum bytes of a fact; longer ones are cut, which limits the size of a mail.
    static let factLimit = 20_000
    static let itemLimit = 500
    static let mostItems = 100

    /// Returns a text as one line, so that it cannot break out of a header or title.
    ///
    /// Removes control characters and direction overrides, and collapses white space.
    static func line(_ text: String) -> String {
        var isClean = true
        var last = UInt8(ascii: " ")
        for byte in text.utf8 {
            if byte <= 0x20, byte != 0x20 || last == 0x20 { isClean = false }
            if byte >= 0x7F { isClean = false }
            last = byte
        }
        if isClean, last != 0x20 || text.isEmpty { return text }
        var result = ""
        var hasGap = false
        for scalar in text.unicodeScalars {
            if isBreak(scalar) || scalar == " " || scalar == "\t" {
                hasGap = !result.isEmpty
            } else if !isHidden(scalar) {
                if hasGap { result.append(" ") }
                hasGap = false
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Returns a sanitized text with its line breaks, at most two in a row.
    static func lines(_ text: String) -> String {
        if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return text }
        var result = ""
        var breaks = 0
        var wasReturn = false
        for scalar in text.unicodeScalars {
            if isBreak(scalar) {
                // CR LF is one break.
                if !(wasReturn && scalar == "\n") { breaks += 1 }
            } else if !isHidden(scalar) || scalar == "\t" {
                if breaks > 0, !result.isEmpty {
                    result += breaks == 1 ? "\n" : "\n\n"
                }
                breaks = 0
                result.unicodeScalars.append(scalar == "\t" ? " " : scalar)
            }
            wasReturn = scalar == "\r"
        }
        return result
    }

    private static func isBreak(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x0A...0x0D, 0x85, 0x2028, 0x2029: true
        default: false
        }
    }

    /// Returns whether a character is a control character or changes the text direction.
    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case ..<0x20, 0x7F...0x9F, 0x202A...0x202E, 0x2066...0x2069, 0xFEFF: true
        default: false
        }
    }

    /// Cuts a text at a character, and appends ….
    ///
    /// - Parameters:
    ///   - limit: the maximum bytes of UTF-8, including the ….
    ///   - isJSON: whether characters that JSON escapes count as two bytes.
    static func cut(_ text: String, to limit: Int, isJSON: Bool = false) -> String {
        if text.utf8.count <= (isJSON ? limit / 2 : limit) { return text }
        var size = 0
        var kept = text.startIndex
        for place in text.indices {
            let character = text[place]
            if size <= limit - 3 { kept = place }
            size += character.utf8.count
            if isJSON {
                size += character.utf8.count {
                    $0 < 0x20 || $0 == 0x22 || $0 == 0x2F || $0 == 0x5C
                }
            }
            if size > limit { return trimmedEnd(text[..<kept]) + "…" }
        }
        return text
    }

    private static func trimmedEnd(_ text: Substring) -> String {
        var text = text
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }

    /// Returns a text escaped for HTML content or double-quoted attributes; line breaks become
    /// `<br>`.
    static func escaped(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "&"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\""),
                UInt8(ascii: "'"), 0x0A:
                false
            default: true
            }
        }
        if isPlain { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            case "\n": result += "<br>\n"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
