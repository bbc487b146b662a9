/// Detects a provider that suddenly reports most addresses as invalid.
///
/// APNs and FCM report a wrong environment, app or project like invalid tokens. Each such answer
/// disables a device. So if most recent answers are of that kind, the detector assumes wrong
/// settings until an operator has checked them.
package struct LossDetector: Sendable, Equatable {
    private let window: Int
    private let least: Int
    /// The last answers, as a ring: whether each reported an address as invalid without a date.
    private var recent: [Bool] = []
    private var next = 0
    private var lost = 0

    /// Creates a detector without answers.
    ///
    /// - Parameters:
    ///   - window: the number of recent answers it considers.
    ///   - least: the minimum number of invalid addresses among them; they must also be the
    ///     majority.
    package init(window: Int = 100, least: Int = 20) {
        precondition(least > 0 && window >= least)
        self.window = window
        self.least = least
    }

    /// Returns the verdict to act on: the same, or `.misconfigured`.
    ///
    /// Trusts an answer that gives the date since when the address is invalid.
    package mutating func judge(_ verdict: DeliveryVerdict) -> DeliveryVerdict {
        switch verdict {
        case .delivered, .addressGone(_, since: .some): note(false)
        case .addressGone(let reason, since: nil):
            note(true)
            guard lost >= least, lost * 2 > recent.count else { return verdict }
            return .misconfigured(
                reason: "\(reason), as for \(lost) of the last \(recent.count) addresses: "
                    + "check the app, its environment and the project before they are disabled")
        case .deferred, .addressBusy, .unavailable, .misconfigured, .bounced, .rejected: break
        }
        return verdict
    }

    private mutating func note(_ isLost: Bool) {
        if recent.count < window {
            recent.append(isLost)
        } else {
            if recent[next] { lost -= 1 }
            recent[next] = isLost
            next = (next + 1) % window
        }
        if isLost { lost += 1 }
    }
}
