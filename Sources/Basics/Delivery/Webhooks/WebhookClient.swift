package import FoundationEssentials
import ErrandHTTP

/// How webhooks are sent.
package struct WebhookSettings: Sendable {
    /// PEM authorities to trust instead of the system's.
    package var authorityFile: String?
    /// Lets endpoints lie on this machine and in private networks, and go without TLS; for
    /// tests, and where every endpoint is the operator's own.
    package var allowsPrivateAddresses = false
    /// How long one attempt may take in all.
    package var requestLimit = Duration.seconds(20)

    /// The usual settings.
    package init() {}
}

/// Sends signed events to other people's servers (Standard Webhooks 1.0.0).
///
/// Redirects are not followed; of the answer nothing but the status and `Retry-After` counts.
package final class WebhookClient: Sendable {
    private let settings: WebhookSettings
    private let http: HTTPClient
    private let now: @Sendable () -> Date

    /// An answer is read up to here, in bytes; nobody needs it, but some send a whole page.
    private static let answerLimit = 1 << 20

    /// Makes a client; nothing is connected before the first message.
    package init(_ settings: WebhookSettings, now: @escaping @Sendable () -> Date = { Date() }) {
        self.settings = settings
        self.now = now
        http = HTTPClient(
            HTTPSettings(
                authorityFile: settings.authorityFile, bodyLimit: Self.answerLimit,
                allowsPrivateAddresses: settings.allowsPrivateAddresses,
                allowsPlainText: settings.allowsPrivateAddresses))
    }

    /// Sends one event and tells what became of it, in words without the endpoint's URL.
    ///
    /// Never `.unavailable`: an endpoint that is down says nothing about the others.
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

    /// Ends the connections.
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
                    ? "the endpoint gave no answer and may have taken the message"
                    : "the endpoint cannot be reached (\(failure.cause))",
                retryAfter: nil)
        }
    }
}
