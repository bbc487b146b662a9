import FoundationEssentials

/// Checks JSON text (RFC 8259) and finds the members of an object, without building values.
///
/// Stricter where PostgreSQL's jsonb is: no U+0000, no half of a surrogate pair, no number that
/// its `numeric` cannot hold. One such value would make a whole COPY fail.
package struct JSONScanner {
    /// What is wrong, and at which byte, counted from 1.
    package struct Malformed: Error, Equatable, CustomStringConvertible {
        package var column: Int
        package var expected: String
        package var description: String { "column \(column): expected \(expected)" }
    }

    /// One member of an object; the value is valid JSON.
    package struct Member {
        package var name: String
        package var value: ArraySlice<UInt8>
    }

    private static let depthLimit = 256

    private let bytes: ArraySlice<UInt8>
    private var at: Int

    private init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        at = bytes.startIndex
    }

    /// Checks that the text is one JSON object and nothing else.
    package static func checkObject(_ bytes: ArraySlice<UInt8>) throws(Malformed) {
        var scanner = JSONScanner(bytes)
        try scanner.document { (_, _) throws(Malformed) in }
    }

    /// The members of one JSON object, in order.
    package static func members(of bytes: ArraySlice<UInt8>) throws(Malformed) -> [Member] {
        var members: [Member] = []
        var scanner = JSONScanner(bytes)
        try scanner.document { (name, value) throws(Malformed) in
            members.append(Member(name: text(bytes[name]), value: bytes[value]))
        }
        return members
    }

    /// What stands between two quotation marks, with its escapes resolved.
    private static func text(_ inner: ArraySlice<UInt8>) -> String {
        if inner.contains(UInt8(ascii: "\\")),
            let text = try? JSONDecoder().decode(String.self, from: Data([0x22] + inner + [0x22]))
        {
            return text
        }
        return String(decoding: inner, as: UTF8.self)
    }

    private mutating func document(
        _ each: (Range<Int>, Range<Int>) throws(Malformed) -> Void
    ) throws(Malformed) {
        if bytes.contains(where: { $0 >= 0x80 }),
            String(validating: bytes, as: UTF8.self) == nil
        {
            throw fail("UTF-8 text")
        }
        skipSpace()
        guard peek == UInt8(ascii: "{") else { throw fail("an object, {…}") }
        try object(depth: 0, each)
        skipSpace()
        guard at == bytes.endIndex else { throw fail("the end of the line") }
    }

    private var peek: UInt8? { at < bytes.endIndex ? bytes[at] : nil }

    private func fail(_ expected: String) -> Malformed {
        Malformed(column: at - bytes.startIndex + 1, expected: expected)
    }

    private mutating func skipSpace() {
        while let byte = peek, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D {
            at += 1
        }
    }

    private mutating func value(depth: Int) throws(Malformed) {
        guard depth < Self.depthLimit else { throw fail("fewer nested levels") }
        switch peek {
        case UInt8(ascii: "{"): try object(depth: depth) { (_, _) throws(Malformed) in }
        case UInt8(ascii: "["): try array(depth: depth)
        case UInt8(ascii: "\""): try string()
        case UInt8(ascii: "t"): try word("true")
        case UInt8(ascii: "f"): try word("false")
        case UInt8(ascii: "n"): try word("null")
        default: try number()
        }
    }

    private mutating func object(
        depth: Int, _ each: (Range<Int>, Range<Int>) throws(Malformed) -> Void
    ) throws(Malformed) {
        at += 1
        skipSpace()
        if peek == UInt8(ascii: "}") {
            at += 1
            return
        }
        while true {
            skipSpace()
            guard peek == UInt8(ascii: "\"") else { throw fail("a name in quotation marks") }
            let name = at + 1
            try string()
            let nameEnd = at - 1
            skipSpace()
            guard peek == UInt8(ascii: ":") else { throw fail("a colon") }
            at += 1
            skipSpace()
            let start = at
            try value(depth: depth + 1)
            try each(name..<nameEnd, start..<at)
            skipSpace()
            switch peek {
            case UInt8(ascii: ","): at += 1
            case UInt8(ascii: "}"):
                at += 1
                return
            default: throw fail("a comma or }")
            }
        }
    }

    private mutating func array(depth: Int) throws(Malformed) {
        at += 1
        skipSpace()
        if peek == UInt8(ascii: "]") {
            at += 1
            return
        }
        while true {
            skipSpace()
            try value(depth: depth + 1)
            skipSpace()
            switch peek {
            case UInt8(ascii: ","): at += 1
            case UInt8(ascii: "]"):
                at += 1
                return
            default: throw fail("a comma or ]")
            }
        }
    }

    private mutating func string() throws(Malformed) {
        at += 1
        while let byte = peek {
            switch byte {
            case UInt8(ascii: "\""):
                at += 1
                return
            case UInt8(ascii: "\\"): try escape()
            case ..<0x20: throw fail("an escaped control character")
            default: at += 1
            }
        }
        throw fail("a closing quotation mark")
    }

    private mutating func escape() throws(Malformed) {
        at += 1
        switch peek {
        case UInt8(ascii: "u"):
            at += 1
            let unit = try hexUnit()
            if unit == 0 { throw fail("no U+0000: PostgreSQL cannot store it") }
            if (0xDC00...0xDFFF).contains(unit) { throw fail("the first half of a surrogate pair") }
            guard (0xD800...0xDBFF).contains(unit) else { return }
            guard peek == UInt8(ascii: "\\") else { throw fail("the second half of a pair") }
            at += 1
            guard peek == UInt8(ascii: "u") else { throw fail("the second half of a pair") }
            at += 1
            guard (0xDC00...0xDFFF).contains(try hexUnit()) else {
                throw fail("the second half of a pair")
            }
        case .some(let byte) where "\"\\/bfnrt".utf8.contains(byte): at += 1
        default: throw fail("an escape such as \\n or \\u00e9")
        }
    }

    private mutating func hexUnit() throws(Malformed) -> Int {
        var unit = 0
        for _ in 0..<4 {
            guard let digit = peek.flatMap({ Character(Unicode.Scalar($0)).hexDigitValue }) else {
                throw fail("four hexadecimal digits")
            }
            unit = unit * 16 + digit
            at += 1
        }
        return unit
    }

    private mutating func word(_ word: StaticString) throws(Malformed) {
        for expected in String(describing: word).utf8 {
            guard peek == expected else { throw fail("\(word)") }
            at += 1
        }
    }

    private mutating func number() throws(Malformed) {
        let start = at
        if peek == UInt8(ascii: "-") { at += 1 }
        let whole = at
        if peek == UInt8(ascii: "0") {
            at += 1
        } else {
            try digits(expected: "a value")
        }
        let point = at
        if peek == UInt8(ascii: ".") {
            at += 1
            try digits(expected: "a digit")
        }
        let end = at
        var exponent = 0
        if peek == UInt8(ascii: "e") || peek == UInt8(ascii: "E") {
            at += 1
            let isNegative = peek == UInt8(ascii: "-")
            if isNegative || peek == UInt8(ascii: "+") { at += 1 }
            let first = at
            try digits(expected: "a digit")
            let size = Int(String(decoding: bytes[first..<at], as: UTF8.self)) ?? Int(Int32.max)
            exponent = isNegative ? -size : size
        }
        guard Self.isStorable(bytes[whole..<end], wholeDigits: point - whole, exponent) else {
            at = start
            throw fail("a number with up to 131072 digits before the point and 16383 after it")
        }
    }

    /// Whether PostgreSQL's `numeric` can hold a number.
    private static func isStorable(
        _ digits: ArraySlice<UInt8>, wholeDigits: Int, _ exponent: Int
    ) -> Bool {
        // Most numbers are far from any limit.
        if digits.count < 1_000, abs(exponent) < 1_000 { return true }
        // PostgreSQL takes no larger exponent, not even of zero.
        guard abs(exponent) < Int(Int32.max) / 2 else { return false }
        let decimals = max(digits.count - wholeDigits - 1, 0) - exponent
        guard decimals <= 16_383 else { return false }
        guard let first = digits.firstIndex(where: { (0x31...0x39).contains($0) }) else {
            return true
        }
        let place = first - digits.startIndex
        // How many digits stand from the first one that counts to the point.
        let above = place < wholeDigits ? wholeDigits - place : wholeDigits + 1 - place
        return above + exponent <= 131_072
    }

    private mutating func digits(expected: String) throws(Malformed) {
        let start = at
        while let byte = peek, (0x30...0x39).contains(byte) { at += 1 }
        guard at > start else { throw fail(expected) }
    }
}
