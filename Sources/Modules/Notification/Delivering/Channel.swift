package import ErrandDelivery
package import FoundationEssentials
package import Errand

/// One notice for one device or address.
package struct OutboundMessage: Sendable {
    /// The destination.
    package enum Address: Sendable {
        /// An e-mail address as the person entered it.
        case mail(String)
        case device(token: String, topic: String, environment: String)
    }

    package var address: Address
    /// The lowercase UUID of the delivery, the same for each attempt: the `apns-id`.
    package var id: String
    /// The UUID of the notice, the same for all its deliveries: part of the Message-ID.
    package var noticeID: String
    /// The id of the notice in the inbox.
    package var number: Int64
    package var kind: NoticeKind
    /// What the notice is about, such as `vote:12`.
    package var subject: String
    package var words: NoticeTemplates.Rendered
    /// The one-click unsubscribe link; nil for urgent kinds, or without a page.
    package var unsubscribe: UnsubscribeLink?
    /// A JSON object, without the secret facts.
    package var data: [UInt8]
    /// The collapse key, 32 bytes: on a device, a notice replaces an earlier one with the same key.
    package var collapseID: String
    package var decidedAt: Date
    package var expiresAt: Date
}

/// Sends notices to one provider.
///
/// Returns `.unavailable` if the provider is down, immediately while its circuit is open.
package protocol Channel: Sendable {
    func send(_ outgoing: OutboundMessage) async -> DeliveryVerdict
}

/// A job that makes one delivery.
///
/// Its arguments hold only the id; token, address and consent are read when it runs.
protocol DeliveryJob: Job {
    var deliveryID: Int64 { get }
}

/// Pushes one notice to one device, in the queue of the provider.
package struct PushDelivery: DeliveryJob {
    package static let kind = "notification.push"
    package static let options = JobOptions(
        queue: Provider.apns, maxAttempts: 12, backoff: Backoff(base: 15, ceiling: 3_600),
        timeout: .seconds(120))
    /// The arguments contain no token; this hides one if it is ever added.
    package static let sensitive: Set<String> = ["token"]

    package var deliveryID: Int64

    package init(deliveryID: Int64) { self.deliveryID = deliveryID }

    enum CodingKeys: String, CodingKey {
        case deliveryID = "delivery_id"
    }
}

/// Sends one notice by e-mail.
package struct EmailDelivery: DeliveryJob {
    package static let kind = "notification.email"
    package static let options = JobOptions(
        queue: Provider.mail, maxAttempts: 12, backoff: Backoff(base: 30, ceiling: 3_600),
        timeout: .seconds(120))
    /// The arguments contain no address; this hides one if it is ever added.
    package static let sensitive: Set<String> = ["address", "email"]

    package var deliveryID: Int64

    package init(deliveryID: Int64) { self.deliveryID = deliveryID }

    enum CodingKeys: String, CodingKey {
        case deliveryID = "delivery_id"
    }
}

/// Sends notices by SMTP.
package struct EmailChannel: Channel {
    private let mailer: SMTPMailer
    private let from: Mailbox

    /// Creates a channel that sends through `mailer` with the sender `from`.
    package init(mailer: SMTPMailer, from: Mailbox) {
        self.mailer = mailer
        self.from = from
    }

    package func send(_ outgoing: OutboundMessage) async -> DeliveryVerdict {
        guard case .mail(let address) = outgoing.address else {
            return .rejected(reason: "mail goes to e-mail addresses only")
        }
        guard let mailbox = try? Mailbox(address) else {
            return .addressGone(reason: "the address is malformed", since: nil)
        }
        let domain = from.address.split(separator: "@").last ?? "localhost"
        let message: EmailMessage
        do {
            message = try EmailMessage(
                from: from, to: mailbox, subject: outgoing.words.title, text: outgoing.words.text,
                html: outgoing.words.html, messageID: "<\(outgoing.noticeID)@\(domain)>",
                date: outgoing.decidedAt, unsubscribeURL: outgoing.unsubscribe?.url)
        } catch {
            return .rejected(reason: "\(error)")
        }
        let verdict = await mailer.send(message)
        // Servers may quote the links in a mail that they refuse.
        return outgoing.unsubscribe.map { verdict.hiding($0.token) } ?? verdict
    }
}
