package import FoundationEssentials
import ErrandHTTP

/// Sends notices through Firebase Cloud Messaging, one request each (HTTP v1).
package final class FCMClient: Sendable {
    private let settings: FCMSettings
    private let http: HTTPClient
    private let tokens: AccessTokens
    private let now: @Sendable () -> Date
    private let url: String

    /// Creates a client; it connects with the first message.
    ///
    /// - Parameters:
    ///   - settings: the project and its account.
    ///   - now: the clock, replaced in tests.
    package init(_ settings: FCMSettings, now: @escaping @Sendable () -> Date = { Date() }) {
        self.settings = settings
        self.now = now
        http = HTTPClient(
            HTTPSettings(
                authorityFile: settings.authorityFile, connectionsPerHost: settings.connections,
                streamsPerConnection: 1000, http2: .required,
                // The host is Google's, or one from the operator's settings.
                allowsPrivateAddresses: true))
        tokens = AccessTokens(settings, http: http, now: now)
        url = "\(settings.base)/v1/projects/\(settings.project)/messages:send"
    }

    /// Sends one notice and returns its verdict, whose text contains no device token.
    ///
    /// Makes an immediate second attempt if the first was not processed: the connection was
    /// closing, or the access token was refused.
    package func send(_ message: PushMessage) async -> DeliveryVerdict {
        if let fault = message.fault(at: now()) { return fault }
        if let name = message.data.keys.sorted().first(where: Self.isReserved) {
            return .rejected(reason: "data: \"\(ProviderReply.clean(name))\" is FCM's own field")
        }
        let size = message.fcmPayloadSize()
        guard size <= PushMessage.payloadLimit else {
            return .rejected(
                reason: "the payload has \(size) bytes, \(PushMessage.payloadLimit) are allowed")
        }
        do throws(AccessTokens.Refusal) {
            let token = try await tokens.token()
            let first = await attempt(message, token)
            guard case .again(let remedy, _) = first else { return first.verdict }
            switch remedy {
            case .newConnection:
                return await attempt(message, token).verdict
            case .newToken:
                return await attempt(message, try await tokens.token(after: token)).verdict
            }
        } catch {
            return error.verdict
        }
    }

    /// Closes the connections.
    package func close() async { await http.close() }

    private static func isReserved(_ name: String) -> Bool {
        name == "from" || name.hasPrefix("google") || name.hasPrefix("gcm")
    }

    private func attempt(_ message: PushMessage, _ token: AccessTokens.Token) async -> Attempt {
        let asked = now()
        let request = HTTPRequest(
            method: "POST", url: url,
            headers: [
                (name: "authorization", value: "Bearer \(token.text.revealed)"),
                (name: "content-type", value: "application/json"),
            ],
            body: message.fcmBody(at: asked), timeout: settings.requestLimit)
        do throws(HTTPFailure) {
            return FCMAnswer(try await http.send(request), asked: asked, now: now()).attempt
        } catch {
            let verdict = DeliveryVerdict(error, of: "FCM")
            return error.wasNotProcessed
                ? .again(with: .newConnection, otherwise: verdict) : .answered(verdict)
        }
    }
}
