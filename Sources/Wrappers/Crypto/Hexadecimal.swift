/// Bytes as pairs of lower-case hexadecimal digits (RFC 4648 section 8).
package enum Hexadecimal {
    private static let digits = Array("0123456789abcdef".utf8)

    /// Encodes bytes as text.
    package static func encode(_ bytes: [UInt8]) -> String {
        String(
            decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] },
            as: UTF8.self)
    }

    /// Decodes a text in upper or lower case; nil if it is invalid.
    package static func decode(_ text: String) -> [UInt8]? {
        let values = text.utf8.compactMap {
            UInt8(Character(UnicodeScalar($0)).hexDigitValue ?? 16)
        }
        guard values.count % 2 == 0, values.allSatisfy({ $0 < 16 }) else { return nil }
        return stride(from: 0, to: values.count, by: 2).map { values[$0] << 4 | values[$0 + 1] }
    }
}
