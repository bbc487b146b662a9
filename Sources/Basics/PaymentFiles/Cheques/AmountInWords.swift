/// Amounts in words for cheques in Canadian English: `One thousand two hundred thirty-four and
/// 56/100`.
///
/// Whole numbers have no "and", tens and units are hyphenated, and cents are a fraction.
package enum AmountInWords {
    private static let small = [
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
        "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
        "nineteen",
    ]
    private static let tens = [
        "", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
    ]
    private static let scales = ["", "thousand", "million", "billion", "trillion", "quadrillion"]

    /// Returns the words of a nonnegative amount in cents.
    package static func text(cents: Int64) -> String {
        precondition(cents >= 0, "a cheque has no negative amount")
        let fraction = cents % 100
        let whole = words(cents / 100)
        return whole.prefix(1).uppercased() + whole.dropFirst()
            + " and \(fraction < 10 ? "0" : "")\(fraction)/100"
    }

    private static func words(_ number: Int64) -> String {
        guard number > 0 else { return small[0] }
        var rest = number
        var groups: [String] = []
        for scale in scales where rest > 0 {
            let group = Int(rest % 1_000)
            rest /= 1_000
            guard group > 0 else { continue }
            groups.append(hundreds(group) + (scale.isEmpty ? "" : " \(scale)"))
        }
        return groups.reversed().joined(separator: " ")
    }

    private static func hundreds(_ number: Int) -> String {
        var words: [String] = []
        if number >= 100 { words += [small[number / 100], "hundred"] }
        let rest = number % 100
        if rest >= 20 {
            words.append(tens[rest / 10] + (rest % 10 > 0 ? "-\(small[rest % 10])" : ""))
        } else if rest > 0 {
            words.append(small[rest])
        }
        return words.joined(separator: " ")
    }
}
