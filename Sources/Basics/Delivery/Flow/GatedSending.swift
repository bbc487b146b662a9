package import FoundationEssentials

extension ProviderGate {
    /// The longest single wait within ``send(timeout:until:_:)``.
    private static let shortWait = Duration.seconds(1)
    /// The minimum reported wait, so that messages do not poll.
    private static let minimumRetry = Duration.seconds(5)

    /// Sends a message if the provider admits it now.
    ///
    /// Waits briefly for the rate limit or a probe, so that a backlog is not claimed and requeued.
    /// Returns a longer wait as `.unavailable`, with the time until the circuit admits a message.
    ///
    /// - Parameters:
    ///   - timeout: the maximum total wait here.
    ///   - expiry: the time from which on the message is not sent.
    ///   - body: sends the message.
    package func send(
        timeout: Duration = .seconds(10), until expiry: Date,
        _ body: () async -> DeliveryVerdict
    ) async -> DeliveryVerdict {
        let end = ContinuousClock.now + timeout
        while true {
            if let verdict = await attempt(end, expiry, body) { return verdict }
        }
    }

    /// Sends the message or waits; nil to ask again.
    private func attempt(
        _ end: ContinuousClock.Instant, _ expiry: Date, _ body: () async -> DeliveryVerdict
    ) async -> DeliveryVerdict? {
        guard Date() < expiry else {
            // The next attempt records the expiry.
            return .unavailable(reason: "expired while waiting", retryAfter: .seconds(1))
        }
        let now = ContinuousClock.now
        switch admit(at: now) {
        case .pass(let ticket):
            return judged(await body(), ticket)
        case .wait(let wait):
            if wait <= Self.shortWait, now < end {
                // Jitter, so that waiting messages do not all continue at once.
                let extra = Duration.milliseconds(Int64.random(in: 1...50))
                if (try? await Task.sleep(for: wait + extra)) != nil { return nil }
            }
            return .unavailable(reason: reason, retryAfter: max(wait, Self.minimumRetry))
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
            reason: reason, retryAfter: max(wait ?? .zero, open, Self.minimumRetry))
    }

    private var reason: String {
        switch status {
        case .closed: "delayed by the rate limit"
        case .open(_, let reason), .probing(let reason): "waits for the provider: \(reason)"
        }
    }
}
