package import FoundationEssentials

/// The format of times for people: in UTC, or in local time of a zone.
package struct TimeFormat: Sendable {
    private let offset: (@Sendable (Date) -> Int)?

    /// Local times.
    ///
    /// - Parameter offset: returns the offset from UTC at a time, in seconds.
    package init(offset: @escaping @Sendable (Date) -> Int) {
        self.offset = offset
    }

    private init() { offset = nil }

    /// UTC, marked by a Z.
    package static let utc = TimeFormat()

    /// A time to the second, with its offset.
    package func text(_ time: Date) -> String {
        guard let offset else { return HumanFormat.time(time) }
        return HumanFormat.time(time, offset: offset(time))
    }
}
