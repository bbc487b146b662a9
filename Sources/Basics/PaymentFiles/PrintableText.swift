import ErrandLatinText

/// What bank files and cheques can print of people's names and addresses.
///
/// The writers leave out other characters, because files that were issued before must be recreated
/// with the same bytes. Callers check a payee before they add it to a new file.
package enum PrintableText {
    /// Maximum number of characters that a problem names.
    private static let shown = 3

    /// Why a name cannot be printed in full by a bank file or a cheque and its list; nil if it can.
    ///
    /// Letters lose their diacritics, and quotation marks are left out. Names that are too long are
    /// shortened by the formats and are no problem.
    package static func problem(ofName name: String) -> String? {
        var lost: [Unicode.Scalar] = []
        var hasLetter = false
        /// Whether a byte is printed, as a capital.
        func isPrinted(_ byte: UInt8) -> Bool {
            let capital = UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte ? byte - 32 : byte
            if UInt8(ascii: "A")...UInt8(ascii: "Z") ~= capital { hasLetter = true }
            return isInNames(capital)
        }
        for scalar in name.unicodeScalars {
            // A run has a million names, most of them in ASCII.
            if scalar.isASCII {
                if !isPrinted(UInt8(truncatingIfNeeded: scalar.value)) { lost.append(scalar) }
            } else if let plain = PlainLetters.text(for: scalar) {
                if !plain.utf8.allSatisfy(isPrinted) { lost.append(scalar) }
            } else {
                lost.append(scalar)
            }
        }
        if !lost.isEmpty { return problem("name", lost) }
        guard hasLetter else { return "the name has no letters: correct the name" }
        // Spreadsheets read it as a formula, so the list of cheques leaves it out.
        if let first = name.unicodeScalars.first(where: { !$0.properties.isWhitespace }),
            let sign = PlainLetters.text(for: first), sign == "-" || sign == "+"
        {
            return "the name begins with \(sign): correct the name"
        }
        return nil
    }

    /// Why the lines of an address cannot be printed on a cheque; nil if they can.
    package static func problem(ofAddress lines: [String]) -> String? {
        let lost = lines.joined().unicodeScalars.filter { !isInAddresses($0) }
        return lost.isEmpty ? nil : problem("address", lost)
    }

    private static func problem(
        _ subject: String, _ lost: some Sequence<Unicode.Scalar>
    ) -> String {
        var names: [String] = []
        for scalar in lost {
            let name = self.name(of: scalar)
            if !names.contains(name) { names.append(name) }
        }
        let rest = names.count - shown
        return "the \(subject) has characters that banks and cheques cannot print ("
            + names.prefix(shown).joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
            + "): correct the \(subject)"
    }

    /// A letter itself; the code point of what might be invisible or change its surroundings.
    private static func name(of scalar: Unicode.Scalar) -> String {
        if scalar.properties.isAlphabetic || (0x21...0x7E).contains(scalar.value) {
            return String(scalar)
        }
        let digits = String(scalar.value, radix: 16, uppercase: true)
        return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }

    /// Whether a capital is printed in names, or left out without loss.
    private static func isInNames(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\"") || BankText.isAllowed(byte)
    }

    /// Whether a PDF prints a scalar: code page 1252, and letters with a transliteration.
    private static func isInAddresses(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x20...0x7E, 0xA0...0xFF: true
        case 0...0x9F: false
        default:
            PlainLetters.text(for: scalar) != nil
                || "€‚ƒ†‡ˆ‰‹•˜™›".unicodeScalars.contains(scalar)
        }
    }
}
