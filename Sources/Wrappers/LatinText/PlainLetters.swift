/// What letters of the Latin alphabets become where only ASCII is allowed.
///
/// Banks' files and the fonts that every printer has know fewer letters than people's names do.
/// A letter with a mark loses it, a ligature becomes its letters; what has no Latin counterpart
/// has none here either.
package enum PlainLetters {
    /// The ASCII text that stands for a scalar: itself if it is ASCII, nil if there is none, and
    /// empty for a mark that was put on the letter before.
    package static func text(for scalar: Unicode.Scalar) -> String? {
        if scalar.isASCII { return String(scalar) }
        if (0x300...0x36F).contains(scalar.value) { return "" }
        return table[scalar]
    }

    /// Appends the upper-case ASCII bytes of a text, at most so many; what has no counterpart is
    /// left out, runs of blanks become one, and there are none at the ends.
    ///
    /// - Parameters:
    ///   - text: any text.
    ///   - limit: the most bytes to append; a text that is longer is cut.
    ///   - isAllowed: says of a byte from 0x21 to 0x7E whether it may stand; others are left out.
    ///   - output: where to.
    /// - Returns: how many bytes were appended.
    package static func appendCapitals(
        of text: String, limit: Int, where isAllowed: (UInt8) -> Bool, to output: inout [UInt8]
    ) -> Int {
        var count = 0
        var isBlankDue = false
        func append(_ byte: UInt8) {
            if byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") {
                isBlankDue = count > 0
                return
            }
            let capital = UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte ? byte - 32 : byte
            guard (0x21...0x7E).contains(capital), isAllowed(capital) else { return }
            if isBlankDue, count + 1 < limit {
                output.append(UInt8(ascii: " "))
                count += 1
            } else if isBlankDue {
                // A blank as the last byte would be one at the end.
                count = limit
            }
            isBlankDue = false
            guard count < limit else { return }
            output.append(capital)
            count += 1
        }
        let start = output.count
        for scalar in text.unicodeScalars {
            guard count < limit else { break }
            if scalar.isASCII {
                append(UInt8(truncatingIfNeeded: scalar.value))
            } else if let plain = self.text(for: scalar) {
                for byte in plain.utf8 { append(byte) }
            }
        }
        return output.count - start
    }

    private static let table: [Unicode.Scalar: String] = {
        var table: [Unicode.Scalar: String] = [:]
        for (plain, letters) in letters {
            for letter in letters.unicodeScalars { table[letter] = plain }
        }
        return table
    }()

    /// By what becomes of them; Latin-1, Latin Extended-A, and what Romanian, Vietnamese and the
    /// Polynesian languages add.
    private static let letters: [(plain: String, letters: String)] = [
        ("A", "ÀÁÂÃÄÅĀĂĄǍȀȂẠẢẤẦẨẪẬẮẰẲẴẶ"), ("a", "àáâãäåāăąǎȁȃạảấầẩẫậắằẳẵặª"),
        ("AE", "ÆǼ"), ("ae", "æǽ"), ("C", "ÇĆĈĊČ"), ("c", "çćĉċč"),
        ("D", "ÐĎĐ"), ("d", "ðďđ"),
        ("E", "ÈÉÊËĒĔĖĘĚȄȆẸẺẼẾỀỂỄỆ"), ("e", "èéêëēĕėęěȅȇẹẻẽếềểễệ"),
        ("G", "ĜĞĠĢǦ"), ("g", "ĝğġģǧ"), ("H", "ĤĦ"), ("h", "ĥħ"),
        ("I", "ÌÍÎÏĨĪĬĮİǏỈỊ"), ("i", "ìíîïĩīĭįıǐỉị"), ("IJ", "Ĳ"), ("ij", "ĳ"),
        ("J", "Ĵ"), ("j", "ĵ"), ("K", "Ķ"), ("k", "ķĸ"), ("L", "ĹĻĽĿŁ"), ("l", "ĺļľŀł"),
        ("N", "ÑŃŅŇŊ"), ("n", "ñńņňŋŉ"),
        ("O", "ÒÓÔÕÖØŌŎŐǑǾƠỌỎỐỒỔỖỘỚỜỞỠỢ"), ("o", "òóôõöøōŏőǒǿơọỏốồổỗộớờởỡợº"),
        ("OE", "Œ"), ("oe", "œ"), ("R", "ŔŖŘ"), ("r", "ŕŗř"), ("S", "ŚŜŞŠȘ"), ("s", "śŝşšșſ"),
        ("SS", "ẞ"), ("ss", "ß"), ("T", "ŢŤŦȚ"), ("t", "ţťŧț"), ("TH", "Þ"), ("th", "þ"),
        ("U", "ÙÚÛÜŨŪŬŮŰŲǓƯỤỦỨỪỬỮỰ"), ("u", "ùúûüũūŭůűųǔưụủứừửữự"), ("W", "ŴẀẂẄ"), ("w", "ŵẁẃẅ"),
        ("Y", "ÝŶŸỲỴỶỸ"), ("y", "ýÿŷỳỵỷỹ"), ("Z", "ŹŻŽ"), ("z", "źżž"),
        ("'", "\u{2018}\u{2019}\u{201B}\u{2BC}\u{2BB}\u{B4}\u{2032}"),
        ("\"", "\u{201C}\u{201D}\u{201E}\u{2033}«»"), ("-", "\u{2010}\u{2011}\u{2012}–—\u{2212}"),
        (" ", "\u{A0}\u{2007}\u{2009}\u{202F}\u{3000}"), ("...", "…"),
    ]
}
