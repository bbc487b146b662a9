package import ErrandDelivery
import FoundationEssentials

/// Sends notices to devices through APNs or FCM.
package struct PushChannel: Channel {
    /// The maximum bytes of a notice's data in a push, of the 4,096 for the whole payload.
    ///
    /// Larger data are left out: the app reads them from the inbox or from its server.
    static let dataLimit = 1_000

    /// The maximum bytes of a subject, which count against those of the data.
    static let subjectLimit = 200

    private let push: @Sendable (PushMessage) async -> DeliveryVerdict

    /// Creates a channel for APNs.
    package init(_ client: APNsClient) { push = { await client.send($0) } }

    /// Creates a channel for Firebase Cloud Messaging.
    package init(_ client: FCMClient) { push = { await client.send($0) } }

    package func send(_ outgoing: OutboundMessage) async -> DeliveryVerdict {
        guard case .device(let token, let topic, let environment) = outgoing.address else {
            return .rejected(reason: "pushes go to devices only")
        }
        guard let id = UUID(uuidString: outgoing.id) else {
            return .rejected(reason: "the delivery's id is not a UUID")
        }
        var message = PushMessage(
            id: id, token: token, app: topic,
            environment: environment == "production" ? .production : .sandbox)
        message.title = outgoing.words.title
        message.body = outgoing.words.text
        message.data = Self.data(of: outgoing)
        message.collapseKey = outgoing.collapseID
        message.priority = outgoing.kind.urgency == .promotional ? .normal : .high
        message.expiresAt = outgoing.expiresAt
        message.threadID = outgoing.kind.name
        return await push(message)
    }

    /// Returns the number of bytes in a JSON text.
    private static func size(_ bytes: some Sequence<UInt8>) -> Int {
        bytes.reduce(0) {
            $0 + ($1 == UInt8(ascii: "\"") || $1 == UInt8(ascii: "\\") ? 2 : 1)
        }
    }

    /// Returns the data for the app: the kind, the subject, the notice's id in the inbox, and the
    /// facts.
    ///
    /// The facts are one field of JSON: FCM accepts only texts, and separate fields could collide
    /// with reserved names.
    private static func data(of outgoing: OutboundMessage) -> [String: String] {
        var fields = ["kind": outgoing.kind.name, "notice_id": "\(outgoing.number)"]
        var limit = dataLimit
        let subject = size(outgoing.subject.utf8)
        if subject <= subjectLimit {
            fields["subject"] = outgoing.subject
            limit -= subject
        }
        if size(outgoing.data) <= limit {
            fields["data"] = String(decoding: outgoing.data, as: UTF8.self)
        }
        return fields
    }
}
