/// A person's bank details.
///
/// Descriptions and dumps show only the last digits of the account.
package enum BankDetails: Sendable, Hashable {
    /// In Canada, in either currency.
    case canada(CanadianAccount)
    /// In the United States.
    case unitedStates(AmericanAccount)

    fileprivate static func masked(_ account: String, _ country: String) -> String {
        // Show fewer digits of a short number.
        let shown = account.utf8.count < 7 ? 2 : 3
        return "account …\(account.suffix(shown)) (\(country))"
    }
}

/// An account at a Canadian institution.
package struct CanadianAccount: Sendable, Hashable {
    /// Three digits, `003`.
    package let institution: String
    /// Five digits, including leading zeros.
    package let transit: String
    /// 5 to 12 digits, including leading zeros.
    package let account: String

    /// Creates an account from the three numbers that people enter.
    ///
    /// Payments Canada assigns institution numbers from 001 to 899 (banks 0xx to 3xx and 6xx,
    /// trust and loan companies 5xx, credit unions and caisses 8xx). Only the range is checked,
    /// because the list of assigned numbers changes.
    /// - Parameters:
    ///   - institution: 3 digits.
    ///   - transit: 5 digits.
    ///   - account: 5 to 12 digits; blanks and hyphens are ignored.
    package init(
        institution: String, transit: String, account: String
    ) throws(BankDetailsError) {
        guard BankText.isDigits(institution, count: 3...3) else { throw .institutionLength }
        guard institution > "000", institution < "900" else { throw .institutionRange }
        guard BankText.isDigits(transit, count: 5...5) else { throw .transitLength }
        let digits = account.filter { $0 != " " && $0 != "-" }
        guard digits.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else {
            throw .canadianAccountDigits
        }
        guard (5...12).contains(digits.utf8.count) else { throw .canadianAccountLength }
        self.institution = institution
        self.transit = transit
        self.account = digits
    }

    /// Creates an account from a routing number: `TTTTT-III` as on cheques, or the electronic form
    /// `0IIITTTTT` (Payments Canada; T transit, I institution).
    package init(routing: String, account: String) throws(BankDetailsError) {
        let routing = routing.filter { $0 != " " }
        let parts = routing.split(separator: "-", omittingEmptySubsequences: false)
        if parts.count == 2, BankText.isDigits(parts[0], count: 5...5),
            BankText.isDigits(parts[1], count: 3...3)
        {
            try self.init(
                institution: String(parts[1]), transit: String(parts[0]), account: account)
        } else if BankText.isDigits(routing, count: 9...9), routing.first == "0" {
            try self.init(
                institution: String(routing.dropFirst().prefix(3)),
                transit: String(routing.suffix(5)), account: account)
        } else {
            throw .routingForm
        }
    }
}

/// An account at a bank in the United States.
package struct AmericanAccount: Sendable, Hashable {
    /// The kind of account, part of the entry's transaction code.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// A checking account.
        case checking
        /// A savings account.
        case savings
    }

    /// Nine digits, including the check digit.
    package let routing: String
    /// 4 to 17 capital letters and digits.
    package let account: String
    /// The kind of account.
    package let kind: Kind

    /// Creates an account from the numbers that people enter.
    ///
    /// - Parameters:
    ///   - routing: the ABA routing number, 9 digits.
    ///   - account: 4 to 17 letters and digits; blanks are ignored.
    ///   - kind: checking or savings.
    package init(routing: String, account: String, kind: Kind) throws(BankDetailsError) {
        guard BankText.isDigits(routing, count: 9...9) else { throw .abaLength }
        guard Self.isTakingDeposits(routing) else { throw .abaRange }
        guard Self.hasRightCheckDigit(routing) else { throw .abaCheckDigit }
        let characters = account.filter { $0 != " " }.uppercased()
        let isPlain = characters.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
            default: false
            }
        }
        guard isPlain else { throw .americanAccountCharacters }
        guard (4...17).contains(characters.utf8.count) else { throw .americanAccountLength }
        self.routing = routing
        self.account = characters
        self.kind = kind
    }

    /// Whether the first two digits belong to banks with accounts: the Federal Reserve's districts
    /// (01 to 12), thrift institutions (21 to 32) and electronic routing (61 to 72).
    ///
    /// The government (00) and traveler's cheques (80) have no accounts.
    private static func isTakingDeposits(_ routing: String) -> Bool {
        guard let prefix = Int(routing.prefix(2)) else { return false }
        return (1...12).contains(prefix) || (21...32).contains(prefix) || (61...72).contains(prefix)
    }

    /// The weighted sum of all nine digits is a multiple of 10 (weights 3, 7, 1).
    static func hasRightCheckDigit(_ routing: String) -> Bool {
        let sum = zip(routing.utf8, [3, 7, 1, 3, 7, 1, 3, 7, 1]).reduce(0) { sum, pair in
            sum + Int(pair.0 - UInt8(ascii: "0")) * pair.1
        }
        return sum % 10 == 0
    }
}

// MARK: - Masked descriptions

extension BankDetails: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The last digits of the account, and the country.
    package var description: String {
        switch self {
        case .canada(let account): account.description
        case .unitedStates(let account): account.description
        }
    }
    /// The same as ``description``.
    package var debugDescription: String { description }
    /// An empty mirror.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension CanadianAccount: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The last digits of the account, and the country.
    package var description: String { BankDetails.masked(account, "Canada") }
    /// The same as ``description``.
    package var debugDescription: String { description }
    /// An empty mirror.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension AmericanAccount: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The last digits of the account, and the country.
    package var description: String { BankDetails.masked(account, "United States") }
    /// The same as ``description``.
    package var debugDescription: String { description }
    /// An empty mirror.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

// MARK: - JSON for sealing

extension BankDetails: Codable {
    private enum Key: String, CodingKey {
        case country = "c"
        case institution = "i"
        case transit = "t"
        case routing = "r"
        case account = "a"
        case kind = "k"
    }

    /// Decodes and validates details written by ``encode(to:)``.
    package init(from decoder: any Decoder) throws {
        let parts = try decoder.container(keyedBy: Key.self)
        switch try parts.decode(String.self, forKey: .country) {
        case "CA":
            self = .canada(
                try CanadianAccount(
                    institution: parts.decode(String.self, forKey: .institution),
                    transit: parts.decode(String.self, forKey: .transit),
                    account: parts.decode(String.self, forKey: .account)))
        case "US":
            let name = try parts.decode(String.self, forKey: .kind)
            guard let kind = AmericanAccount.Kind(rawValue: name) else {
                throw BankDetailsError.unreadable
            }
            self = .unitedStates(
                try AmericanAccount(
                    routing: parts.decode(String.self, forKey: .routing),
                    account: parts.decode(String.self, forKey: .account), kind: kind))
        default:
            throw BankDetailsError.unreadable
        }
    }

    /// Encodes the details in plain text; the caller must seal them at once.
    package func encode(to encoder: any Encoder) throws {
        var parts = encoder.container(keyedBy: Key.self)
        switch self {
        case .canada(let account):
            try parts.encode("CA", forKey: .country)
            try parts.encode(account.institution, forKey: .institution)
            try parts.encode(account.transit, forKey: .transit)
            try parts.encode(account.account, forKey: .account)
        case .unitedStates(let account):
            try parts.encode("US", forKey: .country)
            try parts.encode(account.routing, forKey: .routing)
            try parts.encode(account.account, forKey: .account)
            try parts.encode(account.kind.rawValue, forKey: .kind)
        }
    }
}
