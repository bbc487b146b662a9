import ErrandHTTP

extension DeliveryVerdict {
    /// Creates the verdict on a request to a provider without an answer.
    ///
    /// If the provider may have accepted the message, the verdict concerns only this message;
    /// otherwise it concerns the provider.
    init(_ failure: HTTPFailure, of provider: String) {
        if failure.isAmbiguous {
            self = .deferred(
                reason: "\(failure); \(provider) may have accepted the message", retryAfter: nil)
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
    /// Whether the connection ended before the provider processed the request: GOAWAY, a refused
    /// stream.
    var wasNotProcessed: Bool { cause == .disconnected && !isAmbiguous }
}

/// The result of one attempt.
enum Attempt: Sendable {
    case answered(DeliveryVerdict)
    /// An immediate second attempt may succeed; otherwise the verdict applies.
    case again(with: Remedy, otherwise: DeliveryVerdict)

    enum Remedy: Sendable {
        case newToken
        case newConnection
    }

    /// The verdict if there is no further attempt.
    var verdict: DeliveryVerdict {
        switch self {
        case .answered(let verdict), .again(_, let verdict): verdict
        }
    }
}
