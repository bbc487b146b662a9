/// JSON objects written straight into bytes, in the order of the calls (RFC 8259).
struct JSONText {
    private(set) var bytes: [UInt8] = []

    /// One object; what `fields` writes goes into it.
    static func object(_ fields: (inout JSONText) -> Void) -> [UInt8] {
        var text = JSONText()
        text.bytes.reserveCapacity(512)
        text.braces(fields)
        return text.bytes
    }

    mutating func field(_ name: String, _ value: String) {
        key(name)
        quote(value)
    }

    mutating func field(_ name: String, _ value: Int) {
        key(name)
        bytes += "\(value)".utf8
    }

    mutating func field(_ name: String, _ fields: (inout JSONText) -> Void) {
        key(name)
        braces(fields)
    }

    private mutating func braces(_ fields: (inout JSONText) -> Void) {
        bytes.append(UInt8(ascii: "{"))
        fields(&self)
        bytes.append(UInt8(ascii: "}"))
    }

    private mutating func key(_ name: String) {
        if bytes.last != UInt8(ascii: "{") { bytes.append(UInt8(ascii: ",")) }
        quote(name)
        bytes.append(UInt8(ascii: ":"))
    }

    private mutating func quote(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case 0x0A: bytes += "\\n".utf8
            case 0..<0x20:
                bytes += (byte < 0x10 ? "\\u000" : "\\u00").utf8
                bytes += String(byte, radix: 16).utf8
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
