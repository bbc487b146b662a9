import FoundationEssentials
import ErrandHTTP

/// The answer of APNs to one request ("Handling notification responses from APNs").
struct APNsAnswer {
    private let status: Int
    private let reason: String
    private let wait: Duration?
    private let goneSince: Date?
    private let apnsID: String?

    private struct Body: Decodable {
        let reason: String?
        /// When the token became invalid, in milliseconds since 1970.
        let timestamp: Double?
    }

    init(_ response: HTTPResponse, now: Date) {
        status = response.status
        wait = RetryAfter.wait(response.header("retry-after"), now: now)
        apnsID = response.header("apns-id")
        let body =
            status == 200
            ? nil : try? JSONDecoder().decode(Body.self, from: Data(response.body))
        reason = ProviderReply.clean(body?.reason ?? "")
        goneSince = body?.timestamp.map { Date(timeIntervalSince1970: $0 / 1000) }
    }

    /// The verdict by the table of Apple's reasons, and by our choice where Apple leaves it open.
    var attempt: Attempt {
        switch (status, reason) {
        case (200, _):
            .answered(.delivered(reply: apnsID ?? "200"))
        case (400, "IdleTimeout"):
            .again(with: .newConnection, otherwise: .unavailable(reason: words, retryAfter: wait))
        case (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic"), (410, _):
            .answered(.addressGone(reason: words, since: goneSince))
        case (403, "ExpiredProviderToken"):
            .again(
                with: .newToken,
                otherwise: .misconfigured(reason: "\(words): check this machine's clock"))
        case (401, _), (403, _), (300..<400, _):
            .answered(.misconfigured(reason: words))
        case (429, "TooManyProviderTokenUpdates"):
            // The connection refuses requests for a while; the token stays valid.
            .answered(.unavailable(reason: words, retryAfter: wait ?? .seconds(300)))
        case (429, _):
            // Too many notices to this device, not in total.
            .answered(.deferred(reason: words, retryAfter: wait))
        case (503, "Shutdown"):
            .again(with: .newConnection, otherwise: .unavailable(reason: words, retryAfter: wait))
        case (500..., _):
            .answered(.unavailable(reason: words, retryAfter: wait))
        default:
            .answered(.rejected(reason: words))
        }
    }

    private var words: String { reason.isEmpty ? "APNs: \(status)" : "APNs: \(status) \(reason)" }
}

/// Sanitizes a provider's text for a log line.
enum ProviderReply {
    /// Returns at most 200 characters on one line, without words of 32 bytes or more, which may be
    /// tokens.
    static func clean(_ text: String) -> String {
        let line = text.unicodeScalars.prefix(200).map {
            $0.properties.generalCategory == .control ? " " : String($0)
        }.joined()
        return line.split(separator: " ")
            .map { $0.utf8.count < 32 ? String($0) : "…" }
            .joined(separator: " ")
    }
}
