/// Why a payment file cannot be created.
///
/// Errors identify payments by reference; they never contain names or accounts.
package enum PaymentFileError: Error, Sendable, Equatable, CustomStringConvertible {
    /// An invalid setting of the profile: its name and the expected value.
    case badSetting(String, expected: String)
    /// A payment that the format cannot represent: its reference and the problem.
    case badPayment(reference: String, Problem)
    /// The file has no payments.
    case empty
    /// The payments or their sum exceed the limits of the control record.
    case full(limit: String)

    /// The problem of a payment.
    package enum Problem: Sendable, Equatable {
        /// The name has no letters that the file allows.
        case noName
        /// The amount is out of range, in minor units.
        case amount(Int64, most: Int64)
        /// The bank details belong to another country than the file.
        case otherCountry
        /// The reference is empty, too long, or has other characters than A-Z, 0-9 and `-`.
        case reference(most: Int)
        /// The sum of the remittance lines differs from the amount.
        case linesDiffer(total: Int64, amount: Int64)
        /// The address has no lines, or more than fit the window.
        case addressLines(Int, most: Int)
        /// The number is not greater than the previous one.
        case notAscending(after: Int64)
        /// Another invalid value; the text is the message.
        case badText(String)
    }

    /// The error message, with the next step.
    package var description: String {
        switch self {
        case .badSetting(let name, let expected):
            "\(name): expected \(expected)"
        case .badPayment(let reference, let problem):
            "payment \(reference): \(problem.text)"
        case .empty:
            "the file has no payments"
        case .full(let limit):
            "a file holds at most \(limit): put the rest into another file"
        }
    }
}

extension PaymentFileError.Problem {
    fileprivate var text: String {
        switch self {
        case .noName:
            "the name has no letters that a bank's file allows: correct the name"
        case .amount(let amount, let most):
            "the amount \(DecimalText.grouped(amount)) is outside 0.01 to "
                + DecimalText.grouped(most)
        case .otherCountry:
            "the account is in another country: pay it with that country's file"
        case .reference(let most):
            "the reference needs 1 to \(most) of A-Z, 0-9 and -"
        case .linesDiffer(let total, let amount):
            "the sum of its lines is \(DecimalText.grouped(total)), but the amount is "
                + DecimalText.grouped(amount)
        case .addressLines(let count, let most):
            "the address has \(count) lines below the name: expected 1 to \(most)"
        case .notAscending(let last):
            "its number must be greater than \(last)"
        case .badText(let what):
            "\(what)"
        }
    }
}
