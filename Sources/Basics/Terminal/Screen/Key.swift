/// One key press, as a terminal sends it.
package enum Key: Equatable, Sendable {
    case character(Character)
    case up, down, left, right, pageUp, pageDown, home, end
    case enter, escape, backspace, delete, tab
    /// A key with Control; the character is its lowercase letter, such as `c`.
    case control(Character)
}

/// Decodes key presses from the bytes of a terminal in raw mode: UTF-8, and the sequences of
/// ECMA-48 and the VT100 family for keys without a character.
package struct KeyDecoder: Sendable {
    private var pending: [UInt8] = []

    /// A decoder without pending bytes.
    package init() {}

    /// Whether the bytes so far end within a key, or with an escape that may begin one.
    package var isWithinKey: Bool { !pending.isEmpty }

    /// The keys that these bytes complete.
    package mutating func keys(in bytes: [UInt8]) -> [Key] {
        pending += bytes
        var keys: [Key] = []
        while let (key, length) = first() {
            pending.removeFirst(length)
            if let key { keys.append(key) }
        }
        return keys
    }

    /// The keys if no more bytes follow: a single escape is the Escape key.
    package mutating func keysAtPause() -> [Key] {
        defer { pending = [] }
        return pending.first == 0x1B ? [.escape] : []
    }

    /// The first key and its number of bytes.
    ///
    /// The key is nil for an unknown sequence, the result is nil for an incomplete one.
    private func first() -> (key: Key?, length: Int)? {
        guard let byte = pending.first else { return nil }
        switch byte {
        case 0x1B: return sequence()
        case 0x0D, 0x0A: return (.enter, 1)
        case 0x09: return (.tab, 1)
        case 0x7F, 0x08: return (.backspace, 1)
        case 0x01...0x1A:
            return (.control(Character(Unicode.Scalar(byte + 0x60))), 1)
        case 0x00..<0x20: return (nil, 1)
        default: return character(byte)
        }
    }

    private func character(_ byte: UInt8) -> (key: Key?, length: Int)? {
        let length =
            switch byte {
            case 0x00..<0x80: 1
            case 0xC2..<0xE0: 2
            case 0xE0..<0xF0: 3
            case 0xF0..<0xF5: 4
            default: 0
            }
        guard length > 0 else { return (nil, 1) }
        let tail = pending.dropFirst().prefix(length - 1)
        guard tail.allSatisfy({ $0 & 0xC0 == 0x80 }) else { return (nil, 1) }
        guard tail.count == length - 1 else { return nil }
        let text = String(decoding: pending.prefix(length), as: UTF8.self)
        return (text.first.map(Key.character), length)
    }

    private func sequence() -> (key: Key?, length: Int)? {
        guard pending.count > 1 else { return nil }
        switch pending[1] {
        case UInt8(ascii: "O"):
            guard pending.count > 2 else { return nil }
            return (Self.lettered[pending[2]], 3)
        case UInt8(ascii: "["):
            // Parameters and intermediates, then one final byte.
            guard let end = pending.dropFirst(2).firstIndex(where: { 0x40...0x7E ~= $0 }) else {
                return pending.count > 32 ? (nil, pending.count) : nil
            }
            let final = pending[end]
            guard final == UInt8(ascii: "~") else { return (Self.lettered[final], end + 1) }
            let number = pending[2..<end].prefix { $0 != UInt8(ascii: ";") }
            return (Self.numbered[String(decoding: number, as: UTF8.self)], end + 1)
        default:
            return (.escape, 1)
        }
    }

    private static let lettered: [UInt8: Key] = [
        UInt8(ascii: "A"): .up, UInt8(ascii: "B"): .down, UInt8(ascii: "C"): .right,
        UInt8(ascii: "D"): .left, UInt8(ascii: "H"): .home, UInt8(ascii: "F"): .end,
        UInt8(ascii: "M"): .enter,
    ]

    private static let numbered: [String: Key] = [
        "1": .home, "3": .delete, "4": .end, "5": .pageUp, "6": .pageDown, "7": .home,
        "8": .end,
    ]
}
