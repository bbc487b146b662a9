/// One instant at which a recurrence happens.
public struct Occurrence: Sendable, Hashable {
    /// The second since 1970 UTC.
    public var at: Int
    /// By how many seconds local time is ahead of UTC at that instant.
    public var offset: Int
    /// What a change of the clocks has to do with it; nil on an ordinary day.
    public var change: ClockChange?
    /// The first matching local time that a gap swallowed, by `GapRule.skip`, between the second
    /// that `next(after:)` was asked about and this occurrence; given as if it were UTC.
    public var skippedLocal: Int?

    /// An occurrence by its parts.
    public init(at: Int, offset: Int, change: ClockChange? = nil, skippedLocal: Int? = nil) {
        self.at = at
        self.offset = offset
        self.change = change
        self.skippedLocal = skippedLocal
    }
}

/// How a change of the clocks touches an occurrence.
public enum ClockChange: Sendable, Hashable {
    /// It stands in for matching local times that do not exist, of which `local` is the first,
    /// given as if it were UTC.
    case movedFromGap(local: Int)
    /// Its local time comes again, and so does the occurrence.
    case firstOfTwo
    /// Its local time has been before, and so has the occurrence.
    case secondOfTwo
    /// Its local time comes twice, the occurrence only now.
    case onlyOneOfTwo
}

/// What becomes of a local time that the clocks leap over.
public enum GapRule: String, Sendable, Hashable, CaseIterable {
    /// It happens at the first instant after the gap, once for all that fell into it.
    case shift
    /// It does not happen.
    case skip
}

/// What becomes of a local time that comes twice because the clocks are set back.
public enum RepeatRule: String, Sendable, Hashable, CaseIterable {
    /// It happens the first time only.
    case first
    /// It happens the last time only.
    case last
    /// It happens each time.
    case both
}
