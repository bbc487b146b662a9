package import FoundationEssentials

/// How people see times: in UTC, or as the clocks of a zone show them.
package struct TimeFormat: Sendable {
    private let offset: (@Sendable (Date) -> Int)?

    /// Local times.
    ///
    /// - Parameter offset: by how many seconds the clocks are ahead of UTC at a time.
    package init(offset: @escaping @Sendable (Date) -> Int) {
        self.offset = offset
    }

    private init() { offset = nil }

    /// Universal time, with a Z.
    package static let utc = TimeFormat()

    /// A time to the second, with its offset, so that nobody errs.
    package func text(_ time: Date) -> String {
        guard let offset else { return HumanFormat.time(time) }
        return HumanFormat.time(time, offset: offset(time))
    }
}
