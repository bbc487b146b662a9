import ErrandPostgres

/// A snapshot of PostgreSQL: which transactions had ended when it was taken.
struct Snapshot: Sendable, Equatable {
    /// All transactions before this one have ended.
    var xmin: UInt64
    /// No transaction from this one on has begun to write.
    var xmax: UInt64
    /// The transactions between the two that are open.
    var open: [UInt64]

    /// Reads the text of a `pg_snapshot`: `xmin:xmax:open,open`.
    init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let xmin = UInt64(parts[0]), let xmax = UInt64(parts[1]) else {
            return nil
        }
        (self.xmin, self.xmax) = (xmin, xmax)
        open = parts[2].split(separator: ",").compactMap { UInt64($0) }
    }
}

/// The transactions that were open when the feeder last read, to find the jobs that they commit
/// behind its position.
///
/// The due time of a job is read after the transaction got its id. So a job that a reading did not
/// see and that lies behind the reading's time belongs to a transaction that was open then. When
/// that has ended, its jobs are due at or after the time at which it was not yet open.
struct OpenWriters: Sendable {
    /// The open transactions, and a time before which they have written nothing.
    private var began: [UInt64: Instant] = [:]
    /// The times of the last two readings.
    private var last: Instant?
    private var lastButOne: Instant?

    /// The overlap of consecutive readings of a polled lane: most transactions are that short, and
    /// statements of other programs may read the clock before their transaction has an id.
    static let overlap = Duration.milliseconds(15)

    /// The time from which the next reading of a polled lane starts: the one from which
    /// transactions can have written that are open now and were not at the reading before.
    var start: Instant? { lastButOne?.adding(.zero - Self.overlap) }

    /// Records a reading's snapshot, and the time at which its statement began.
    ///
    /// - Returns: the time from which jobs of the transactions that ended since the last reading
    ///   may have become visible; nil if none ended.
    mutating func read(_ snapshot: Snapshot, at time: Instant) -> Instant? {
        let before = last?.adding(.zero - Self.overlap) ?? .negativeInfinity
        var open: [UInt64: Instant] = [:]
        for id in snapshot.open { open[id] = began[id] ?? before }
        let ended = began.filter { open[$0.key] == nil }.values.min()
        began = open
        lastButOne = last
        last = time
        return ended
    }
}
