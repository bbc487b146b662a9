/// A JSON value whose object members keep their order.
package enum JSONValue: Equatable, Sendable {
    case null
    case bool(Bool)
    case int(Int)
    /// NaN and the infinities have no JSON form and become null.
    case double(Double)
    case text(String)
    case array([JSONValue])
    case object([Member])
    /// Bytes that are JSON already, such as a `jsonb` column as PostgreSQL sent it.
    case raw([UInt8])

    /// One name and value of an object.
    package struct Member: Equatable, Sendable {
        package var name: String
        package var value: JSONValue

        /// One name and value.
        package init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// The value on one line, without spaces.
    package var serialized: [UInt8] {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return bytes
    }

    /// Appends the value on one line, without spaces.
    package func append(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes += "null".utf8
        case .bool(let value): bytes += (value ? "true" : "false").utf8
        case .int(let value): bytes += String(value).utf8
        case .double(let value): bytes += (value.isFinite ? "\(value)" : "null").utf8
        case .text(let value): Self.append(quoted: value, to: &bytes)
        case .raw(let value): Self.append(raw: value, to: &bytes)
        case .array(let values):
            bytes.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                value.append(to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                Self.append(quoted: member.name, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.value.append(to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    /// A text as it stands between the quotation marks of JSON.
    package static func escaped(_ text: String) -> String {
        String(decoding: JSONValue.text(text).serialized.dropFirst().dropLast(), as: UTF8.self)
    }

    /// RFC 8259, section 7: the quotation mark, the backslash and U+0000 to U+001F are escaped.
    private static func append(quoted text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        if text.utf8.contains(where: { $0 < 0x20 || $0 == 0x22 || $0 == 0x5C }) {
            for byte in text.utf8 { append(escaped: byte, to: &bytes) }
        } else {
            bytes.append(contentsOf: text.utf8)
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func append(escaped byte: UInt8, to bytes: inout [UInt8]) {
        switch byte {
        case 0x22: bytes += "\\\"".utf8
        case 0x5C: bytes += "\\\\".utf8
        case 0x0A: bytes += "\\n".utf8
        case 0x0D: bytes += "\\r".utf8
        case 0x09: bytes += "\\t".utf8
        case 0..<0x20:
            let digits = Array("0123456789abcdef".utf8)
            bytes += "\\u00".utf8
            bytes.append(digits[Int(byte >> 4)])
            bytes.append(digits[Int(byte & 0xF)])
        default: bytes.append(byte)
        }
    }

    /// Line breaks may stand between JSON tokens, never inside a string, so a space is as good
    /// and keeps the object on its line.
    private static func append(raw value: [UInt8], to bytes: inout [UInt8]) {
        guard !value.isEmpty else { return bytes.append(contentsOf: "null".utf8) }
        guard value.contains(where: { $0 == 0x0A || $0 == 0x0D }) else {
            return bytes.append(contentsOf: value)
        }
        bytes += value.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 }
    }
}

extension JSONValue: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral {
    /// An object whose members stand in the order written.
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(elements.map { Member($0.0, $0.1) })
    }

    /// An array.
    package init(arrayLiteral elements: JSONValue...) {
        self = .array(elements)
    }
}
