/// Why a file of payments cannot be made.
///
/// Payments are named by their reference; no error holds a name or an account.
package enum PaymentFileError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A setting of the profile; what it is called, and what was expected.
    case badSetting(String, expected: String)
    /// A payment that the format cannot carry: its reference, and why.
    case badPayment(reference: String, Problem)
    /// A file without payments.
    case empty
    /// More payments, or more money, than a file's control record can hold.
    case full(limit: String)

    /// What is wrong with a payment.
    package enum Problem: Sendable, Equatable {
        /// Nothing is left of the name in the letters that the file may have.
        case noName
        /// Less than 1 or more than the field holds; in minor units.
        case amount(Int64, most: Int64)
        /// The bank details are of another country than the file.
        case otherCountry
        /// The reference is empty, too long, or has other characters than A-Z, 0-9 and `-`.
        case reference(most: Int)
        /// What the remittance lines add up to is not the amount.
        case linesDiffer(total: Int64, amount: Int64)
        /// The address has more lines than the window shows, or none.
        case addressLines(Int, most: Int)
        /// A number that does not follow the one before.
        case notAscending(after: Int64)
        /// A text is empty or has a character that the file cannot hold.
        case badText(String)
    }

    /// What a person can do about it.
    package var description: String {
        switch self {
        case .badSetting(let name, let expected):
            "\(name): expected \(expected)"
        case .badPayment(let reference, let problem):
            "payment \(reference): \(problem.text)"
        case .empty:
            "there is no payment: make no file"
        case .full(let limit):
            "one file takes \(limit): put the rest into another"
        }
    }
}

extension PaymentFileError.Problem {
    fileprivate var text: String {
        switch self {
        case .noName:
            "the name has no letter that a bank's file can hold: correct the name"
        case .amount(let amount, let most):
            "the amount \(DecimalText.grouped(amount)) is outside 0.01 to "
                + DecimalText.grouped(most)
        case .otherCountry:
            "the account is in another country: pay it with that country's file"
        case .reference(let most):
            "the reference needs 1 to \(most) of A-Z, 0-9 and -"
        case .linesDiffer(let total, let amount):
            "its lines add up to \(DecimalText.grouped(total)), the amount is "
                + DecimalText.grouped(amount)
        case .addressLines(let count, let most):
            "the address has \(count) lines under the name: expected 1 to \(most)"
        case .notAscending(let last):
            "its number does not come after \(last)"
        case .badText(let what):
            "\(what)"
        }
    }
}
