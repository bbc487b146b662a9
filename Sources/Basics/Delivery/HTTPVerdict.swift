import ErrandHTTP

extension DeliveryVerdict {
    /// Judges a request to a provider that got no answer.
    ///
    /// What may have been taken is about this message alone, whatever broke; everything else is
    /// about the provider.
    init(_ failure: HTTPFailure, of provider: String) {
        if failure.isAmbiguous {
            self = .deferred(
                reason: "\(failure); \(provider) may have taken the message", retryAfter: nil)
            return
        }
        switch failure.cause {
        case .resolve, .connect, .disconnected, .timedOut, .tooLarge:
            self = .unavailable(reason: "\(failure)", retryAfter: nil)
        case .cancelled:
            self = .deferred(reason: "cancelled before it was sent", retryAfter: nil)
        case .insecure, .refusedAddress, .local:
            self = .misconfigured(reason: "\(failure)")
        }
    }
}

extension HTTPFailure {
    /// The connection ended before the provider looked at the request: GOAWAY, a refused stream.
    var wasNotLookedAt: Bool { cause == .disconnected && !isAmbiguous }
}

/// What one attempt came to.
enum Attempt: Sendable {
    case answered(DeliveryVerdict)
    /// Another attempt at once may go through; otherwise the verdict stands.
    case again(with: Remedy, otherwise: DeliveryVerdict)

    enum Remedy: Sendable {
        case newToken
        case newConnection
    }

    /// What stands when there is no further attempt.
    var verdict: DeliveryVerdict {
        switch self {
        case .answered(let verdict), .again(_, let verdict): verdict
        }
    }
}
