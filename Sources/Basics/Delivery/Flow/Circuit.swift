/// Whether a provider is worth asking: closed while it answers, open while it takes nothing.
///
/// After a run of failures, or one that concerns everything, it opens; when the wait is over one
/// message goes ahead as a probe, whose verdict closes it or opens it for longer.
package struct Circuit: Sendable, Equatable {
    /// A point in time that no clock change moves.
    package typealias Instant = ContinuousClock.Instant

    /// How soon it opens, and for how long.
    package struct Settings: Sendable, Equatable {
        /// Failures in a row that open it.
        package var failures = 5
        /// Of the first opening; each failed probe doubles it.
        package var firstWait = Duration.seconds(10)
        /// What doubling ends at; a provider's own `Retry-After` may ask for more.
        package var longestWait = Duration.seconds(900)
        /// A probe without a verdict by then is given up, and another goes ahead.
        package var probeLimit = Duration.seconds(60)

        /// The usual settings.
        package init() {}
    }

    /// What a message is told that wants to be sent.
    package enum Admission: Sendable, Equatable {
        /// Go; the ticket comes back with the verdict.
        case pass(Ticket)
        /// Nothing goes now; ask again then.
        case wait(Duration)
    }

    /// Which state of the circuit let a message go.
    package struct Ticket: Sendable, Equatable {
        fileprivate let era: Int
    }

    /// What an operator is shown.
    package enum Standing: Sendable, Equatable {
        case closed
        case open(until: Instant, reason: String)
        case probing(reason: String)
    }

    private enum State: Equatable {
        case closed(failures: Int, unclear: Int)
        case open(until: Instant, openings: Int, reason: String)
        case probing(since: Instant, openings: Int, reason: String)
    }

    /// Verdicts about single messages in a row that open it like failures of all.
    ///
    /// When nothing but time-outs comes back, nothing goes through either. Many times the other
    /// limit, for a row of bad luck is no breakdown.
    private var unclearLimit: Int { settings.failures * 4 }
    /// While a probe is on its way, the others ask again after this.
    private static let probing = Duration.seconds(1)

    private let settings: Settings
    private var state = State.closed(failures: 0, unclear: 0)
    /// Counts changes of state, so that verdicts on what was let go before are left aside.
    private var era = 0

    /// A closed circuit.
    package init(_ settings: Settings = Settings()) {
        self.settings = settings
    }

    /// How long a message would have to wait; nil when it may go.
    package func wait(at now: Instant) -> Duration? {
        switch state {
        case .closed: nil
        case .open(let until, _, _): now < until ? until - now : nil
        case .probing(let since, _, _):
            now - since < settings.probeLimit ? Self.probing : nil
        }
    }

    /// Lets a message go, or tells it when to ask again.
    package mutating func admit(at now: Instant) -> Admission {
        if let wait = wait(at: now) { return .wait(wait) }
        switch state {
        case .closed: break
        case .open(_, let openings, let reason), .probing(_, let openings, let reason):
            enter(.probing(since: now, openings: openings, reason: reason))
        }
        return .pass(Ticket(era: era))
    }

    /// Learns what became of a message that it let go.
    package mutating func record(_ verdict: DeliveryVerdict, _ ticket: Ticket, at now: Instant) {
        guard ticket.era == era else { return }
        switch verdict {
        case .delivered, .addressBusy, .addressGone, .bounced, .rejected: works()
        case .deferred(let reason, _): isUnclear(reason, at: now)
        case .unavailable(let reason, let wait): fails(reason, wait, at: now)
        case .misconfigured(let reason): open(reason, nil, at: now)
        }
    }

    /// How it stands.
    package var standing: Standing {
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

    /// A provider that says how long it takes nothing is believed at once.
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
