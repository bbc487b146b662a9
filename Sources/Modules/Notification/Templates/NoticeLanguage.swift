import ErrandGregorian

/// A language of notices: its format of days, distances, money and numbers.
///
/// To add a language, add a case, its texts in each switch, and its templates.
enum NoticeLanguage: String, Sendable, CaseIterable {
    case english = "en"

    /// Creates the language of a locale such as `en` or `en-CA`; nil if it is not supported.
    init?(locale: String) {
        let code = locale.prefix { $0 != "-" }
        self.init(rawValue: String(code))
    }

    /// The plural forms in their order, with the names of CLDR.
    var pluralForms: [String] {
        switch self {
        case .english: ["one", "other"]
        }
    }

    /// Returns the index of the plural form for a count.
    func form(for count: Int) -> Int {
        switch self {
        case .english: count == 1 ? 0 : 1
        }
    }

    /// Returns a whole number, such as `1,234`.
    func text(count: Int) -> String {
        switch self {
        case .english: Self.grouped(String(count.magnitude), by: ",", isNegative: count < 0)
        }
    }

    /// Returns a day, such as `Friday 20 November`.
    func text(day: CivilDate) -> String {
        switch self {
        case .english:
            "\(Self.englishDays[day.weekday]) \(day.day) \(Self.englishMonths[day.month - 1])"
        }
    }

    /// Returns a time, such as `Friday 20 November, 17:30`.
    ///
    /// - Parameter isUniversal: whether the time is in UTC, which the text then states.
    func text(day: CivilDate, secondOfDay: Int, isUniversal: Bool) -> String {
        let (hour, minute) = (secondOfDay / 3_600, secondOfDay / 60 % 60)
        let clock = "\(hour):\(minute < 10 ? "0" : "")\(minute)"
        switch self {
        case .english: return "\(text(day: day)), \(clock)\(isUniversal ? " UTC" : "")"
        }
    }

    /// Returns a distance with the precision that a pedestrian needs: `120 m`, `1.2 km`, `14 km`.
    func text(metres: Double) -> String {
        // Positions are not more precise.
        let tens = Int((metres / 10).rounded())
        if tens < 100 { return "\(max(tens, 1) * 10) m" }
        let hundreds = Int((metres / 100).rounded())
        guard hundreds < 100 else {
            return "\(text(count: Int((metres / 1_000).rounded()))) km"
        }
        switch self {
        case .english: return "\(hundreds / 10).\(hundreds % 10) km"
        }
    }

    /// Returns an amount, such as `CA$12.30`, or `12.30 CHF` in a currency without a sign here.
    func text(amount: NoticeAmount) -> String {
        let decimals = Self.decimals[amount.currency] ?? 2
        var digits = String(amount.minor.magnitude)
        if digits.utf8.count <= decimals {
            digits = String(repeating: "0", count: decimals + 1 - digits.utf8.count) + digits
        }
        switch self {
        case .english:
            var number = Self.grouped(
                String(digits.dropLast(decimals)), by: ",", isNegative: false)
            if decimals > 0 { number += "." + digits.suffix(decimals) }
            let minus = amount.minor < 0 ? "-" : ""
            guard let sign = Self.signs[amount.currency] else {
                return "\(minus)\(number) \(amount.currency)"
            }
            return "\(minus)\(sign)\(number)"
        }
    }

    /// Returns a debt, such as `CA$12.30 to Ann`.
    func text(debt amount: NoticeAmount, to name: String) -> String {
        switch self {
        case .english: "\(text(amount: amount)) to \(name)"
        }
    }

    /// Returns a list in a sentence: `one, two and three`.
    func text(list: [String]) -> String {
        guard let last = list.last, list.count > 1 else { return list.first ?? "" }
        switch self {
        case .english: return list.dropLast().joined(separator: ", ") + " and " + last
        }
    }

    private static func grouped(
        _ digits: String, by mark: String, isNegative: Bool
    ) -> String {
        guard digits.utf8.count > 3 else { return isNegative ? "-" + digits : digits }
        var text = isNegative ? "-" : ""
        for (place, digit) in zip((0..<digits.utf8.count).reversed(), digits) {
            text.append(digit)
            if place > 0, place % 3 == 0 { text += mark }
        }
        return text
    }

    private static let englishDays = [
        "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
    ]
    private static let englishMonths = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September",
        "October", "November", "December",
    ]
    /// Unambiguous currency signs.
    private static let signs = ["CAD": "CA$", "USD": "US$", "EUR": "€", "GBP": "£"]
    /// ISO 4217: currencies whose minor unit is not a hundredth.
    private static let decimals = [
        "BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "ISK": 0, "JPY": 0, "KMF": 0, "KRW": 0, "PYG": 0,
        "RWF": 0, "UGX": 0, "UYI": 0, "VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0,
        "BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3, "CLF": 4, "UYW": 4,
    ]
}

/// An amount of money in a notice.
struct NoticeAmount: Sendable, Equatable {
    /// In the currency's minor unit.
    var minor: Int64
    /// ISO 4217.
    var currency: String
}
