import FoundationEssentials

/// Checks JSON text and finds the members of an object, without building values.
package enum JSONScanner {
    /// One member of an object; the value is valid JSON.
    package struct Member {
        package var name: String
        package var value: ArraySlice<UInt8>
    }

    /// Checks that the text is one JSON object and nothing else.
    package static func checkObject(_ bytes: ArraySlice<UInt8>) throws(JSONSyntaxError) {
        var cursor = try start(bytes)
        guard cursor.peek == UInt8(ascii: "{") else { throw cursor.expected("an object, {…}") }
        try cursor.skipValue()
        try cursor.end()
    }

    /// The members of one JSON object, in order.
    package static func members(
        of bytes: ArraySlice<UInt8>
    ) throws(JSONSyntaxError) -> [Member] {
        var cursor = try start(bytes)
        var members: [Member] = []
        var isFirst = true
        while let name = try cursor.nextMember(&isFirst) {
            let start = cursor.at
            try cursor.skipValue(depth: 1)
            members.append(
                Member(name: unescaped(bytes[name]), value: bytes[start..<cursor.at]))
        }
        try cursor.end()
        return members
    }

    /// A cursor at the first sign of a text, all of which is UTF-8.
    static func start(_ bytes: ArraySlice<UInt8>) throws(JSONSyntaxError) -> JSONCursor {
        var cursor = JSONCursor(bytes)
        if bytes.contains(where: { $0 >= 0x80 }),
            String(validating: bytes, as: UTF8.self) == nil
        {
            throw cursor.expected("UTF-8 text")
        }
        cursor.skipSpace()
        return cursor
    }

    /// The text that a valid value is; nil when it is none.
    package static func text(_ value: ArraySlice<UInt8>) -> String? {
        guard value.first == UInt8(ascii: "\""), value.count > 1 else { return nil }
        return unescaped(value.dropFirst().dropLast())
    }

    /// What stands between two quotation marks, with its escapes resolved.
    package static func unescaped(_ inner: ArraySlice<UInt8>) -> String {
        if inner.contains(UInt8(ascii: "\\")),
            let text = try? JSONDecoder().decode(String.self, from: Data([0x22] + inner + [0x22]))
        {
            return text
        }
        return String(decoding: inner, as: UTF8.self)
    }
}
