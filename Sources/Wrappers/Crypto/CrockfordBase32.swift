/// Crockford's base 32: numbers as text for people to read and type, without I, L, O and U.
///
/// A check symbol at the end, the number modulo 37, detects every single wrong symbol and every
/// swap of adjacent symbols.
package enum CrockfordBase32 {
    /// Why a text is not a valid code.
    package enum Refusal: Error, Sendable, Equatable, CustomStringConvertible {
        /// A wrong number of symbols, not counting spaces and hyphens.
        case wrongLength(expected: Int, found: Int)
        /// A character that is invalid at its position.
        case foreign(Character)
        /// The check symbol does not match: a symbol was misread or mistyped.
        case wrongCheck
        /// The number needs more symbols, or more than 64 bits.
        case tooLarge

        /// The message for people.
        package var description: String {
            switch self {
            case .wrongLength(let expected, let found):
                "a code of \(found) symbols: expected \(expected)"
            case .foreign(let character):
                "'\(character)' is in no code: check it again"
            case .wrongCheck:
                "a symbol is wrong, or two are swapped: compare the code with the original"
            case .tooLarge:
                "the number of the code is too large"
            }
        }
    }

    /// The symbols by value; those from 32 on are check symbols only.
    private static let symbols = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ*~$=U".utf8)
    private static let checkModulus: UInt64 = 37

    private static let values: [UInt8] = {
        var values = [UInt8](repeating: .max, count: 128)
        for (value, symbol) in symbols.enumerated() {
            values[Int(symbol)] = UInt8(value)
            values[Int(lowercase(symbol))] = UInt8(value)
        }
        for (lookalikes, value) in [("IiLl", 1), ("Oo", 0)] {
            for lookalike in lookalikes.utf8 { values[Int(lookalike)] = UInt8(value) }
        }
        return values
    }()

    private static func lowercase(_ symbol: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(symbol) ? symbol | 0x20 : symbol
    }

    /// Encodes a number as text.
    ///
    /// - Parameters:
    ///   - value: the number, of at most 5 bits for each symbol.
    ///   - length: the number of symbols, with leading zeros, without the check symbol.
    ///   - isChecked: whether to add a check symbol.
    /// - Throws: ``Refusal/tooLarge`` if the number needs more symbols.
    package static func encode(
        _ value: UInt64, length: Int, isChecked: Bool
    ) throws(Refusal) -> String {
        var text = [UInt8](repeating: symbols[0], count: length)
        var rest = value
        for place in text.indices.reversed() {
            text[place] = symbols[Int(rest % 32)]
            rest /= 32
        }
        guard rest == 0 else { throw .tooLarge }
        if isChecked { text.append(symbols[Int(value % checkModulus)]) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Decodes a typed text.
    ///
    /// Lower-case letters, spaces and hyphens are accepted; I and L are read as 1, O as 0.
    ///
    /// - Parameters:
    ///   - text: the code.
    ///   - length: the number of symbols, without the check symbol.
    ///   - isChecked: whether a check symbol follows.
    package static func decode(
        _ text: some StringProtocol, length: Int, isChecked: Bool
    ) throws(Refusal) -> UInt64 {
        let typed = text.filter { !$0.isWhitespace && !"-‐‑–".contains($0) }
        let expected = length + (isChecked ? 1 : 0)
        guard typed.count == expected else {
            throw .wrongLength(expected: expected, found: typed.count)
        }
        var value: UInt64 = 0
        for character in typed.prefix(length) {
            let symbol = try self.value(of: character, below: 32)
            guard value >> 59 == 0 else { throw .tooLarge }
            value = value << 5 | symbol
        }
        for character in typed.dropFirst(length) {
            let check = try self.value(of: character, below: checkModulus)
            guard value % checkModulus == check else { throw .wrongCheck }
        }
        return value
    }
    private static func value(
        of character: Character, below limit: UInt64
    ) throws(Refusal) -> UInt64 {
        guard let ascii = character.asciiValue, values[Int(ascii)] < limit else {
            throw .foreign(character)
        }
        return UInt64(values[Int(ascii)])
    }
}
