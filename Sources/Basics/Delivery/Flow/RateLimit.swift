/// A rate limit in messages per second, with a burst after a pause: a token bucket.
package struct RateLimit: Sendable, Equatable {
    private let perSecond: Double
    private let burst: Double
    private var tokens: Double
    private var filledAt: ContinuousClock.Instant?

    /// Creates a full bucket.
    ///
    /// - Parameters:
    ///   - perSecond: the fill rate; above 0.
    ///   - burst: the capacity; at least 1.
    package init(perSecond: Double, burst: Double) {
        precondition(perSecond > 0 && perSecond.isFinite && burst >= 1 && burst.isFinite)
        self.perSecond = perSecond
        self.burst = burst
        tokens = burst
    }

    /// Takes a token and returns nil, or returns the wait until one is available.
    package mutating func take(at now: ContinuousClock.Instant) -> Duration? {
        if let filledAt {
            let seconds = max(0, (now - filledAt) / .seconds(1))
            tokens = min(burst, tokens + seconds * perSecond)
            // An earlier time adds no tokens, and does not count twice afterwards.
            self.filledAt = max(filledAt, now)
        } else {
            filledAt = now
        }
        guard tokens >= 1 else { return .seconds((1 - tokens) / perSecond) }
        tokens -= 1
        return nil
    }
}
