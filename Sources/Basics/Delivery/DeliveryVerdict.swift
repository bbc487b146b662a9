package import FoundationEssentials

/// What became of one message handed to a provider, told so that the sender knows its next step.
///
/// The reasons are in words for an operator, and never hold an address, a token or a secret.
package enum DeliveryVerdict: Sendable, Equatable {
    /// The provider took responsibility for it; `reply` is the provider's id or words.
    case delivered(reply: String)
    /// This message again later; nil leaves the wait to the job's own backoff.
    ///
    /// When the reason says that the message may have been taken, a retry may arrive twice: it
    /// carries the same identifier, by which receivers can tell.
    case deferred(reason: String, retryAfter: Duration?)
    /// The address takes nothing now, as when its mailbox is full: this message again later, while
    /// others to the same provider go on.
    case addressBusy(reason: String, retryAfter: Duration?)
    /// The provider as a whole takes nothing now: every message to it waits, and none is to blame.
    case unavailable(reason: String, retryAfter: Duration?)
    /// Our own fault (key, login, TLS, policy): nothing goes through until an operator mends it.
    case misconfigured(reason: String)
    /// The address takes nothing any more: disable it, unless it was registered again after
    /// `since` (nil: whenever it was registered).
    case addressGone(reason: String, since: Date?)
    /// The address refused this message for good, without saying that it is dead: disable it when
    /// that happens again and again.
    case bounced(reason: String)
    /// This message can never be taken; others to the same address can.
    case rejected(reason: String)
}
