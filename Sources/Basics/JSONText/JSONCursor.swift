/// Where JSON text is no JSON, or not what was expected there.
package struct JSONSyntaxError: Error, Equatable, CustomStringConvertible {
    /// The byte, counted from 1.
    package var column: Int
    /// Such as `expected a colon`.
    package var problem: String
    package var description: String { "column \(column): \(problem)" }
}

/// A place in JSON text (RFC 8259), and the steps from one to the next.
///
/// Stricter where PostgreSQL's jsonb is: no U+0000, no half of a surrogate pair, no number that
/// its `numeric` cannot hold. One such value would make a whole COPY fail.
package struct JSONCursor {
    private static let depthLimit = 256

    package let bytes: ArraySlice<UInt8>
    /// The index of the next byte.
    package internal(set) var at: Int

    /// Begins at the first byte.
    ///
    /// What is no UTF-8 is for the caller to find.
    package init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        at = bytes.startIndex
    }

    /// The next byte; nil at the end.
    package var peek: UInt8? { at < bytes.endIndex ? bytes[at] : nil }

    /// What to throw where something else was expected; at the next byte unless a place is given.
    package func expected(_ expected: String, at place: Int? = nil) -> JSONSyntaxError {
        error("expected \(expected)", at: place)
    }

    /// What to throw; at the next byte unless a place is given.
    package func error(_ problem: String, at place: Int? = nil) -> JSONSyntaxError {
        JSONSyntaxError(column: (place ?? at) - bytes.startIndex + 1, problem: problem)
    }

    // MARK: Steps

    /// Goes past blanks.
    package mutating func skipSpace() {
        while let byte = peek, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D {
            at += 1
        }
    }

    /// Goes to the value of the next member of an object; nil behind the object.
    ///
    /// - Parameter isFirst: true at the object's brace; it is made false.
    /// - Returns: where the name stands, without its quotation marks.
    package mutating func nextMember(
        _ isFirst: inout Bool
    ) throws(JSONSyntaxError) -> Range<Int>? {
        if isFirst {
            guard peek == UInt8(ascii: "{") else { throw expected("an object, {…}") }
            at += 1
        }
        skipSpace()
        if peek == UInt8(ascii: "}") {
            at += 1
            return nil
        }
        if !isFirst {
            guard peek == UInt8(ascii: ",") else { throw expected("a comma or }") }
            at += 1
            skipSpace()
        }
        isFirst = false
        guard peek == UInt8(ascii: "\"") else { throw expected("a name in quotation marks") }
        let name = at + 1
        try skipString()
        let end = at - 1
        skipSpace()
        guard peek == UInt8(ascii: ":") else { throw expected("a colon") }
        at += 1
        skipSpace()
        return name..<end
    }

    /// Goes to the next element of an array; false behind the array.
    ///
    /// - Parameter isFirst: true at the array's bracket; it is made false.
    package mutating func nextElement(_ isFirst: inout Bool) throws(JSONSyntaxError) -> Bool {
        if isFirst {
            guard peek == UInt8(ascii: "[") else { throw expected("an array, […]") }
            at += 1
        }
        skipSpace()
        if peek == UInt8(ascii: "]") {
            at += 1
            return false
        }
        if !isFirst {
            guard peek == UInt8(ascii: ",") else { throw expected("a comma or ]") }
            at += 1
            skipSpace()
        }
        isFirst = false
        return true
    }

    /// Goes behind the value that begins here.
    ///
    /// - Returns: where it stands.
    @discardableResult
    package mutating func skipValue() throws(JSONSyntaxError) -> Range<Int> {
        let start = at
        try skipValue(depth: 0)
        return start..<at
    }

    /// Goes behind the last value; what follows may be blank only.
    package mutating func end() throws(JSONSyntaxError) {
        skipSpace()
        guard at == bytes.endIndex else { throw expected("the end of the text") }
    }

    func checkDepth(_ depth: Int) throws(JSONSyntaxError) {
        guard depth < Self.depthLimit else { throw expected("fewer nested levels") }
    }

    mutating func skipValue(depth: Int) throws(JSONSyntaxError) {
        try checkDepth(depth)
        var isFirst = true
        switch peek {
        case UInt8(ascii: "{"):
            while try nextMember(&isFirst) != nil { try skipValue(depth: depth + 1) }
        case UInt8(ascii: "["):
            while try nextElement(&isFirst) { try skipValue(depth: depth + 1) }
        case UInt8(ascii: "\""): try skipString()
        case UInt8(ascii: "t"): try skipWord("true")
        case UInt8(ascii: "f"): try skipWord("false")
        case UInt8(ascii: "n"): try skipWord("null")
        default: try skipNumber()
        }
    }

    private mutating func skipWord(_ word: StaticString) throws(JSONSyntaxError) {
        for letter in String(describing: word).utf8 {
            guard peek == letter else { throw expected("\(word)") }
            at += 1
        }
    }

    // MARK: Strings

    /// Goes behind the string whose quotation mark is next.
    package mutating func skipString() throws(JSONSyntaxError) {
        at += 1
        while let byte = peek {
            switch byte {
            case UInt8(ascii: "\""):
                at += 1
                return
            case UInt8(ascii: "\\"): try escape()
            case ..<0x20: throw expected("an escaped control character")
            default: at += 1
            }
        }
        throw expected("a closing quotation mark")
    }

    private mutating func escape() throws(JSONSyntaxError) {
        at += 1
        switch peek {
        case UInt8(ascii: "u"):
            at += 1
            let unit = try hexUnit()
            if unit == 0 { throw expected("no U+0000: PostgreSQL cannot store it") }
            if (0xDC00...0xDFFF).contains(unit) {
                throw expected("the first half of a surrogate pair")
            }
            guard (0xD800...0xDBFF).contains(unit) else { return }
            guard peek == UInt8(ascii: "\\") else { throw expected("the second half of a pair") }
            at += 1
            guard peek == UInt8(ascii: "u") else { throw expected("the second half of a pair") }
            at += 1
            guard (0xDC00...0xDFFF).contains(try hexUnit()) else {
                throw expected("the second half of a pair")
            }
        case .some(let byte) where "\"\\/bfnrt".utf8.contains(byte): at += 1
        default: throw expected("an escape such as \\n or \\u00e9")
        }
    }

    private mutating func hexUnit() throws(JSONSyntaxError) -> Int {
        var unit = 0
        for _ in 0..<4 {
            guard let digit = peek.flatMap({ Character(Unicode.Scalar($0)).hexDigitValue }) else {
                throw expected("four hexadecimal digits")
            }
            unit = unit * 16 + digit
            at += 1
        }
        return unit
    }
}
