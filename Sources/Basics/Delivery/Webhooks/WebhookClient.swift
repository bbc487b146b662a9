package import FoundationEssentials
import ErrandHTTP

/// The settings for sending webhooks.
package struct WebhookSettings: Sendable {
    /// PEM authorities to trust instead of the system's.
    package var authorityFile: String?
    /// Permits endpoints on this machine and in private networks, also without TLS.
    ///
    /// For tests, and if the operator owns every endpoint.
    package var allowsPrivateAddresses = false
    /// The timeout of one attempt.
    package var requestLimit = Duration.seconds(20)

    /// The usual settings.
    package init() {}
}

/// Sends signed events to endpoints (Standard Webhooks 1.0.0).
///
/// Does not follow redirects, and uses only the status and `Retry-After` of the answer.
package final class WebhookClient: Sendable {
    private let settings: WebhookSettings
    private let http: HTTPClient
    private let now: @Sendable () -> Date

    /// The maximum bytes of an answer, which is unused but may be a whole page.
    private static let answerLimit = 1 << 20

    /// Creates a client; it connects with the first message.
    package init(_ settings: WebhookSettings, now: @escaping @Sendable () -> Date = { Date() }) {
        self.settings = settings
        self.now = now
        http = HTTPClient(
            HTTPSettings(
                authorityFile: settings.authorityFile, bodyLimit: Self.answerLimit,
                allowsPrivateAddresses: settings.allowsPrivateAddresses,
                allowsPlainText: settings.allowsPrivateAddresses))
    }

    /// Sends one event and returns its verdict, whose text contains no URL.
    ///
    /// Never returns `.unavailable`, as an endpoint that is down does not affect the others.
    package func send(_ message: WebhookMessage) async -> DeliveryVerdict {
        if let fault = message.fault(allowsPlain: settings.allowsPrivateAddresses) {
            return .rejected(reason: fault)
        }
        let time = now()
        let timestamp = Int(time.timeIntervalSince1970)
        let signature = WebhookSignature.header(
            id: message.id, timestamp: timestamp, body: message.body, secrets: message.secrets)
        let request = HTTPRequest(
            method: "POST", url: message.url.revealed,
            headers: [
                (name: "content-type", value: "application/json"),
                (name: "webhook-id", value: message.id),
                (name: "webhook-timestamp", value: "\(timestamp)"),
                (name: "webhook-signature", value: signature),
            ],
            body: message.body, timeout: settings.requestLimit)
        do throws(HTTPFailure) {
            return Self.verdict(try await http.send(request), now: time)
        } catch {
            return Self.verdict(error)
        }
    }

    /// Closes the connections.
    package func close() async { await http.close() }

    private static func verdict(_ response: HTTPResponse, now: Date) -> DeliveryVerdict {
        let words = "the endpoint answered \(response.status)"
        return switch response.status {
        case 200..<300: .delivered(reply: "\(response.status)")
        case 300..<400: .deferred(reason: "\(words): redirects are not followed", retryAfter: nil)
        case 410: .addressGone(reason: words, since: nil)
        case 413: .rejected(reason: words)
        default:
            .deferred(
                reason: words,
                retryAfter: RetryAfter.wait(response.header("retry-after"), now: now))
        }
    }

    private static func verdict(_ failure: HTTPFailure) -> DeliveryVerdict {
        switch failure.cause {
        case .local: .misconfigured(reason: "\(failure)")
        case .refusedAddress: .rejected(reason: "the endpoint's address is private")
        case .cancelled: .deferred(reason: "cancelled before it was sent", retryAfter: nil)
        case .tooLarge:
            .deferred(reason: "the endpoint's answer is too long", retryAfter: nil)
        case .resolve, .connect, .insecure, .timedOut, .disconnected:
            .deferred(
                reason: failure.isAmbiguous
                    ? "the endpoint gave no answer and may have accepted the message"
                    : "the endpoint cannot be reached (\(failure.cause))",
                retryAfter: nil)
        }
    }
}
