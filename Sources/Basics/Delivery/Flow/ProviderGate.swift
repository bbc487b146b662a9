import Synchronization

/// The gate to one provider, shared by all senders: its circuit, rate limit and loss detector.
package final class ProviderGate: Sendable {
    /// A change of a provider's state, reported once for a log line.
    package enum News: Sendable, Equatable {
        /// It is unavailable; the circuit opened.
        case opened(reason: String)
        /// It accepts messages again; `reason` is why the circuit was open.
        case closed(reason: String)
    }

    private struct State {
        var circuit: Circuit
        var rate: RateLimit?
        var losses: LossDetector?
        /// The last reported reason why no message is admitted; nil while messages pass.
        var trouble: String?
    }

    private let onChange: @Sendable (News) -> Void
    private let state: Mutex<State>

    /// Creates a gate with a closed circuit.
    ///
    /// - Parameters:
    ///   - circuit: the circuit breaker.
    ///   - rate: the rate limit; nil for none.
    ///   - losses: the detector of false reports of invalid addresses; nil for none.
    ///   - onChange: receives when the circuit opens and closes, but not the probes in between.
    package init(
        _ circuit: Circuit = Circuit(), rate: RateLimit? = nil, losses: LossDetector? = nil,
        onChange: @escaping @Sendable (News) -> Void = { _ in }
    ) {
        self.onChange = onChange
        state = Mutex(State(circuit: circuit, rate: rate, losses: losses))
    }

    /// Admits a message, or returns when it may ask again.
    ///
    /// A message that waits uses neither a token of the rate nor the probe.
    package func admit(at now: ContinuousClock.Instant) -> Circuit.Admission {
        state.withLock { state in
            if let wait = state.circuit.wait(at: now) { return .wait(wait) }
            if let wait = state.rate?.take(at: now) { return .wait(wait) }
            return state.circuit.admit(at: now)
        }
    }

    /// Records the verdict on an admitted message.
    ///
    /// - Returns: the verdict to act on, which the loss detector may change.
    package func record(
        _ verdict: DeliveryVerdict, _ ticket: Circuit.Ticket, at now: ContinuousClock.Instant
    ) -> DeliveryVerdict {
        let (judged, news) = state.withLock { state in
            let judged = state.losses?.judge(verdict) ?? verdict
            state.circuit.record(judged, ticket, at: now)
            return (judged, Self.news(&state))
        }
        if let news { onChange(news) }
        return judged
    }

    private static func news(_ state: inout State) -> News? {
        switch (state.circuit.status, state.trouble) {
        case (.closed, let reason?):
            state.trouble = nil
            return .closed(reason: reason)
        case (.open(_, let reason), nil):
            state.trouble = reason
            return .opened(reason: reason)
        case (.closed, nil), (.open, _?), (.probing, _): return nil
        }
    }

    /// Returns how long the circuit remains open; nil if it is closed.
    package func wait(at now: ContinuousClock.Instant) -> Duration? {
        state.withLock { $0.circuit.wait(at: now) }
    }

    /// The status of the provider's circuit.
    package var status: Circuit.Status { state.withLock { $0.circuit.status } }
}
