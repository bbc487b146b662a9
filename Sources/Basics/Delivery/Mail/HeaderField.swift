import FoundationEssentials

/// One header as words, between which it may be folded.
struct HeaderField {
    let name: String
    let words: [String]

    init(_ name: String, words: [String]) {
        self.name = name
        self.words = words
    }

    /// Creates a header of free text: unchanged if ASCII, otherwise as encoded-words.
    init(_ name: String, text: String) {
        self.init(
            name,
            words: Self.isPlain(text) ? Self.split(text) : Self.encodedWords(text, after: name))
    }

    init(_ name: String, mailbox: Mailbox) {
        guard let shown = mailbox.displayName else {
            self.init(name, words: [mailbox.address])
            return
        }
        let phrase =
            if !Self.isPlain(shown) {
                Self.encodedWords(shown, after: name)
            } else if shown.utf8.allSatisfy(Self.isAtomOrBlank) && shown == Self.trimmed(shown) {
                Self.split(shown)
            } else {
                [Self.quoted(shown)]
            }
        self.init(name, words: phrase + ["<\(mailbox.address)>"])
    }

    /// Writes `Name: word word`, folded before each word that would exceed column 78.
    func write(to out: inout [UInt8]) {
        out += name.utf8
        out.append(UInt8(ascii: ":"))
        var column = name.utf8.count + 1
        for word in words {
            // The first word follows the name directly: a line of only blanks is obsolete syntax.
            if column + 1 + word.utf8.count > 78, column > name.utf8.count + 1 {
                out += [13, 10]
                column = 0
            }
            out.append(UInt8(ascii: " "))
            out += word.utf8
            column += 1 + word.utf8.count
        }
        out += [13, 10]
    }

    /// Splits at single blanks, so that joining with blanks restores the text; several blanks in a
    /// row stay within a word.
    private static func split(_ text: String) -> [String] {
        var words: [String] = []
        for part in text.split(separator: " ", omittingEmptySubsequences: false) {
            if part.isEmpty || words.last?.hasSuffix(" ") == true, !words.isEmpty {
                words[words.count - 1] += " " + part
            } else {
                words.append(String(part))
            }
        }
        return words
    }

    /// Returns whether a text is ASCII that does not look like an encoded-word, without blanks at
    /// its ends.
    private static func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy { (0x20...0x7E).contains($0) } && !text.contains("=?")
            && text == trimmed(text)
            && text.split(separator: " ").allSatisfy { $0.utf8.count <= 900 }
    }

    private static func trimmed(_ text: String) -> String {
        var slice = text[...]
        while slice.first == " " { slice.removeFirst() }
        while slice.last == " " { slice.removeLast() }
        return String(slice)
    }

    private static func isAtomOrBlank(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: " "):
            true
        default: "!#$%&'*+-/=?^_`{|}~".utf8.contains(byte)
        }
    }

    private static func quoted(_ text: String) -> String {
        var out = "\""
        for character in text {
            if character == "\"" || character == "\\" { out.append("\\") }
            out.append(character)
        }
        return out + "\""
    }

    /// Returns `=?utf-8?B?…?=` words of whole characters, on lines of at most 76 columns (RFC
    /// 2047).
    private static func encodedWords(_ text: String, after name: String) -> [String] {
        var words: [String] = []
        var chunk: [UInt8] = []
        // The first word shares its line with the name; twelve columns are overhead.
        var limit = max(9, min(45, (76 - name.utf8.count - 2 - 12) / 4 * 3))
        for scalar in text.unicodeScalars {
            let bytes = Array(String(scalar).utf8)
            if chunk.count + bytes.count > limit {
                words.append(encodedWord(chunk))
                chunk = []
                limit = 45
            }
            chunk += bytes
        }
        if !chunk.isEmpty { words.append(encodedWord(chunk)) }
        return words
    }

    private static func encodedWord(_ bytes: [UInt8]) -> String {
        "=?utf-8?B?\(Data(bytes).base64EncodedString())?="
    }
}
