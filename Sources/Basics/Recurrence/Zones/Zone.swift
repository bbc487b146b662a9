/// A stretch of time in which a zone's clocks run with one offset.
@frozen
public struct ZoneSegment: Sendable, Hashable {
    /// Its first second, since 1970 UTC; `Int.min` when nothing came before.
    public var start: Int
    /// The first second after it; `Int.max` when nothing comes after.
    public var end: Int
    /// By how many seconds local time is ahead of UTC.
    public var offset: Int

    /// A segment by its parts.
    public init(start: Int, end: Int, offset: Int) {
        self.start = start
        self.end = end
        self.offset = offset
    }
}

/// The rules of one time zone: how far its clocks are ahead of UTC at any second.
///
/// A copy shares its tables with the original.
public struct Zone: Sendable {
    /// The IANA name, as it was asked for.
    public let name: String
    let table: ZoneTable

    /// A zone by what its file says.
    init(name: String, table: ZoneTable) {
        self.name = name
        self.table = table
    }

    /// A zone by its segments, which touch and cover all time.
    init(name: String, segments: [ZoneSegment]) {
        self.init(name: name, table: ZoneTable(segments: segments))
    }

    /// Universal time, without a file.
    public static let utc = Zone(
        name: "UTC", segments: [ZoneSegment(start: .min, end: .max, offset: 0)])

    /// The segment that a second lies in.
    ///
    /// Segments tile all time: each ends where the next begins, and neighbours differ.
    public func segment(at second: Int) -> ZoneSegment { table.segment(at: second) }
}
