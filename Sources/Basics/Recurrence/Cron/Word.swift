/// One word of a text, with the column at which it begins.
struct Word {
    /// Its characters, one column each.
    let scalars: [Unicode.Scalar]
    /// The column of the first, from 1.
    let column: Int

    /// The words between the blanks of a text.
    static func split(_ text: String) -> [Word] {
        let all = Array(text.unicodeScalars)
        return all.indices.split { all[$0].properties.isWhitespace }
            .map { Word(scalars: Array(all[$0]), column: $0.startIndex + 1) }
    }

    /// The word as written.
    var text: String { text(scalars.indices) }

    /// The column behind its last character.
    var end: Int { column + scalars.count }

    /// A part of the word.
    func text(_ range: Range<Int>) -> String {
        String(String.UnicodeScalarView(scalars[range]))
    }

    /// The word for a message.
    var shown: String { shown(scalars.indices) }

    /// A part of the word for a message: not too long, and nothing that a terminal would obey.
    func shown(_ range: Range<Int>) -> String {
        let short = scalars[range].prefix(40).map { $0.isControl ? "\u{FFFD}" : $0 }
        return String(String.UnicodeScalarView(short)) + (range.count > 40 ? "…" : "")
    }
}

extension Unicode.Scalar {
    /// The value of an ASCII digit.
    var digit: Int? {
        "0" <= self && self <= "9" ? Int(value - 48) : nil
    }

    /// Whether this is an ASCII letter.
    var isLetter: Bool { "a" <= lowercase && lowercase <= "z" }

    /// Whether a terminal would act upon it, rather than print it.
    var isControl: Bool { properties.generalCategory == .control }

    /// The small letter of a capital one; everything else as it is.
    var lowercase: Unicode.Scalar {
        "A" <= self && self <= "Z" ? Unicode.Scalar(UInt8(value + 32)) : self
    }
}

/// The candidate that a misspelt word most resembles, if any comes close.
func nearest(to word: String, among candidates: [String]) -> String? {
    let scored = candidates.map { ($0, editDistance(word, $0)) }
    guard let best = scored.min(by: { $0.1 < $1.1 }) else { return nil }
    return best.1 <= max(1, best.0.count / 3) ? best.0 : nil
}

/// How many letters must be put in, taken out or changed to get from one word to the other.
private func editDistance(_ left: String, _ right: String) -> Int {
    let right = Array(right)
    var row = Array(0...right.count)
    for (line, letter) in left.enumerated() {
        var diagonal = row[0]
        row[0] = line + 1
        for column in right.indices {
            let changed = diagonal + (letter == right[column] ? 0 : 1)
            diagonal = row[column + 1]
            row[column + 1] = min(changed, diagonal + 1, row[column] + 1)
        }
    }
    return row[right.count]
}
