import FoundationEssentials
import ErrandGregorian
import ErrandLedger
import ErrandPaymentFiles

/// The stub of a cheque: the rewards of the quarter, by kind.
enum ChequeStub {
    /// The frozen rewards of one kind of source: `["survey", 12, 3600]`.
    private struct Earned: Decodable {
        var kind: String
        var count: Int
        var amount: Int64

        init(from decoder: any Decoder) throws {
            var parts = try decoder.unkeyedContainer()
            kind = try parts.decode(String.self)
            count = try parts.decode(Int.self)
            amount = try parts.decode(Int64.self)
        }
    }

    /// Returns lines that sum to the amount.
    ///
    /// A line for carried or corrected amounts covers the difference to the quarter's rewards.
    ///
    /// - Parameter earned: the JSON of `payouts.earned`; nil: no rewards.
    static func lines(
        _ earned: [UInt8]?, amount: Int64, quarter: Quarter
    ) throws -> [RemittanceLine] {
        let lastDay = CivilDate(daysSince1970: quarter.next.firstDay.daysSince1970 - 1)
        var rest = amount
        var lines: [RemittanceLine] = []
        for item in try earned.map({ try JSONDecoder().decode([Earned].self, from: Data($0)) })
            ?? []
        {
            rest -= item.amount
            lines.append(
                RemittanceLine(
                    date: lastDay, text: text(item.kind, item.count), amount: item.amount))
        }
        if rest != 0 {
            let firstDay = quarter.firstDay
            lines.insert(
                RemittanceLine(
                    date: firstDay,
                    text: rest > 0 ? "Carried over from before" : "Paid before, or corrected",
                    amount: rest), at: 0)
        }
        return lines
    }

    private static func text(_ kind: String, _ count: Int) -> String {
        switch kind {
        case "survey": count == 1 ? "1 survey" : "\(count) surveys"
        case "mission": count == 1 ? "1 mission" : "\(count) missions"
        case "": count == 1 ? "1 reward" : "\(count) rewards"
        default: "\(kind.split(separator: "_").joined(separator: " ")) (\(count))"
        }
    }
}
