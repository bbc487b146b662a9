package import Delivery

/// A channel behind the gate of its provider: what would not be taken now is not sent.
///
/// A short wait, for a place in the rate or for the answer to a probe, is spent here, so that a
/// backlog stays in its queue instead of being claimed and put back. A longer one is told.
package struct GatedChannel: Channel {
    /// The longest wait that is spent here at a time.
    private static let shortWait = Duration.seconds(1)
    /// The least that is told, lest everybody asks all the time.
    private static let leastTold = Duration.seconds(5)

    private let channel: any Channel
    private let gate: ProviderGate
    private let patience: Duration

    /// Sends by `channel` what `gate` lets go.
    ///
    /// - Parameter patience: how long one notice may wait here in all.
    package init(
        _ channel: any Channel, through gate: ProviderGate, patience: Duration = .seconds(10)
    ) {
        self.channel = channel
        self.gate = gate
        self.patience = patience
    }

    package func send(_ outgoing: Outgoing) async -> DeliveryVerdict {
        let end = ContinuousClock.now + patience
        while true {
            if let verdict = await attempt(outgoing, end) { return verdict }
        }
    }

    /// Sends it or waits; nil to ask again.
    private func attempt(
        _ outgoing: Outgoing, _ end: ContinuousClock.Instant
    ) async -> DeliveryVerdict? {
        let now = ContinuousClock.now
        switch gate.admit(at: now) {
        case .pass(let ticket):
            return record(await channel.send(outgoing), ticket)
        case .wait(let wait):
            if wait <= Self.shortWait, now < end {
                // Not all at once: those who come late find what has gathered meanwhile.
                let extra = Duration.milliseconds(Int64.random(in: 1...50))
                if (try? await Task.sleep(for: wait + extra)) != nil { return nil }
            }
            return .unavailable(reason: reason, retryAfter: max(wait, Self.leastTold))
        }
    }

    /// While the circuit is open nobody comes back before it lets one go.
    private func record(
        _ verdict: DeliveryVerdict, _ ticket: Circuit.Ticket
    ) -> DeliveryVerdict {
        let now = ContinuousClock.now
        let judged = gate.record(verdict, ticket, at: now)
        guard case .unavailable(let reason, let wait) = judged, let open = gate.wait(at: now) else {
            return judged
        }
        return .unavailable(
            reason: reason, retryAfter: max(wait ?? .zero, open, Self.leastTold))
    }

    private var reason: String {
        switch gate.standing {
        case .closed: "its turn did not come: more of them are due than the rate allows"
        case .open(_, let reason), .probing(let reason): "waits while nothing is taken: \(reason)"
        }
    }
}
