/// An e-mail address with its display name.
///
/// Accepts common addresses: an ASCII dot-atom, one `@`, and a domain of letters, digits and
/// hyphens (RFC 5321, section 4.1.2). Refuses quoted local parts, address literals and
/// internationalized local parts; an internationalized domain must be in its `xn--` form.
package struct Mailbox: Sendable, Hashable, CustomStringConvertible {
    /// The bare address, such as `someone@example.org`.
    package let address: String
    /// The display name, in any script.
    package let displayName: String?

    /// Creates a mailbox after checking the address.
    ///
    /// - Throws: `EmailError.badAddress`, or `.badField` for a name with control characters or
    ///   longer than 200 bytes.
    package init(_ address: String, displayName: String? = nil) throws(EmailError) {
        if let expected = Self.objection(to: address) {
            throw .badAddress(address, expected: expected)
        }
        if let name = displayName, !name.isOneLine || name.utf8.count > 200 {
            throw .badField(
                "display name", value: name,
                expected: "at most 200 bytes without line breaks or control characters")
        }
        self.address = address
        self.displayName = displayName?.isEmpty == true ? nil : displayName
    }

    /// The bare address.
    package var description: String { address }

    /// Returns the expectation that the address violates; nil if it is valid.
    private static func objection(to address: String) -> String? {
        guard address.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return "ASCII without blanks or control characters (a domain in its xn-- form)"
        }
        let halves = address.split(separator: "@", omittingEmptySubsequences: false)
        guard halves.count == 2 else { return "exactly one @" }
        guard address.utf8.count <= 254, (1...64).contains(halves[0].utf8.count) else {
            return "1 to 64 bytes before the @ and at most 254 in all"
        }
        let atoms = halves[0].split(separator: ".", omittingEmptySubsequences: false)
        guard atoms.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(isAtomByte) }) else {
            return "letters, digits and !#$%&'*+-/=?^_`{|}~ before the @, dots only between them"
        }
        let labels = halves[1].split(separator: ".", omittingEmptySubsequences: false)
        guard labels.allSatisfy(isLabel) else {
            return "a domain after the @, such as example.org"
        }
        return nil
    }

    private static func isAtomByte(_ byte: UInt8) -> Bool {
        isLetterOrDigit(byte) || "!#$%&'*+-/=?^_`{|}~".utf8.contains(byte)
    }

    private static func isLabel(_ label: Substring) -> Bool {
        (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
            && label.utf8.allSatisfy { isLetterOrDigit($0) || $0 == UInt8(ascii: "-") }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: false
        }
    }
}
