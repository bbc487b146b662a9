/// Where a person's money goes; none of it shows in a text, a log line or a dump but the last
/// digits of the account.
package enum BankDetails: Sendable, Hashable {
    /// In Canada, in either currency.
    case canada(CanadianAccount)
    /// In the United States.
    case unitedStates(AmericanAccount)

    fileprivate static func masked(_ account: String, _ country: String) -> String {
        // Of a short number, fewer digits say too much.
        let shown = account.utf8.count < 7 ? 2 : 3
        return "account …\(account.suffix(shown)) (\(country))"
    }
}

/// An account at a Canadian institution.
package struct CanadianAccount: Sendable, Hashable {
    /// Three digits, `003`.
    package let institution: String
    /// Five digits, zeros in front included.
    package let transit: String
    /// 5 to 12 digits; zeros in front belong to it.
    package let account: String

    /// Takes the three numbers as people give them.
    ///
    /// Institution numbers are assigned by Payments Canada; those known lie between 001 and 899
    /// (banks 0xx to 3xx and 6xx, trust and loan companies 5xx, credit unions and caisses 8xx).
    /// Which are in use changes, so the list is not held against anyone.
    /// - Parameters:
    ///   - institution: 3 digits.
    ///   - transit: 5 digits.
    ///   - account: 5 to 12 digits; blanks and hyphens between them are left out.
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

    /// Takes a routing number in one piece: `TTTTT-III` as cheques have it, or `0IIITTTTT` as it
    /// is sent (Payments Canada; T transit, I institution).
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
    /// What kind of account; the entry's transaction code says it.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// For payments.
        case checking
        /// For saving.
        case savings
    }

    /// Nine digits with the check digit.
    package let routing: String
    /// 4 to 17 capital letters and digits.
    package let account: String
    /// What kind of account.
    package let kind: Kind

    /// Takes the numbers as people give them.
    ///
    /// - Parameters:
    ///   - routing: the ABA routing number, 9 digits.
    ///   - account: 4 to 17 letters and digits; blanks between them are left out.
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

    /// Whether the first two digits are a bank's that holds accounts.
    ///
    /// Those are the Federal Reserve's districts 01 to 12, thrift institutions (21 to 32) and
    /// electronic routing (61 to 72); the government's own 00 and traveller's cheques (80) hold
    /// nobody's account.
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

// MARK: - Nothing shows

extension BankDetails: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The last digits, and the country.
    package var description: String {
        switch self {
        case .canada(let account): account.description
        case .unitedStates(let account): account.description
        }
    }
    /// The same.
    package var debugDescription: String { description }
    /// Without parts.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension CanadianAccount: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The last digits, and the country.
    package var description: String { BankDetails.masked(account, "Canada") }
    /// The same.
    package var debugDescription: String { description }
    /// Without parts.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension AmericanAccount: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The last digits, and the country.
    package var description: String { BankDetails.masked(account, "United States") }
    /// The same.
    package var debugDescription: String { description }
    /// Without parts.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

// MARK: - As JSON, to be sealed

extension BankDetails: Codable {
    private enum Key: String, CodingKey {
        case country = "c"
        case institution = "i"
        case transit = "t"
        case routing = "r"
        case account = "a"
        case kind = "k"
    }

    /// Reads what ``encode(to:)`` wrote, and checks it again.
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

    /// Writes all of it, in clear: only what is sealed at once may be encoded.
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
