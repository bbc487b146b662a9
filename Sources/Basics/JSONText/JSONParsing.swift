extension JSONValue {
    /// The value that a text is.
    ///
    /// A number is ``int(_:)`` when it is written as a whole one that fits, else ``double(_:)``.
    package init(parsing bytes: ArraySlice<UInt8>) throws(JSONSyntaxError) {
        var cursor = try JSONScanner.start(bytes)
        self = try cursor.value(depth: 0)
        try cursor.end()
    }

    /// The last member of such a name, as in jsonb; nil when there is none, or this is no object.
    package subscript(_ name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.name == name }?.value
    }
}

extension JSONCursor {
    fileprivate mutating func value(depth: Int) throws(JSONSyntaxError) -> JSONValue {
        try checkDepth(depth)
        let start = at
        var isFirst = true
        switch peek {
        case UInt8(ascii: "{"):
            var members: [JSONValue.Member] = []
            while let name = try nextMember(&isFirst) {
                members.append(
                    JSONValue.Member(
                        JSONScanner.unescaped(bytes[name]), try value(depth: depth + 1)))
            }
            return .object(members)
        case UInt8(ascii: "["):
            var elements: [JSONValue] = []
            while try nextElement(&isFirst) { elements.append(try value(depth: depth + 1)) }
            return .array(elements)
        default: break
        }
        try skipValue(depth: depth)
        let text = bytes[start..<at]
        switch text.first {
        case UInt8(ascii: "\""): return .text(JSONScanner.unescaped(text.dropFirst().dropLast()))
        case UInt8(ascii: "t"): return .bool(true)
        case UInt8(ascii: "f"): return .bool(false)
        case UInt8(ascii: "n"): return .null
        default:
            let number = String(decoding: text, as: UTF8.self)
            return Int(number).map(JSONValue.int) ?? .double(Double(number) ?? .infinity)
        }
    }
}
