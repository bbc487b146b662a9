/// Decides whether another revision of a report may be published.
///
/// Two revisions subtract to the answers of the people by whom they differ, such as one who has
/// withdrawn the consent to share. So another one is published only if from each published one it
/// lacks nobody or at least ``GroupSuppression/threshold`` people, and has nobody or at least as
/// many in addition: in each cell, which is a branch, a version of a survey and what is counted,
/// because these are shown separately. Else the newest one stands.
///
/// Those who are gone and those who are new are counted separately: a text that is gone would be
/// that of one person, however many others came.
package enum RevisionRule {
    /// The rows that are counted by cell, such as `completion:3:12:1`; see `reports.people_of`.
    package typealias Prints = [String: [Int64]]

    package enum Verdict: Sendable {
        /// Nothing is published yet.
        case first
        /// As the newest revision.
        case same
        /// Fewer people than the threshold make the difference.
        case few
        case differs
    }

    /// The most rows whose people are looked up: that number is enough.
    private static let limit = 1_000

    /// Compares what is to be published with the published revisions, the newest last.
    ///
    /// - Parameter people: how many people at least are behind rows of a cell.
    package static func verdict(
        _ new: Prints, published: [Prints],
        people: (_ measure: String, _ rows: [Int64]) async throws -> Int64
    ) async throws -> Verdict {
        guard let newest = published.last else { return .first }
        if differences(new, newest).isEmpty { return .same }
        for earlier in published {
            for (measure, rows) in differences(new, earlier) {
                guard rows.count >= GroupSuppression.threshold,
                    try await people(measure, Array(rows.prefix(limit)))
                        >= GroupSuppression.threshold
                else { return .few }
            }
        }
        return .differs
    }

    /// The rows that are gone, and those that are new, of each cell with some.
    private static func differences(
        _ new: Prints, _ old: Prints
    ) -> [(measure: String, rows: [Int64])] {
        Set(new.keys).union(old.keys).sorted().flatMap { cell in
            let (now, then) = (new[cell] ?? [], old[cell] ?? [])
            if now == then { return [(measure: String, rows: [Int64])]() }
            let measure = String(cell.prefix { $0 != ":" })
            let (all, former) = (Set(now), Set(then))
            return [former.subtracting(all), all.subtracting(former)]
                .filter { !$0.isEmpty }.map { (measure, $0.sorted()) }
        }
    }
}
