/// Changes single values of JSON text, and leaves the rest as it is written.
///
/// It goes from string to string and needs no stack, because what PostgreSQL holds may be nested
/// deeper than what a ``JSONScanner`` lets in.
package struct JSONEditor {
    private var cursor: JSONCursor
    private var result: [UInt8] = []
    /// Up to where the result has what was read.
    private var copied: Int

    private init(_ bytes: [UInt8]) {
        cursor = JSONCursor(bytes[...])
        copied = cursor.at
        result.reserveCapacity(bytes.count)
    }

    /// Puts a text in the place of each member of such a name, at any depth, and reports every
    /// text and number in what was there.
    ///
    /// - Returns: nil when the bytes are no JSON.
    package static func replacingMembers(
        of json: [UInt8], named names: Set<String>, by mark: String, leaf: (String) -> Void
    ) -> [UInt8]? {
        var editor = JSONEditor(json)
        return try? editor.edited { editor, string, isName throws(JSONSyntaxError) in
            guard isName, names.contains(editor.text(string)) else { return }
            editor.cursor.skipSpace()
            editor.cursor.at += 1
            editor.cursor.skipSpace()
            let start = editor.cursor.at
            try editor.skipValue(leaf)
            editor.replace(from: start, by: mark)
        }
    }

    /// Changes each text that is not the name of a member.
    ///
    /// - Returns: nil when the bytes are no JSON.
    package static func mappingTexts(
        of json: [UInt8], _ change: (String) -> String
    ) -> [UInt8]? {
        var editor = JSONEditor(json)
        return try? editor.edited { editor, string, isName throws(JSONSyntaxError) in
            guard !isName else { return }
            let old = editor.text(string)
            let new = change(old)
            if new != old { editor.replace(from: string.lowerBound, by: new) }
        }
    }

    /// The text after each string of it was visited, names among them.
    private mutating func edited(
        _ visit: (inout JSONEditor, Range<Int>, _ isName: Bool) throws(JSONSyntaxError) -> Void
    ) throws(JSONSyntaxError) -> [UInt8] {
        while let byte = cursor.peek {
            guard byte == UInt8(ascii: "\"") else {
                cursor.at += 1
                continue
            }
            let start = cursor.at
            try cursor.skipString()
            try visit(&self, start..<cursor.at, isBeforeColon)
        }
        result += cursor.bytes[copied...]
        return result
    }

    /// Only the name of a member is followed by a colon.
    private var isBeforeColon: Bool {
        var ahead = cursor
        ahead.skipSpace()
        return ahead.peek == UInt8(ascii: ":")
    }

    private mutating func replace(from start: Int, by text: String) {
        result += cursor.bytes[copied..<start]
        JSONValue.text(text).append(to: &result)
        copied = cursor.at
    }

    private func text(_ string: Range<Int>) -> String {
        JSONScanner.unescaped(cursor.bytes[string].dropFirst().dropLast())
    }

    /// Goes behind the value that begins here, and reports every text and number in it.
    private mutating func skipValue(_ leaf: (String) -> Void) throws(JSONSyntaxError) {
        var depth = 0
        repeat {
            let start = cursor.at
            switch cursor.peek {
            case nil: throw cursor.expected("a value")
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                cursor.at += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                guard depth > 0 else { throw cursor.expected("a value") }
                depth -= 1
                cursor.at += 1
            case UInt8(ascii: "\""):
                try cursor.skipString()
                if !isBeforeColon { leaf(text(start..<cursor.at)) }
            case UInt8(ascii: ","), UInt8(ascii: ":"), 0x20, 0x09, 0x0A, 0x0D: cursor.at += 1
            case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"): try cursor.skipValue()
            default:
                try cursor.skipValue()
                leaf(String(decoding: cursor.bytes[start..<cursor.at], as: UTF8.self))
            }
        } while depth > 0
    }
}
