import ErrandPostgres

/// A place in a lane's order: by due time, then id.
struct LanePlace: Comparable, Sendable {
    var at: Instant
    var id: Int64

    static let start = LanePlace(at: .negativeInfinity, id: 0)

    static func < (left: Self, right: Self) -> Bool { (left.at, left.id) < (right.at, right.id) }
}

/// How far the feeder has read one priority of a lane.
///
/// ```
///   dead rows      living rows, read and staged        not read yet
/// ─────────────┼──────────────────────────────────┼──────────────────▶ due time
///           living                              read
/// ```
struct LaneCursor: Sendable {
    /// Up to here everything was read.
    var read = LanePlace.start
    /// Before this nobody's row can be, and none can newly appear.
    var living = LanePlace.start
    /// Whether the last reading left some behind.
    var isBehind = false

    /// Takes note of one reading.
    mutating func advanced(to last: LanePlace?, wasFull: Bool) {
        if let last { read = max(read, last) }
        isBehind = wasFull
    }

    /// A row that was due at this time waits again: the next sweep begins there.
    mutating func returned(at time: Instant) {
        living = min(living, LanePlace(at: time, id: 0))
    }

    /// Takes note of a sweep that began at `living`.
    ///
    /// - Parameters:
    ///   - first: the first row that still waits, if any.
    ///   - horizon: the moment before which no row can newly appear.
    mutating func swept(first: LanePlace?, horizon: Instant) {
        let bound = LanePlace(at: horizon, id: 0)
        living = max(living, min(first ?? read, bound))
    }
}
