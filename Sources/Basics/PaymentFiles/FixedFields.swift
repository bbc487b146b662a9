import ErrandGregorian
import ErrandLatinText

/// Fields of fixed width for the formats of banks.
extension [UInt8] {
    /// Appends a number with leading zeros; the caller checks that it fits.
    mutating func appendNumber(_ value: Int64, width: Int) {
        let start = count
        append(contentsOf: repeatElement(UInt8(ascii: "0"), count: width))
        putNumber(value, at: start, width: width)
    }

    /// Overwrites existing zeros with a number.
    mutating func putNumber(_ value: Int64, at start: Int, width: Int) {
        var rest = value
        var place = start + width
        while place > start {
            place -= 1
            self[place] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
        precondition(rest == 0, "a number was not checked before it was written")
    }

    /// Appends an ASCII text, padded with blanks.
    mutating func appendText(_ text: some StringProtocol, width: Int) {
        let start = count
        append(contentsOf: text.utf8)
        precondition(count - start <= width, "a text was not checked before it was written")
        appendBlanks(start + width - count)
    }

    /// Overwrites existing blanks with a text.
    mutating func putText(_ text: String, at start: Int) {
        var place = start
        for byte in text.utf8 {
            self[place] = byte
            place += 1
        }
    }

    /// Appends blanks.
    mutating func appendBlanks(_ number: Int) {
        append(contentsOf: repeatElement(UInt8(ascii: " "), count: number))
    }
}

/// Checks and conversions of texts in bank files.
enum BankText {
    /// Whether a byte is allowed in names by both Standard 005 and the NACHA format.
    static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "&'()+,-./:#".utf8.contains(byte)
        }
    }

    /// Converts a name to at most `limit` ASCII capitals.
    static func capitals(of text: String, limit: Int) -> String {
        var bytes: [UInt8] = []
        _ = PlainLetters.appendCapitals(
            of: text, limit: limit, where: isAllowed, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether a text is a reference that every bank returns unchanged.
    static func isReference(_ text: String, limit: Int) -> Bool {
        (1...limit).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: byte == UInt8(ascii: "-")
                }
            }
    }

    /// Whether a text consists of digits only.
    static func isDigits(_ text: some StringProtocol, count: ClosedRange<Int>) -> Bool {
        count.contains(text.utf8.count)
            && text.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
    }

    static func isDate(_ date: CivilDate) -> Bool {
        (2000...2099).contains(date.year) && (1...12).contains(date.month)
            && (1...CivilDate.days(inMonth: date.month, of: date.year)).contains(date.day)
    }
}
