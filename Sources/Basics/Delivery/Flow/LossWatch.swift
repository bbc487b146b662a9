/// Doubts a provider that suddenly calls most addresses dead.
///
/// A wrong environment, app or project looks the same as dead tokens, to APNs and FCM alike. One
/// such answer costs a device, and thousands of them would cost all: so when most of the last
/// answers are of that kind, the fault is taken to be ours until an operator has looked.
package struct LossWatch: Sendable, Equatable {
    private let window: Int
    private let least: Int
    /// The last answers, as a ring: whether each called an address dead without saying since when.
    private var recent: [Bool] = []
    private var next = 0
    private var lost = 0

    /// A watch that has seen nothing.
    ///
    /// - Parameters:
    ///   - window: how many answers it looks back on.
    ///   - least: addresses called dead among them, before it doubts; more than half it needs
    ///     anyway.
    package init(window: Int = 100, least: Int = 20) {
        precondition(least > 0 && window >= least)
        self.window = window
        self.least = least
    }

    /// The verdict to act on: the same, or that we are at fault.
    ///
    /// An address that was seen dead at a certain time is not doubted.
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
