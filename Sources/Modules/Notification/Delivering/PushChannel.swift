package import ErrandDelivery
import FoundationEssentials

/// Carries notices to devices by one of the two services for that.
package struct PushChannel: Channel {
    /// The most bytes of a notice's data as they stand in a push, where 4,096 are for everything.
    ///
    /// What has more is pushed without: the app finds it in the inbox, or asks its server.
    static let dataLimit = 1_000

    private let push: @Sendable (PushMessage) async -> DeliveryVerdict

    /// Pushes to Apple's devices.
    package init(_ client: APNsClient) { push = { await client.send($0) } }

    /// Pushes by Firebase Cloud Messaging.
    package init(_ client: FCMClient) { push = { await client.send($0) } }

    package func send(_ outgoing: Outgoing) async -> DeliveryVerdict {
        guard case .device(let token, let topic, let environment) = outgoing.address else {
            return .rejected(reason: "pushes go to devices only")
        }
        guard let id = UUID(uuidString: outgoing.id) else {
            return .rejected(reason: "the delivery's id is no UUID")
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

    /// For the app: which notice it is, by the number that its inbox knows it by, and its facts.
    ///
    /// The facts are one field, as JSON: FCM takes nothing but texts, and names of their own could
    /// be those of the services.
    private static func data(of outgoing: Outgoing) -> [String: String] {
        var fields = ["kind": outgoing.kind.name, "notice_id": "\(outgoing.number)"]
        let escapes = outgoing.data.count { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }
        if outgoing.data.count + escapes <= dataLimit {
            fields["data"] = String(decoding: outgoing.data, as: UTF8.self)
        }
        return fields
    }
}
