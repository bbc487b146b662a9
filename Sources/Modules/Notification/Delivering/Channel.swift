package import ErrandDelivery
package import FoundationEssentials
package import Errand

/// One notice on its way to one device or address.
package struct Outgoing: Sendable {
    /// Where it goes.
    package enum Address: Sendable {
        /// An e-mail address, as the person wrote it.
        case mail(String)
        case device(token: String, topic: String, environment: String)
    }

    package var address: Address
    /// A lowercase UUID, the same for each attempt at this delivery and for no other: `apns-id`.
    package var id: String
    /// The notice's own UUID, the same for all its ways: goes into the Message-ID.
    package var noticeID: String
    /// The number by which the inbox knows the notice.
    package var number: Int64
    package var kind: NoticeKind
    package var words: NoticeTemplates.Words
    /// Where one POST switches such mails off; nil for what cannot be, or has no page for it.
    package var unsubscribe: UnsubscribeLink?
    /// A JSON object.
    package var data: [UInt8]
    /// On a device a later notice of the same kind and subject replaces an earlier one; 32 bytes.
    package var collapseID: String
    package var decidedAt: Date
    package var expiresAt: Date
}

/// Carries notices to one provider.
///
/// It tells of a provider that is down by `.unavailable`, at once while its circuit is open.
package protocol Channel: Sendable {
    func send(_ outgoing: Outgoing) async -> DeliveryVerdict
}

/// A job that makes one delivery.
///
/// It carries its id alone: token, address and consent are read when it is sent.
protocol DeliveryJob: Job {
    var deliveryID: Int64 { get }
}

/// Pushes one notice to one device; in the queue of its provider.
package struct PushDelivery: DeliveryJob {
    package static let kind = "notification.push"
    package static let options = JobOptions(
        queue: Provider.apns, maxAttempts: 12, backoff: Backoff(base: 15, ceiling: 3_600),
        timeout: .seconds(120))
    /// Today's arguments have no token in them; should one ever be added, it is not shown.
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
    /// Today's arguments have no address in them; should one ever be added, it is not shown.
    package static let sensitive: Set<String> = ["address", "email"]

    package var deliveryID: Int64

    package init(deliveryID: Int64) { self.deliveryID = deliveryID }

    enum CodingKeys: String, CodingKey {
        case deliveryID = "delivery_id"
    }
}

/// Carries notices by SMTP.
package struct EmailChannel: Channel {
    private let mailer: SMTPMailer
    private let from: Mailbox

    /// Mail by `mailer`, in the name of `from`.
    package init(mailer: SMTPMailer, from: Mailbox) {
        self.mailer = mailer
        self.from = from
    }

    package func send(_ outgoing: Outgoing) async -> DeliveryVerdict {
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
        // Servers name the links for whose sake they refuse a mail.
        return outgoing.unsubscribe.map { verdict.hiding($0.token) } ?? verdict
    }
}
