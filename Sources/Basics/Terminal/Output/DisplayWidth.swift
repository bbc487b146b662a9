/// The width of texts on a terminal, and truncation to a width.
package enum DisplayWidth {
    /// The number of terminal columns of a text.
    package static func of(_ text: String) -> Int {
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text.utf8.count }
        return text.reduce(0) { $0 + of($1) }
    }

    /// The text, or its beginning and `…`, in at most `width` columns.
    package static func truncated(_ text: String, to width: Int) -> String {
        guard of(text) > width else { return text }
        guard width > 0 else { return "" }
        var kept = ""
        var taken = 0
        for character in text {
            let columns = of(character)
            guard taken + columns <= width - 1 else { break }
            kept.append(character)
            taken += columns
        }
        return kept + "…"
    }

    /// The text padded with spaces to `width` columns.
    package static func padded(
        _ text: String, to width: Int, alignment: Column.Alignment = .left
    ) -> String {
        let spaces = String(repeating: " ", count: max(0, width - of(text)))
        return alignment == .left ? text + spaces : spaces + text
    }

    /// The text on one line, without control characters that could move the cursor, change
    /// colors or reverse the text direction: arguments and errors are untrusted.
    package static func harmless(_ text: String, keepingLines: Bool = false) -> String {
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text }
        var safe = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x0A where keepingLines: safe.append(scalar)
            case 0x09, 0x0A, 0x0D: safe.append(" ")
            default: safe.append(visible(scalar))
            }
        }
        return String(safe)
    }

    /// The character, or a symbol in place of a control character, also of one that breaks lines or
    /// reverses the text direction.
    static func visible(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        switch scalar.value {
        // U+2400 to U+241F are the symbols for control characters.
        case 0..<0x20: Unicode.Scalar(0x2400 + scalar.value) ?? "?"
        case 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069: "\u{FFFD}"
        default: scalar
        }
    }

    private static func of(_ character: Character) -> Int {
        var columns = 0
        for scalar in character.unicodeScalars {
            // The emoji variation selector widens the preceding character.
            if scalar.value == 0xFE0F, columns > 0 { return 2 }
            columns = max(columns, of(scalar))
        }
        return columns
    }

    private static func of(_ scalar: Unicode.Scalar) -> Int {
        if scalar.value < 0x300 { return scalar.value >= 0x20 && scalar.value != 0xAD ? 1 : 0 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: return 0
        default: break
        }
        return isWide(scalar) ? 2 : 1
    }

    /// East Asian Width W and F (Unicode annex 11) in whole blocks, and emoji.
    private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF,
            0x4E00...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF,
            0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18CFF,
            0x1B000...0x1B2FF, 0x20000...0x3FFFD:
            true
        default: scalar.properties.isEmojiPresentation
        }
    }
}
