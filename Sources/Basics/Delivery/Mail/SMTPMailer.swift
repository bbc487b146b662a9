import ErrandHTTP

/// Sends e-mail through one server, over a few persistent connections.
package final class SMTPMailer: Sendable {
    private let transports: [SMTPTransport]
    private let pool: ConnectionPool

    /// Creates a mailer; it connects with the first message.
    ///
    /// - Parameters:
    ///   - settings: the server.
    ///   - connections: the maximum number of concurrent messages, 1 to 64.
    package init(_ settings: SMTPSettings, connections: Int = 4) {
        let count = min(max(connections, 1), 64)
        transports = (0..<count).map { _ in SMTPTransport(to: settings.endpoint) }
        pool = ConnectionPool(count: count)
    }

    /// Sends one message and returns its verdict, whose text contains no address.
    ///
    /// Waits for a free connection. A cancelled task stops waiting and sending, and returns
    /// `.deferred`, unless the message was already transferred: then it awaits the answer.
    package func send(_ message: EmailMessage) async -> DeliveryVerdict {
        let bytes = message.rendered()
        let envelope = SMTPEnvelope(
            sender: message.from.address, recipients: [message.to.address])
        guard let index = await pool.take() else {
            return .deferred(reason: "cancelled before it was sent", retryAfter: nil)
        }
        defer { pool.release(index) }
        do throws(SMTPFailure) {
            let receipt = try await transports[index].send(bytes, envelope: envelope)
            return DeliveryVerdict.delivered(reply: "\(receipt.reply)").withoutAddresses
        } catch {
            return DeliveryVerdict(error).withoutAddresses
        }
    }
}
