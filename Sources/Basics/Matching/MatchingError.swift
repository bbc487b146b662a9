/// Why an instance cannot be solved; the text says which of its rows is meant.
package enum MatchingError: Error, Equatable, CustomStringConvertible {
    case missionTwice(Int64)
    case shopperTwice(Int64)
    case edgeTwice(mission: Int64, shopper: Int64)
    case unknownMission(Int64, shopper: Int64)
    case unknownShopper(Int64, mission: Int64)
    /// Fewer than none, or more than the limit.
    case slots(Int64, mission: Int64)
    /// Fewer than none, or more than the limit.
    case capacity(Int64, shopper: Int64)
    /// A score so large that a sum of such scores might not fit into 64 bits.
    case scoreTooLarge(Int64, mission: Int64, shopper: Int64, limit: Int64)
    case tooManyRows(limit: Int)

    package var description: String {
        switch self {
        case .missionTwice(let id): "mission \(id) is there twice"
        case .shopperTwice(let id): "shopper \(id) is there twice"
        case .edgeTwice(let mission, let shopper):
            "the edge of mission \(mission) and shopper \(shopper) is there twice"
        case .unknownMission(let id, let shopper):
            "an edge of shopper \(shopper) names mission \(id), which is not there"
        case .unknownShopper(let id, let mission):
            "an edge of mission \(mission) names shopper \(id), which is not there"
        case .slots(let slots, let mission):
            "mission \(mission) has \(slots) slots: expected 0 to \(MatchingInstance.countLimit)"
        case .capacity(let capacity, let shopper):
            "shopper \(shopper) has a capacity of \(capacity): expected 0 to "
                + "\(MatchingInstance.countLimit)"
        case .scoreTooLarge(let score, let mission, let shopper, let limit):
            "the score \(score) of mission \(mission) and shopper \(shopper) is too large: with so "
                + "many slots, sums fit into 64 bits only up to \(limit) each"
        case .tooManyRows(let limit):
            "there are more than \(limit) missions, shoppers or edges"
        }
    }
}
