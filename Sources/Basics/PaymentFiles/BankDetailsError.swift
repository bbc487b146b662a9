/// Why bank details were refused; says what to do, and never holds a digit of them.
package enum BankDetailsError: String, Error, Sendable, CaseIterable, CustomStringConvertible {
    /// Not three digits.
    case institutionLength
    /// Numbers that no institution has.
    case institutionRange
    /// Not five digits.
    case transitLength
    /// The routing number has none of the two forms.
    case routingForm
    /// The account in Canada has too few or too many digits.
    case canadianAccountLength
    /// The account in Canada has something else than digits.
    case canadianAccountDigits
    /// Not nine digits.
    case abaLength
    /// The first two digits are of no Federal Reserve district.
    case abaRange
    /// The last digit does not fit the others.
    case abaCheckDigit
    /// The account in the United States has too few or too many characters.
    case americanAccountLength
    /// The account in the United States has something else than letters and digits.
    case americanAccountCharacters
    /// What was kept is of no known form.
    case unreadable

    /// What a person can do about it.
    package var description: String {
        switch self {
        case .institutionLength:
            "an institution number has 3 digits: the second group at the bottom of a cheque"
        case .institutionRange:
            "no institution has this number: expected 001 to 899; look at a cheque, or ask the "
                + "bank"
        case .transitLength:
            "a transit (branch) number has 5 digits, zeros in front included: the first group at "
                + "the bottom of a cheque after its number"
        case .routingForm:
            "expected a routing number as on cheques, 5 digits, a hyphen and 3 digits, or the "
                + "electronic one of 9 digits that begins with 0"
        case .canadianAccountLength:
            "an account number in Canada has 5 to 12 digits"
        case .canadianAccountDigits:
            "an account number in Canada has digits only; blanks and hyphens may be left out"
        case .abaLength:
            "a routing number in the United States has 9 digits: the first group at the bottom of "
                + "a check"
        case .abaRange:
            "no bank in the United States that takes deposits has this routing number: look at a "
                + "check, or ask the bank for the one for direct deposit"
        case .abaCheckDigit:
            "a digit of the routing number is wrong, or two are swapped: compare it with a check"
        case .americanAccountLength:
            "an account number in the United States has 4 to 17 letters and digits"
        case .americanAccountCharacters:
            "an account number has letters and digits only: leave out hyphens and other marks"
        case .unreadable:
            "the bank details that were kept cannot be read: ask for them again"
        }
    }
}
