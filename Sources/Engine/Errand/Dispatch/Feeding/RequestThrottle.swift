/// Work that requests can demand, at most a fifth of the time.
///
/// Any login can send a request: without a pause, it could keep the feeder from its other work.
struct RequestThrottle: Sendable {
    private let minimum: Duration
    private var next: ContinuousClock.Instant
    /// Whether the work was requested and has not begun.
    private(set) var isRequested = false

    /// - Parameter minimum: the minimum pause after the work.
    init(minimum: Duration, at now: ContinuousClock.Instant = .now) {
        self.minimum = minimum
        next = now
    }

    mutating func request() { isRequested = true }

    /// Returns whether the work is to begin, and takes the request if it is.
    mutating func begins(at now: ContinuousClock.Instant) -> Bool {
        guard isRequested, now >= next else { return false }
        isRequested = false
        return true
    }

    /// Records the work, which began at a time: the pause is four times as long as it took.
    mutating func ended(from start: ContinuousClock.Instant, at now: ContinuousClock.Instant) {
        next = now + max(minimum, (now - start) * 4)
    }

    /// The time until requested work begins; nil if none is requested.
    func wait(at now: ContinuousClock.Instant) -> Duration? {
        isRequested ? max(next - now, .zero) : nil
    }
}
