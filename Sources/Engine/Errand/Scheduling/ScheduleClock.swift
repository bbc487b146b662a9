package import ErrandPostgres

/// The clock of the schedules: PostgreSQL's, which all processes share, or a simulated one for
/// tests and dry runs.
package struct ScheduleClock: Sendable {
    private let given: (moment: Instant, pace: Double, since: ContinuousClock.Instant)?

    /// PostgreSQL's clock.
    package static let server = ScheduleClock(given: nil)

    /// Returns a clock that shows `moment` now and runs `pace` times as fast as the real one; 0
    /// freezes it.
    package static func given(_ moment: Instant, pace: Double) -> ScheduleClock {
        ScheduleClock(given: (moment, pace, .now))
    }

    /// The current time; nil for PostgreSQL's clock.
    var now: Instant? {
        given.map { $0.moment.adding((.now - $0.since) * $0.pace) }
    }

    /// Whether the clock is the real one, by which jobs can start.
    var isReal: Bool { given == nil }

    /// Returns the real time that a duration of this clock takes.
    func wait(for duration: Duration) -> Duration {
        guard let given, given.pace > 0 else { return duration }
        return duration / given.pace
    }
}
