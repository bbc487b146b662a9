import ErrandDelivery
import Foundation
import ErrandTestServices

extension MailSink {
    func mailer(
        _ parameters: String = "?starttls=never", scheme: String = "smtp", user: String = "",
        connections: Int = 4, transferLimit: Duration = .seconds(60)
    ) throws -> SMTPMailer {
        let url = url(parameters, scheme: scheme, user: user)
        return SMTPMailer(
            try SMTPSettings(url: url, transferLimit: transferLimit), connections: connections)
    }
}

/// A certificate and the authority that signed it, made anew.
struct Certificate {
    let folder: URL

    init(for names: String...) async throws {
        folder = try temporaryFolder()
        let script = Checkout.simulators.appending(path: "servers/make_cert.sh").path
        _ = try await output(of: [script, folder.path] + names)
    }

    var authority: String { folder.appending(path: "ca.pem").path }

    var options: [String] {
        [
            "--cert", folder.appending(path: "cert.pem").path,
            "--key", folder.appending(path: "key.pem").path,
        ]
    }

    func remove() { try? FileManager.default.removeItem(at: folder) }
}

/// A plain message; each has its own identifier.
func message(
    from: String = "news@errand.example", to: String = "someone@example.org",
    subject: String = "A coupon near you", text: String = "Show it at the till.\n",
    html: String? = nil, unsubscribeURL: String? = nil, headers: [EmailMessage.Header] = []
) throws -> EmailMessage {
    try EmailMessage(
        from: Mailbox(from), to: Mailbox(to), subject: subject, text: text, html: html,
        messageID: "<\(UUID().uuidString)@errand.example>",
        date: Date(timeIntervalSince1970: 1_795_212_000), unsubscribeURL: unsubscribeURL,
        headers: headers)
}

extension DeliveryVerdict {
    var reason: String {
        switch self {
        case .delivered(let reply): reply
        case .deferred(let reason, _), .addressBusy(let reason, _), .unavailable(let reason, _),
            .misconfigured(let reason), .addressGone(let reason, _), .bounced(let reason),
            .rejected(let reason):
            reason
        }
    }
}
