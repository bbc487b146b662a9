import ErrandHTTP

/// Sends e-mail through one server, over a few connections that it keeps open.
package final class SMTPMailer: Sendable {
    private let transports: [SMTPTransport]
    private let desk: ConnectionDesk

    /// Makes a mailer; nothing is connected before the first message.
    ///
    /// - Parameters:
    ///   - settings: the server.
    ///   - connections: messages on their way at once, 1 to 64.
    package init(_ settings: SMTPSettings, connections: Int = 4) {
        let count = min(max(connections, 1), 64)
        transports = (0..<count).map { _ in SMTPTransport(to: settings.endpoint) }
        desk = ConnectionDesk(count: count)
    }

    /// Sends one message and tells what became of it, in words without anybody's address.
    ///
    /// Waits for a free connection. A cancelled task stops waiting and sending, and gets
    /// `.deferred`, unless the message was handed over already: then its answer is awaited.
    package func send(_ message: EmailMessage) async -> DeliveryVerdict {
        let bytes = message.rendered()
        let envelope = SMTPEnvelope(
            sender: message.from.address, recipients: [message.to.address])
        guard let index = await desk.take() else {
            return .deferred(reason: "cancelled before it was sent", retryAfter: nil)
        }
        defer { desk.giveBack(index) }
        do throws(SMTPFailure) {
            let receipt = try await transports[index].send(bytes, envelope: envelope)
            return DeliveryVerdict.delivered(reply: "\(receipt.reply)").withoutAddresses
        } catch {
            return DeliveryVerdict(error).withoutAddresses
        }
    }
}
