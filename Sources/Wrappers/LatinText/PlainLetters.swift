/// The transliteration of Latin letters to ASCII.
///
/// Bank files and standard fonts support fewer letters than people's names contain. Letters lose
/// their diacritics, and ligatures become separate letters. Other scripts have no transliteration.
package enum PlainLetters {
    /// Returns the ASCII text of a scalar: the scalar itself if it is ASCII, an empty text for a
    /// combining mark, and nil if there is none.
    package static func text(for scalar: Unicode.Scalar) -> String? {
        if scalar.isASCII { return String(scalar) }
        if (0x300...0x36F).contains(scalar.value) { return "" }
        return table[scalar]
    }

    /// Appends the upper-case ASCII bytes of a text.
    ///
    /// Letters without a transliteration are omitted, and spaces are collapsed and trimmed.
    ///
    /// - Parameters:
    ///   - text: any text.
    ///   - limit: the maximum number of bytes; a longer text is truncated.
    ///   - isAllowed: returns whether a byte from 0x21 to 0x7E is allowed; others are omitted.
    ///   - output: the array to append to.
    /// - Returns: the number of appended bytes.
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
                // The last byte must not be a space.
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

    /// The letters by transliteration: Latin-1, Latin Extended-A, and the letters of Romanian,
    /// Vietnamese and the Polynesian languages.
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
