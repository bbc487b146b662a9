/// Amounts of minor units as decimal text, without floating-point arithmetic.
package enum DecimalText {
    /// `1234.56`.
    ///
    /// - Parameters:
    ///   - amount: minor units.
    ///   - fraction: digits after the point, by ISO 4217: 2 for CAD and USD, 0 for XAF.
    package static func plain(_ amount: Int64, fraction: Int = 2) -> String {
        text(amount, fraction: fraction, separator: "")
    }

    /// `1,234.56`, as on cheques and statements in English.
    package static func grouped(_ amount: Int64, fraction: Int = 2) -> String {
        text(amount, fraction: fraction, separator: ",")
    }

    private static func text(_ amount: Int64, fraction: Int, separator: String) -> String {
        var digits = String(amount.magnitude)
        if digits.count <= fraction {
            digits = String(repeating: "0", count: fraction + 1 - digits.count) + digits
        }
        let whole = digits.dropLast(fraction)
        var text = amount < 0 ? "-" : ""
        for (place, digit) in whole.enumerated() {
            if place > 0, (whole.count - place) % 3 == 0 { text += separator }
            text.append(digit)
        }
        return fraction == 0 ? text : "\(text).\(digits.suffix(fraction))"
    }
}
