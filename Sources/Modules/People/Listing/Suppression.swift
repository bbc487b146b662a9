package import ErrandPostgres

/// A person who was erased, in the list that outlives restored backups.
package struct Suppression: Sendable, Equatable {
    package var person: Int64
    package var erasedAt: Instant

    package init(person: Int64, erasedAt: Instant) {
        self.person = person
        self.erasedAt = erasedAt
    }

    /// The ids and the times of a list, as SQL takes them.
    static func parameters(_ list: [Suppression]) -> [Parameter] {
        [.int64Array(list.map(\.person)), .timestampArray(list.map(\.erasedAt))]
    }

    /// Joins two lists, sorted by id; of two times of a person the later one counts.
    package static func union(_ one: [Suppression], _ other: [Suppression]) -> [Suppression] {
        var times: [Int64: Instant] = [:]
        for entry in one + other {
            times[entry.person] = max(times[entry.person] ?? entry.erasedAt, entry.erasedAt)
        }
        return times.map { Suppression(person: $0.key, erasedAt: $0.value) }
            .sorted { $0.person < $1.person }
    }
}
