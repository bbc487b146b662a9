import Synchronization

/// The way to one provider for all who send to it: its circuit and its rate limit.
package final class ProviderGate: Sendable {
    private struct State {
        var circuit: Circuit
        var rate: RateLimit?
    }

    private let state: Mutex<State>

    /// An open way.
    ///
    /// - Parameters:
    ///   - circuit: when to leave the provider alone.
    ///   - rate: how fast it may be asked; nil for as fast as it answers.
    package init(_ circuit: Circuit = Circuit(), rate: RateLimit? = nil) {
        state = Mutex(State(circuit: circuit, rate: rate))
    }

    /// Lets a message go, or tells it when to ask again. Whoever waits takes nothing: neither a
    /// place in the rate nor the one probe.
    package func admit(at now: ContinuousClock.Instant) -> Circuit.Admission {
        state.withLock { state in
            if let wait = state.circuit.wait(at: now) { return .wait(wait) }
            if let wait = state.rate?.take(at: now) { return .wait(wait) }
            return state.circuit.admit(at: now)
        }
    }

    /// Learns what became of a message that it let go.
    package func record(
        _ verdict: DeliveryVerdict, _ ticket: Circuit.Ticket, at now: ContinuousClock.Instant
    ) {
        state.withLock { $0.circuit.record(verdict, ticket, at: now) }
    }

    /// How the provider stands.
    package var standing: Circuit.Standing { state.withLock { $0.circuit.standing } }
}
