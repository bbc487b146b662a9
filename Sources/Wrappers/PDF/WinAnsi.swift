import ErrandLatinText

/// The encoding of the texts: WinAnsiEncoding (ISO 32000-1, annex D), which is Windows code
/// page 1252.
enum WinAnsi {
    /// The characters from 0x80 on; nil for unused codes.
    private static let upperControls: [Character?] = [
        "€", nil, "‚", "ƒ", "„", "…", "†", "‡", "ˆ", "‰", "Š", "‹", "Œ", nil, "Ž", nil,
        nil, "\u{2018}", "\u{2019}", "\u{201C}", "\u{201D}", "•", "–", "—", "˜", "™", "š", "›",
        "œ", nil, "ž", "Ÿ",
    ]

    /// The codes by character, so that combined and precomposed letters are equal.
    private static let codes: [Character: UInt8] = {
        var codes: [Character: UInt8] = [:]
        for (place, character) in upperControls.enumerated() {
            if let character { codes[character] = UInt8(0x80 + place) }
        }
        for code in 0xA0...0xFF as ClosedRange<UInt8> {
            codes[Character(Unicode.Scalar(code))] = code
        }
        return codes
    }()

    /// Returns the bytes of a text with a terminating zero, for C.
    ///
    /// Characters that the encoding lacks are transliterated, or become `?`. Line breaks and other
    /// control characters become spaces.
    ///
    /// - Parameter isInfo: whether the text is a title or the like. These have another encoding,
    ///   which differs from 0x80 to 0x9F (ISO 32000-1, annex D.2), so those are transliterated too.
    static func bytes(of text: String, isInfo: Bool = false) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count + 1)
        for character in text {
            if let ascii = character.asciiValue {
                bytes.append((0x20...0x7E).contains(ascii) ? ascii : 0x20)
            } else if let code = codes[character], code >= 0xA0 || !isInfo {
                bytes.append(code)
            } else {
                let plain = character.unicodeScalars.compactMap { PlainLetters.text(for: $0) }
                let letters = plain.joined().utf8.filter { (0x20...0x7E).contains($0) }
                bytes += letters.isEmpty ? [UInt8(ascii: "?")] : letters
            }
        }
        return bytes + [0]
    }
}
