/// What became of one e-mail, told so that the sender knows its next step.
package enum EmailVerdict: Sendable, Equatable {
    /// The server took responsibility for it.
    case delivered(reply: String)
    /// Try again: a 4yz reply, or the connection failed.
    ///
    /// When the reason says that the message may have been taken, a retry may arrive twice; the
    /// same `Message-ID` lets receivers tell. `retryAfter` is nil when the sender's own backoff
    /// does.
    case deferred(reason: String, retryAfter: Duration?)
    /// Never try this again. `addressIsBad` tells that the address takes no mail at all, so that
    /// nothing should be sent there any more.
    case rejected(reason: String, addressIsBad: Bool)
    /// Our own fault (login, TLS, policy): it will go through once an operator has mended it.
    case misconfigured(reason: String)
}
