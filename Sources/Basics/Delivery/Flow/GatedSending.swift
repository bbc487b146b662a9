package import FoundationEssentials

extension ProviderGate {
    /// The longest wait that is spent by ``send(patience:until:_:)`` at a time.
    private static let shortWait = Duration.seconds(1)
    /// The least that is told, lest everybody asks all the time.
    private static let leastTold = Duration.seconds(5)

    /// Sends a message if the provider would take it now.
    ///
    /// A short wait, for a place in the rate or for the answer to a probe, is spent here, so that
    /// a backlog stays where it is instead of being taken up and put back. A longer one is told as
    /// `.unavailable`: nobody comes back before the circuit lets one go.
    ///
    /// - Parameters:
    ///   - patience: how long the message may wait here in all.
    ///   - expiry: from then on it is not sent any more.
    ///   - body: sends it.
    package func send(
        patience: Duration = .seconds(10), until expiry: Date,
        _ body: () async -> DeliveryVerdict
    ) async -> DeliveryVerdict {
        let end = ContinuousClock.now + patience
        while true {
            if let verdict = await attempt(end, expiry, body) { return verdict }
        }
    }

    /// Sends it or waits; nil to ask again.
    private func attempt(
        _ end: ContinuousClock.Instant, _ expiry: Date, _ body: () async -> DeliveryVerdict
    ) async -> DeliveryVerdict? {
        guard Date() < expiry else {
            // Whoever looks at it next finds that, and says so.
            return .unavailable(reason: "it expired while it waited", retryAfter: .seconds(1))
        }
        let now = ContinuousClock.now
        switch admit(at: now) {
        case .pass(let ticket):
            return judged(await body(), ticket)
        case .wait(let wait):
            if wait <= Self.shortWait, now < end {
                // Not all at once: those who come late find what has gathered meanwhile.
                let extra = Duration.milliseconds(Int64.random(in: 1...50))
                if (try? await Task.sleep(for: wait + extra)) != nil { return nil }
            }
            return .unavailable(reason: reason, retryAfter: max(wait, Self.leastTold))
        }
    }

    private func judged(
        _ verdict: DeliveryVerdict, _ ticket: Circuit.Ticket
    ) -> DeliveryVerdict {
        let now = ContinuousClock.now
        let judged = record(verdict, ticket, at: now)
        guard case .unavailable(let reason, let wait) = judged, let open = self.wait(at: now) else {
            return judged
        }
        return .unavailable(
            reason: reason, retryAfter: max(wait ?? .zero, open, Self.leastTold))
    }

    private var reason: String {
        switch standing {
        case .closed: "its turn did not come: more of them are due than the rate allows"
        case .open(_, let reason), .probing(let reason): "waits while nothing is taken: \(reason)"
        }
    }
}
