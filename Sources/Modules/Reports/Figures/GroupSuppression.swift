/// A number of people of one group, such as an age band, at a branch.
package struct GroupCell: Sendable, Equatable, Codable {
    /// age or postal.
    package var dimension: String
    /// Null for the whole establishment; 0 for receipts without a branch.
    package var branch: Int64?
    /// The group, such as 25-34 or H2X; ``GroupSuppression/others`` for several.
    package var label: String
    package var people: Int64

    package init(dimension: String, branch: Int64?, label: String, people: Int64) {
        self.dimension = dimension
        self.branch = branch
        self.label = label
        self.people = people
    }
}

/// Suppresses small groups of people, so that none can be computed from the others.
///
/// The groups of the whole establishment that are too small are published as one, ``others``, which
/// has at least two groups and ``threshold`` people; if need be, more groups join it. A branch is
/// published only if each of these columns has enough people there, and if what is left when all
/// published branches are subtracted from the whole has enough in each column too. So each number
/// that subtraction can reach is a sum of numbers of at least ``threshold`` people.
package enum GroupSuppression {
    /// The minimum number of people of a group.
    package static let threshold: Int64 = 5
    /// The label of the groups that are published as one.
    package static let others = "others"
    /// The label of people whose group is not known.
    package static let unknown = "not known"
    /// All age bands: one that is missing is known to be empty, which is a figure too.
    package static let ages = ["16-24", "25-34", "35-44", "45-54", "55-64", "65+"]

    /// Returns what may be published of the groups of one dimension.
    ///
    /// - Parameter cells: the true numbers by branch; each person counts once.
    package static func published(_ cells: [GroupCell], dimension: String) -> [GroupCell] {
        var rows: [Int64: [String: Int64]] = [:]
        var totals: [String: Int64] = [:]
        if dimension == "age" { for age in ages { totals[age] = 0 } }
        for cell in cells where cell.dimension == dimension && cell.people > 0 {
            rows[cell.branch ?? 0, default: [:]][cell.label, default: 0] += cell.people
            totals[cell.label, default: 0] += cell.people
        }
        guard let hidden = hidden(among: totals) else { return [] }
        func column(_ label: String) -> String { hidden.contains(label) ? others : label }
        func joined(_ row: [String: Int64]) -> [String: Int64] {
            var joined: [String: Int64] = [:]
            for (label, people) in row { joined[column(label), default: 0] += people }
            return joined
        }
        let whole = joined(totals)
        let columns = whole.keys.sorted { ($0 == others ? 1 : 0, $0) < ($1 == others ? 1 : 0, $1) }
        func isLarge(_ row: [String: Int64]) -> Bool {
            columns.allSatisfy { row[$0, default: 0] >= threshold }
        }
        var shown = rows.mapValues(joined).filter { isLarge($0.value) }
        func rest() -> [String: Int64] {
            var rest = whole
            for row in shown.values {
                for (label, people) in row { rest[label, default: 0] -= people }
            }
            return rest
        }
        // The smallest branches join the rest until it is large enough, or is nobody.
        while !shown.isEmpty, case let left = rest(), left.values.contains(where: { $0 > 0 }),
            !isLarge(left)
        {
            let smallest = shown.min {
                ($0.value.values.reduce(0, +), $0.key) < ($1.value.values.reduce(0, +), $1.key)
            }
            if let smallest { shown[smallest.key] = nil }
        }
        return cellsOf(whole, branch: nil, columns: columns, dimension: dimension)
            + shown.keys.sorted().flatMap { branch in
                cellsOf(
                    shown[branch] ?? [:], branch: branch, columns: columns, dimension: dimension)
            }
    }

    /// The groups to publish as one; nil if there are too few people for any.
    private static func hidden(among totals: [String: Int64]) -> Set<String>? {
        let ordered = totals.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
        guard totals.values.reduce(0, +) >= threshold else { return nil }
        var hidden: Set<String> = []
        var people: Int64 = 0
        for (label, count) in ordered {
            let isEnough = hidden.isEmpty || hidden.count >= 2 && people >= threshold
            if count >= threshold, isEnough { break }
            hidden.insert(label)
            people += count
        }
        // One group alone would be its own number.
        guard hidden.isEmpty || hidden.count >= 2 && people >= threshold else { return nil }
        return hidden
    }

    private static func cellsOf(
        _ row: [String: Int64], branch: Int64?, columns: [String], dimension: String
    ) -> [GroupCell] {
        columns.map {
            GroupCell(
                dimension: dimension, branch: branch, label: $0, people: row[$0, default: 0])
        }
    }
}
