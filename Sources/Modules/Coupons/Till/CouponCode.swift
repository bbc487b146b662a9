package import ErrandCrypto

/// A scanned or typed code, normalized for the database.
///
/// A bearer secret: anyone who has it can redeem the coupon until it rotates.
package struct CouponCode: Sendable {
    /// Why a text is malformed; detected without a query.
    package enum Refusal: Error, Sendable, Equatable, CustomStringConvertible {
        case empty
        /// It starts like the text of a QR code but has another length.
        case partOfQR(count: Int)
        /// A character that QR codes of coupons never contain.
        case foreign(Character)
        case typed(CrockfordBase32.Refusal)

        /// The matching reason of a till's answer.
        package var reason: TillAnswer.Reason {
            self == .typed(.wrongCheck) ? .mistyped : .malformed
        }

        /// The error message.
        package var description: String {
            switch self {
            case .empty: "the code is empty"
            case .partOfQR(let count):
                "the QR code has \(count) characters instead of \(CouponCode.payloadLength)"
            case .foreign(let character):
                "QR codes of coupons do not contain '\(character)'"
            case .typed(.wrongLength(let expected, let found)):
                "not a coupon code: a typed code has \(expected) characters, this one \(found)"
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

    /// Parses a code; ignores blanks, hyphens and case.
    ///
    /// Refuses a typed code with a wrong check symbol.
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
