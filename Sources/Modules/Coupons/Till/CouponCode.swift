package import ErrandCrypto

/// A code as somebody scanned or typed it, in the form that the database reads.
///
/// It is a bearer secret: whoever has it can redeem the coupon until it turns.
package struct CouponCode: Sendable {
    /// Why a text is no code; nothing was looked up for it.
    package enum Refusal: Error, Sendable, Equatable, CustomStringConvertible {
        case empty
        /// It begins like the text of a QR code, and has another length.
        case partOfQR(count: Int)
        /// What no QR code has.
        case foreign(Character)
        case typed(CrockfordBase32.Refusal)

        /// The same in the words of a till's answers.
        package var reason: TillAnswer.Reason {
            self == .typed(.wrongCheck) ? .mistyped : .malformed
        }

        /// What is wrong with it.
        package var description: String {
            switch self {
            case .empty: "no code is given"
            case .partOfQR(let count):
                "the text of a QR code has \(CouponCode.payloadLength) characters, this \(count)"
            case .foreign(let character): "'\(character)' is in no QR code of a coupon"
            case .typed(.wrongLength(let expected, let found)):
                "this is no code of a coupon: one that is typed has \(expected) characters, and "
                    + "this has \(found)"
            case .typed(.wrongCheck):
                "a character of the code is wrong, or two are swapped"
            case .typed(let refusal): "\(refusal)"
            }
        }
    }

    private static let payloadPrefix = "EC1"
    private static let payloadLength = 38
    private static let typedLength = 12

    package let text: String

    /// Reads a code; blanks, hyphens and small letters do no harm.
    ///
    /// A typed one whose check symbol is another's is refused: something was misread.
    package init(_ text: String) throws(Refusal) {
        let plain = text.filter { !$0.isWhitespace && $0 != "-" }.uppercased()
        guard !plain.isEmpty else { throw .empty }
        guard plain.hasPrefix(Self.payloadPrefix), plain.count > Self.typedLength + 1 else {
            do throws(CrockfordBase32.Refusal) {
                let value = try CrockfordBase32.decode(
                    plain, length: Self.typedLength, isChecked: true)
                self.text = try CrockfordBase32.encode(
                    value, length: Self.typedLength, isChecked: true)
            } catch { throw .typed(error) }
            return
        }
        guard plain.count == Self.payloadLength else { throw .partOfQR(count: plain.count) }
        let digits = plain.dropFirst(Self.payloadPrefix.count)
        for character in digits where !"0123456789ABCDEF".contains(character) {
            throw .foreign(character)
        }
        self.text = plain
    }
}
