/// The URL-safe base64 alphabet without padding (RFC 4648 section 5, RFC 7515 section 2).
package enum Base64URL {
    private static let letters = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    private static let values: [UInt8] = {
        var values = [UInt8](repeating: .max, count: 256)
        for (value, letter) in letters.enumerated() { values[Int(letter)] = UInt8(value) }
        return values
    }()

    /// Encodes bytes as text.
    package static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 4 + 2) / 3)
        var bits = 0
        var width = 0
        for byte in bytes {
            bits = (bits << 8 | Int(byte)) & 0xffff
            width += 8
            while width >= 6 {
                width -= 6
                text.append(letters[(bits >> width) & 63])
            }
        }
        if width > 0 { text.append(letters[(bits << (6 - width)) & 63]) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Decodes a text; nil for padding, invalid characters, an impossible length, or unused bits
    /// that are not zero, so that each array has exactly one text.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count * 3 / 4)
        var bits = 0
        var width = 0
        for letter in text.utf8 {
            let value = values[Int(letter)]
            guard value != .max else { return nil }
            bits = (bits << 6 | Int(value)) & 0xffff
            width += 6
            if width >= 8 {
                width -= 8
                bytes.append(UInt8((bits >> width) & 0xff))
            }
        }
        guard width < 6, bits & ((1 << width) - 1) == 0 else { return nil }
        return bytes
    }
}
