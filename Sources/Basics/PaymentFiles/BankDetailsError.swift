/// Why bank details are invalid, and the next step; never contains a digit of them.
package enum BankDetailsError: String, Error, Sendable, CaseIterable, CustomStringConvertible {
    /// The institution number does not have three digits.
    case institutionLength
    /// The institution number is out of range.
    case institutionRange
    /// The transit number does not have five digits.
    case transitLength
    /// The routing number has neither of the two forms.
    case routingForm
    /// The Canadian account number has too few or too many digits.
    case canadianAccountLength
    /// The Canadian account number contains other characters than digits.
    case canadianAccountDigits
    /// The ABA routing number does not have nine digits.
    case abaLength
    /// The first two digits of the ABA routing number are out of range.
    case abaRange
    /// The check digit is wrong.
    case abaCheckDigit
    /// The American account number has too few or too many characters.
    case americanAccountLength
    /// The American account number contains other characters than letters and digits.
    case americanAccountCharacters
    /// The stored details have an unknown form.
    case unreadable

    /// The error, with the next step for the person.
    package var description: String {
        switch self {
        case .institutionLength:
            "an institution number has 3 digits: the second group at the bottom of a cheque"
        case .institutionRange:
            "no institution has this number: expected 001 to 899; check a cheque or ask the bank"
        case .transitLength:
            "a transit (branch) number has 5 digits, including leading zeros: the first group "
                + "after the cheque number at the bottom of a cheque"
        case .routingForm:
            "expected a routing number as on cheques (5 digits, a hyphen and 3 digits) or the "
                + "electronic form (9 digits, starting with 0)"
        case .canadianAccountLength:
            "an account number in Canada has 5 to 12 digits"
        case .canadianAccountDigits:
            "an account number in Canada has only digits; blanks and hyphens are ignored"
        case .abaLength:
            "a routing number in the United States has 9 digits: the first group at the bottom of "
                + "a check"
        case .abaRange:
            "no bank in the United States has this routing number for deposits: check a check, "
                + "or ask the bank for its direct deposit number"
        case .abaCheckDigit:
            "a digit of the routing number is wrong, or two are swapped: compare it with a check"
        case .americanAccountLength:
            "an account number in the United States has 4 to 17 letters and digits"
        case .americanAccountCharacters:
            "an account number has only letters and digits: remove hyphens and other marks"
        case .unreadable:
            "the stored bank details cannot be read: ask for them again"
        }
    }
}
