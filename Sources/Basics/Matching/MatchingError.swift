/// Why an instance is invalid; the description names the row.
package enum MatchingError: Error, Equatable, CustomStringConvertible {
    case missionTwice(Int64)
    case shopperTwice(Int64)
    case edgeTwice(mission: Int64, shopper: Int64)
    case unknownMission(Int64, shopper: Int64)
    case unknownShopper(Int64, mission: Int64)
    /// A number of slots below 0 or above the limit.
    case slots(Int64, mission: Int64)
    /// A capacity below 0 or above the limit.
    case capacity(Int64, shopper: Int64)
    /// A score so large that a sum of scores may overflow 64 bits.
    case scoreTooLarge(Int64, mission: Int64, shopper: Int64, limit: Int64)
    case tooManyRows(limit: Int)

    package var description: String {
        switch self {
        case .missionTwice(let id): "duplicate mission \(id)"
        case .shopperTwice(let id): "duplicate shopper \(id)"
        case .edgeTwice(let mission, let shopper):
            "duplicate edge of mission \(mission) and shopper \(shopper)"
        case .unknownMission(let id, let shopper):
            "an edge of shopper \(shopper) refers to mission \(id), which does not exist"
        case .unknownShopper(let id, let mission):
            "an edge of mission \(mission) refers to shopper \(id), which does not exist"
        case .slots(let slots, let mission):
            "mission \(mission) has \(slots) slots: expected 0 to \(MatchingInstance.countLimit)"
        case .capacity(let capacity, let shopper):
            "shopper \(shopper) has a capacity of \(capacity): expected 0 to "
                + "\(MatchingInstance.countLimit)"
        case .scoreTooLarge(let score, let mission, let shopper, let limit):
            "the score \(score) of mission \(mission) and shopper \(shopper) is too large: with "
                + "this number of slots, sums fit into 64 bits up to \(limit) each"
        case .tooManyRows(let limit):
            "more than \(limit) missions, shoppers or edges"
        }
    }
}
