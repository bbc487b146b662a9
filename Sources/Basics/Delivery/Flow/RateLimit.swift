/// At most so many messages a second, with a burst after a pause: a bucket that fills with tokens.
package struct RateLimit: Sendable, Equatable {
    private let perSecond: Double
    private let burst: Double
    private var tokens: Double
    private var filledAt: ContinuousClock.Instant?

    /// A full bucket.
    ///
    /// - Parameters:
    ///   - perSecond: how fast it fills; above 0.
    ///   - burst: how much it holds, 1 at least.
    package init(perSecond: Double, burst: Double) {
        precondition(perSecond > 0 && perSecond.isFinite && burst >= 1 && burst.isFinite)
        self.perSecond = perSecond
        self.burst = burst
        tokens = burst
    }

    /// Takes a token; without one, says how long until there is one, and takes nothing.
    package mutating func take(at now: ContinuousClock.Instant) -> Duration? {
        if let filledAt {
            let seconds = max(0, (now - filledAt) / .seconds(1))
            tokens = min(burst, tokens + seconds * perSecond)
            // A time before the last one fills nothing, and does not count twice afterwards.
            self.filledAt = max(filledAt, now)
        } else {
            filledAt = now
        }
        guard tokens >= 1 else { return .seconds((1 - tokens) / perSecond) }
        tokens -= 1
        return nil
    }
}
