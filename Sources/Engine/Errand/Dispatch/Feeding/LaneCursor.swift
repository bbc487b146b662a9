import ErrandPostgres

/// A position in a lane's order: by due time, then id.
struct LanePlace: Comparable, Sendable {
    var at: Instant
    var id: Int64

    static let start = LanePlace(at: .negativeInfinity, id: 0)

    static func < (left: Self, right: Self) -> Bool { (left.at, left.id) < (right.at, right.id) }
}

extension Sequence<LanePlace> {
    /// The arrays of their times and ids, for `unnest` in a statement.
    var columns: [Parameter] { [.timestampArray(map(\.at)), .int64Array(map(\.id))] }
}

/// The feeder's position in one priority of a lane.
///
/// ```
///   dead rows      living rows, read and staged        not read yet
/// ─────────────┼──────────────────────────────────┼──────────────────▶ due time
///           living                              read
/// ```
struct LaneCursor: Sendable {
    /// The position up to which all rows were read.
    var read = LanePlace.start
    /// The position before which there are no live rows and none can appear.
    var living = LanePlace.start
    /// Whether the last query left due jobs unread.
    var isBehind = false

    /// Records a query.
    ///
    /// - Parameter horizon: a time before which no new row could appear when the query began.
    mutating func advanced(to last: LanePlace?, wasFull: Bool, horizon: Instant) {
        if let last { read = max(read, last) }
        // Entries of finished jobs before it need not be passed again.
        if !wasFull { read = max(read, LanePlace(at: horizon, id: 0)) }
        isBehind = wasFull
    }

    /// Records that a job that was due at this time waits again: the next sweep starts there.
    mutating func returned(at time: Instant) {
        living = min(living, LanePlace(at: time, id: 0))
    }

    /// Records a sweep that started at `living`.
    ///
    /// - Parameters:
    ///   - first: the first row that still waits, if any.
    ///   - horizon: the time before which no new row can appear.
    mutating func swept(first: LanePlace?, horizon: Instant) {
        let bound = LanePlace(at: horizon, id: 0)
        living = max(living, min(first ?? read, bound))
    }
}
