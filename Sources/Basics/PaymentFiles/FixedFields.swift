import ErrandGregorian
import ErrandLatinText

/// Fields of fixed width, as the formats of banks have them.
extension [UInt8] {
    /// A number, right-justified with zeros in front; what does not fit was refused before.
    mutating func appendNumber(_ value: Int64, width: Int) {
        let start = count
        append(contentsOf: repeatElement(UInt8(ascii: "0"), count: width))
        putNumber(value, at: start, width: width)
    }

    /// Writes a number over zeros that are there.
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

    /// A text of ASCII, left-justified with blanks behind.
    mutating func appendText(_ text: some StringProtocol, width: Int) {
        let start = count
        append(contentsOf: text.utf8)
        precondition(count - start <= width, "a text was not checked before it was written")
        appendBlanks(start + width - count)
    }

    /// Writes a text over blanks that are there.
    mutating func putText(_ text: String, at start: Int) {
        var place = start
        for byte in text.utf8 {
            self[place] = byte
            place += 1
        }
    }

    /// Blanks.
    mutating func appendBlanks(_ number: Int) {
        append(contentsOf: repeatElement(UInt8(ascii: " "), count: number))
    }
}

/// What the fields of banks' files may hold.
enum BankText {
    /// Whether a printable byte may stand in a name: what both Standard 005 and the NACHA format
    /// take without question.
    static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "&'()+,-./:#".utf8.contains(byte)
        }
    }

    /// A name in capitals of ASCII, at most so many.
    static func capitals(of text: String, limit: Int) -> String {
        var bytes: [UInt8] = []
        _ = PlainLetters.appendCapitals(
            of: text, limit: limit, where: isAllowed, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether a text is a reference that comes back from every bank as it was sent.
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
