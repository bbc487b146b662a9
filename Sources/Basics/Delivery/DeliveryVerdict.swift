package import FoundationEssentials

/// The result of sending one message to a provider, which determines the sender's next step.
///
/// The reasons are texts for operators, and never contain an address, a token or a secret.
package enum DeliveryVerdict: Sendable, Equatable {
    /// The provider accepted the message; `reply` is the provider's id or answer.
    case delivered(reply: String)
    /// Retry this message later; nil for the job's own backoff.
    ///
    /// If the provider may have accepted the message, a retry may arrive twice. It carries the same
    /// identifier, by which receivers recognize copies.
    case deferred(reason: String, retryAfter: Duration?)
    /// The address is temporarily unavailable, such as a full mailbox: retry this message later,
    /// and continue with other messages to the provider.
    case addressBusy(reason: String, retryAfter: Duration?)
    /// The provider is unavailable: every message to it waits, without counting an attempt.
    case unavailable(reason: String, retryAfter: Duration?)
    /// The settings are wrong (key, login, TLS, policy): no message passes until an operator fixes
    /// them.
    case misconfigured(reason: String)
    /// The address is permanently invalid: disable it, unless it was registered again after `since`
    /// (nil: in any case).
    case addressGone(reason: String, since: Date?)
    /// The address permanently refused this message, but may be valid: disable it after repeated
    /// bounces.
    case bounced(reason: String)
    /// The provider can never accept this message; other messages to the same address may pass.
    case rejected(reason: String)
}
