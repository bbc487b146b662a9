package import ErrandPostgres

/// The clock that schedules go by: PostgreSQL's own, which all processes share, or one that is
/// given, so that a night can be rehearsed in a minute.
package struct ScheduleClock: Sendable {
    private let given: (moment: Instant, pace: Double, since: ContinuousClock.Instant)?

    /// PostgreSQL's.
    package static let server = ScheduleClock(given: nil)

    /// A clock that shows `moment` now and runs `pace` times as fast as the real one; 0 stands
    /// still.
    package static func given(_ moment: Instant, pace: Double) -> ScheduleClock {
        ScheduleClock(given: (moment, pace, .now))
    }

    /// What it shows; nil: PostgreSQL knows.
    var now: Instant? {
        given.map { $0.moment.adding((.now - $0.since) * $0.pace) }
    }

    /// Whether it is the real time, at which jobs can be told to start.
    var isReal: Bool { given == nil }

    /// How long to wait for so much of its time to pass.
    func wait(for duration: Duration) -> Duration {
        guard let given, given.pace > 0 else { return duration }
        return duration / given.pace
    }
}
