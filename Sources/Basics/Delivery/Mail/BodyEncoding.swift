import FoundationEssentials

/// Encodes the text of a body as ASCII lines of at most 76 columns (RFC 2045, section 6).
enum BodyEncoding {
    /// Encodes mostly ASCII text as quoted-printable, and other scripts as base64.
    static func encode(_ text: String) -> (name: String, bytes: [UInt8]) {
        let lines = canonical(text)
        let foreign = lines.count { $0 >= 0x80 }
        return foreign * 4 > lines.count
            ? ("base64", base64(lines)) : ("quoted-printable", quotedPrintable(lines))
    }

    /// Returns the text with all line breaks as CRLF, and one at the end.
    private static func canonical(_ text: String) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(text.utf8.count + text.utf8.count / 32 + 2)
        var previous: UInt8 = 0
        for byte in text.utf8 {
            switch byte {
            case 13: out += [13, 10]
            case 10: if previous != 13 { out += [13, 10] }
            default: out.append(byte)
            }
            previous = byte
        }
        if out.last != 10 { out += [13, 10] }
        return out
    }

    private static func base64(_ bytes: [UInt8]) -> [UInt8] {
        let encoded = Data(bytes).base64EncodedString(options: [
            .lineLength76Characters, .endLineWithCarriageReturn, .endLineWithLineFeed,
        ])
        return Array(encoded.utf8) + [13, 10]
    }

    /// Encodes as quoted-printable (RFC 2045, section 6.7): `=XX` for bytes that are not printable
    /// ASCII and for blanks at a line's end, a soft break `=` before column 76.
    private static func quotedPrintable(_ bytes: [UInt8]) -> [UInt8] {
        let hex = Array("0123456789ABCDEF".utf8)
        var out: [UInt8] = []
        out.reserveCapacity(bytes.count + bytes.count / 8 + 16)
        var column = 0
        for (index, byte) in bytes.enumerated() {
            if byte == 13 || byte == 10 {
                out.append(byte)
                column = 0
                continue
            }
            let endsLine = index + 1 < bytes.count && bytes[index + 1] == 13
            let isBlank = byte == 0x20 || byte == 0x09
            let isLiteral = (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "=")
            let width = isLiteral || (isBlank && !endsLine) ? 1 : 3
            if column + width > (endsLine ? 76 : 75) {
                out += [UInt8(ascii: "="), 13, 10]
                column = 0
            }
            if width == 1 {
                out.append(byte)
            } else {
                out += [UInt8(ascii: "="), hex[Int(byte >> 4)], hex[Int(byte & 15)]]
            }
            column += width
        }
        return out
    }
}
