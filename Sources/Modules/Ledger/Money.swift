/// An amount in one currency, in whole minor units.
package struct Money: Sendable, Hashable {
    /// Cents, for CAD; negative for debits.
    package var minorUnits: Int64
    package var currency: Currency

    package init(_ minorUnits: Int64, _ currency: Currency) {
        self.minorUnits = minorUnits
        self.currency = currency
    }

    /// An amount of zero.
    package static func zero(_ currency: Currency) -> Money { Money(0, currency) }
}

/// Why an amount cannot be computed or parsed.
package enum MoneyError: Error, Equatable, CustomStringConvertible {
    case differentCurrencies(Currency, Currency)
    /// The amount overflows 64 bits of minor units.
    case tooLarge(Currency)
    /// The text is not an amount of the currency.
    case malformed(String, Currency)
    /// The weights of a split are negative or all zero.
    case noParts

    package var description: String {
        switch self {
        case .differentCurrencies(let one, let other):
            "\(one) and \(other) cannot be added: convert one of them first"
        case .tooLarge(let currency):
            "the amount is too large: the maximum is \(Int64.max) minor units of \(currency)"
        case .malformed(let text, let currency):
            "'\(text)' is not an amount of \(currency): expected digits"
                + (currency.exponent == 0
                    ? " without decimals, such as 1234"
                    : " with up to \(currency.exponent) decimals, such as 1,234."
                        + String("5000".prefix(currency.exponent)))
        case .noParts:
            "the weights of a split must not be negative, and their sum must be positive"
        }
    }
}

// MARK: Arithmetic

extension Money {
    /// - Throws: ``MoneyError/differentCurrencies(_:_:)``, ``MoneyError/tooLarge(_:)``
    package func adding(_ other: Money) throws(MoneyError) -> Money {
        guard currency == other.currency else {
            throw .differentCurrencies(currency, other.currency)
        }
        let (sum, isTooLarge) = minorUnits.addingReportingOverflow(other.minorUnits)
        guard !isTooLarge else { throw .tooLarge(currency) }
        return Money(sum, currency)
    }

    /// - Throws: ``MoneyError/differentCurrencies(_:_:)``, ``MoneyError/tooLarge(_:)``
    package func subtracting(_ other: Money) throws(MoneyError) -> Money {
        guard currency == other.currency else {
            throw .differentCurrencies(currency, other.currency)
        }
        let (difference, isTooLarge) = minorUnits.subtractingReportingOverflow(other.minorUnits)
        guard !isTooLarge else { throw .tooLarge(currency) }
        return Money(difference, currency)
    }

    /// The amount with the opposite sign.
    package func negated() throws(MoneyError) -> Money {
        try Money.zero(currency).subtracting(self)
    }

    /// Splits the amount in proportion to weights by the largest remainder method: each part is
    /// rounded toward zero, and the remaining minor units go, one each, to the parts with the
    /// largest remainders; on a tie, to the earlier part.
    ///
    /// - Parameter weights: not negative, and not all 0.
    /// - Throws: ``MoneyError/noParts``, ``MoneyError/tooLarge(_:)`` if the sum of the weights is.
    package func split(by weights: [Int64]) throws(MoneyError) -> [Money] {
        var sum: Int64 = 0
        for weight in weights {
            guard weight >= 0 else { throw .noParts }
            let (next, isTooLarge) = sum.addingReportingOverflow(weight)
            guard !isTooLarge else { throw .tooLarge(currency) }
            sum = next
        }
        guard sum > 0 else { throw .noParts }
        let whole = minorUnits.magnitude
        let total = sum.magnitude
        var parts: [UInt64] = []
        var rests: [(rest: UInt64, place: Int)] = []
        for (place, weight) in weights.enumerated() {
            let division = total.dividingFullWidth(
                whole.multipliedFullWidth(by: weight.magnitude))
            parts.append(division.quotient)
            rests.append((division.remainder, place))
        }
        let left = Int(whole - parts.reduce(0, +))
        rests.sort { ($0.rest, $1.place) > ($1.rest, $0.place) }
        for rest in rests.prefix(left) { parts[rest.place] += 1 }
        let isNegative = minorUnits < 0
        return parts.map { part in
            let bits = Int64(truncatingIfNeeded: part)
            return Money(isNegative ? 0 &- bits : bits, currency)
        }
    }
}

// MARK: Text

extension Money: CustomStringConvertible {
    /// Grouped digits without the currency, such as `-1,234.56`.
    package var digits: String {
        var text = String(minorUnits.magnitude)
        let exponent = currency.exponent
        if text.count <= exponent {
            text = String(repeating: "0", count: exponent + 1 - text.count) + text
        }
        let fraction = text.suffix(exponent)
        var grouped = ""
        for (place, digit) in text.dropLast(exponent).reversed().enumerated() {
            if place > 0, place.isMultiple(of: 3) { grouped.append(",") }
            grouped.append(digit)
        }
        return (minorUnits < 0 ? "-" : "") + String(grouped.reversed())
            + (exponent > 0 ? "." + fraction : "")
    }

    /// Such as `1,234.56 CAD`.
    package var description: String { "\(digits) \(currency)" }

    /// Parses `1234.5`, `1,234.50` and `-12`; commas are optional between groups of three digits.
    ///
    /// - Throws: ``MoneyError/malformed(_:_:)``, ``MoneyError/tooLarge(_:)``
    package init(parsing text: String, _ currency: Currency) throws(MoneyError) {
        let malformed = MoneyError.malformed(text, currency)
        let isNegative = text.hasPrefix("-")
        let parts = text.dropFirst(isNegative ? 1 : 0)
            .split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let groups = parts[0].split(separator: ",", omittingEmptySubsequences: false)
        guard !groups[0].isEmpty, groups.dropFirst().allSatisfy({ $0.count == 3 }),
            groups.count == 1 || groups[0].count <= 3
        else { throw malformed }
        let fraction = parts.count > 1 ? parts[1] : ""
        guard parts.count == 1 || (1...max(currency.exponent, 1)).contains(fraction.count),
            fraction.count <= currency.exponent
        else { throw malformed }
        let padding = String(repeating: "0", count: currency.exponent - fraction.count)
        let digits = groups.joined() + fraction + padding
        guard digits.utf8.allSatisfy({ (48...57).contains($0) }) else { throw malformed }
        guard let units = Int64((isNegative ? "-" : "") + digits) else { throw .tooLarge(currency) }
        self.init(units, currency)
    }
}
