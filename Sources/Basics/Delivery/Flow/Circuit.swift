/// A circuit breaker for a provider: closed while it accepts messages, open while it does not.
///
/// Opens after consecutive failures, or after one failure that affects all messages. After the
/// wait, one message is sent as a probe; its verdict closes the circuit or opens it for longer.
package struct Circuit: Sendable, Equatable {
    /// A point in time on the monotonic clock.
    package typealias Instant = ContinuousClock.Instant

    /// The thresholds and waits of a circuit.
    package struct Settings: Sendable, Equatable {
        /// The number of consecutive failures that open it.
        package var failures = 5
        /// The wait of the first opening; each failed probe doubles it.
        package var firstWait = Duration.seconds(10)
        /// The limit of doubling; a provider's `Retry-After` may exceed it.
        package var longestWait = Duration.seconds(900)
        /// The time after which a probe without a verdict is abandoned and another is sent.
        package var probeLimit = Duration.seconds(60)

        /// The usual settings.
        package init() {}
    }

    /// The answer to a message that asks to be sent.
    package enum Admission: Sendable, Equatable {
        /// Send the message, and record its verdict with the ticket.
        case pass(Ticket)
        /// Send nothing now; ask again after the duration.
        case wait(Duration)
    }

    /// Identifies the state of the circuit that admitted a message.
    package struct Ticket: Sendable, Equatable {
        fileprivate let era: Int
    }

    /// The status shown to operators.
    package enum Status: Sendable, Equatable {
        case closed
        case open(until: Instant, reason: String)
        case probing(reason: String)
    }

    private enum State: Equatable {
        case closed(failures: Int, unclear: Int)
        case open(until: Instant, openings: Int, reason: String)
        case probing(since: Instant, openings: Int, reason: String)
    }

    /// The number of consecutive inconclusive verdicts that open it, such as timeouts.
    ///
    /// A multiple of the other limit, as a series of timeouts may be chance.
    private var unclearLimit: Int { settings.failures * 4 }
    /// The wait of other messages during a probe.
    private static let probing = Duration.seconds(1)

    private let settings: Settings
    private var state = State.closed(failures: 0, unclear: 0)
    /// Counts changes of state, so that verdicts on earlier messages are ignored.
    private var era = 0

    /// Creates a closed circuit.
    package init(_ settings: Settings = Settings()) {
        self.settings = settings
    }

    /// Returns the wait of a message; nil if it would be admitted.
    package func wait(at now: Instant) -> Duration? {
        switch state {
        case .closed: nil
        case .open(let until, _, _): now < until ? until - now : nil
        case .probing(let since, _, _):
            now - since < settings.probeLimit ? Self.probing : nil
        }
    }

    /// Admits a message, or returns when it may ask again.
    package mutating func admit(at now: Instant) -> Admission {
        if let wait = wait(at: now) { return .wait(wait) }
        switch state {
        case .closed: break
        case .open(_, let openings, let reason), .probing(_, let openings, let reason):
            enter(.probing(since: now, openings: openings, reason: reason))
        }
        return .pass(Ticket(era: era))
    }

    /// Records the verdict on an admitted message.
    package mutating func record(_ verdict: DeliveryVerdict, _ ticket: Ticket, at now: Instant) {
        guard ticket.era == era else { return }
        switch verdict {
        case .delivered, .addressBusy, .addressGone, .bounced, .rejected: works()
        case .deferred(let reason, _): isUnclear(reason, at: now)
        case .unavailable(let reason, let wait): fails(reason, wait, at: now)
        case .misconfigured(let reason): open(reason, nil, at: now)
        }
    }

    /// The current status.
    package var status: Status {
        switch state {
        case .closed: .closed
        case .open(let until, _, let reason): .open(until: until, reason: reason)
        case .probing(_, _, let reason): .probing(reason: reason)
        }
    }

    private mutating func works() {
        if case .closed = state {
            state = .closed(failures: 0, unclear: 0)
        } else {
            enter(.closed(failures: 0, unclear: 0))
        }
    }

    private mutating func isUnclear(_ reason: String, at now: Instant) {
        switch state {
        case .closed(let failures, let unclear) where unclear + 1 < unclearLimit:
            state = .closed(failures: failures, unclear: unclear + 1)
        case .closed: open(reason, nil, at: now)
        case .probing(_, let openings, _):
            enter(.open(until: now + backoff(openings), openings: openings, reason: reason))
        case .open: break
        }
    }

    /// Opens at once if the provider itself asks for a wait.
    private mutating func fails(_ reason: String, _ wait: Duration?, at now: Instant) {
        switch state {
        case .closed(let failures, let unclear) where failures + 1 < settings.failures:
            guard wait == nil else { return open(reason, wait, at: now) }
            state = .closed(failures: failures + 1, unclear: unclear)
        case .closed, .probing, .open: open(reason, wait, at: now)
        }
    }

    private mutating func open(_ reason: String, _ wait: Duration?, at now: Instant) {
        var openings = 1
        if case .probing(_, let before, _) = state { openings = before + 1 }
        let wait = max(wait ?? .zero, backoff(openings))
        enter(.open(until: now + wait, openings: openings, reason: reason))
    }

    private func backoff(_ openings: Int) -> Duration {
        min(settings.firstWait * (1 << min(openings - 1, 20)), settings.longestWait)
    }

    private mutating func enter(_ next: State) {
        state = next
        era += 1
    }
}
