import Synchronization

/// The way to one provider for all who send to it: its circuit, its rate limit, its watch.
package final class ProviderGate: Sendable {
    /// What an operator should hear of a provider, once each time.
    package enum News: Sendable, Equatable {
        /// It takes nothing, and is left alone from now on.
        case opened(reason: String)
        /// It takes messages again, after it was left alone for that reason.
        case closed(reason: String)
    }

    private struct State {
        var circuit: Circuit
        var rate: RateLimit?
        var losses: LossWatch?
        /// Why nothing was let go when that was told last; nil while all is well.
        var trouble: String?
    }

    private let tell: @Sendable (News) -> Void
    private let state: Mutex<State>

    /// An open way.
    ///
    /// - Parameters:
    ///   - circuit: when to leave the provider alone.
    ///   - rate: how fast it may be asked; nil for as fast as it answers.
    ///   - losses: when to doubt that addresses are dead; nil for never.
    ///   - tell: is told when the circuit opens and when it closes; not of probes in between.
    package init(
        _ circuit: Circuit = Circuit(), rate: RateLimit? = nil, losses: LossWatch? = nil,
        tell: @escaping @Sendable (News) -> Void = { _ in }
    ) {
        self.tell = tell
        state = Mutex(State(circuit: circuit, rate: rate, losses: losses))
    }

    /// Lets a message go, or tells it when to ask again.
    ///
    /// Whoever waits takes nothing: neither a place in the rate nor the one probe.
    package func admit(at now: ContinuousClock.Instant) -> Circuit.Admission {
        state.withLock { state in
            if let wait = state.circuit.wait(at: now) { return .wait(wait) }
            if let wait = state.rate?.take(at: now) { return .wait(wait) }
            return state.circuit.admit(at: now)
        }
    }

    /// Learns what became of a message that it let go.
    ///
    /// - Returns: the verdict to act on; another one where the watch doubts it.
    package func record(
        _ verdict: DeliveryVerdict, _ ticket: Circuit.Ticket, at now: ContinuousClock.Instant
    ) -> DeliveryVerdict {
        let (judged, news) = state.withLock { state in
            let judged = state.losses?.judge(verdict) ?? verdict
            state.circuit.record(judged, ticket, at: now)
            return (judged, Self.news(&state))
        }
        if let news { tell(news) }
        return judged
    }

    private static func news(_ state: inout State) -> News? {
        switch (state.circuit.standing, state.trouble) {
        case (.closed, let reason?):
            state.trouble = nil
            return .closed(reason: reason)
        case (.open(_, let reason), nil):
            state.trouble = reason
            return .opened(reason: reason)
        case (.closed, nil), (.open, _?), (.probing, _): return nil
        }
    }

    /// How long its circuit lets nothing go; nil while it does.
    package func wait(at now: ContinuousClock.Instant) -> Duration? {
        state.withLock { $0.circuit.wait(at: now) }
    }

    /// How the provider stands.
    package var standing: Circuit.Standing { state.withLock { $0.circuit.standing } }
}
