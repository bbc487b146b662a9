package import FoundationEssentials
import ErrandHTTP

/// Sends notices through APNs, over a few multiplexed connections.
package final class APNsClient: Sendable {
    private let settings: APNsSettings
    private let http: HTTPClient
    private let tokens: ProviderTokens
    private let now: @Sendable () -> Date

    /// Creates a client; it connects with the first message.
    ///
    /// - Parameters:
    ///   - settings: the team's account.
    ///   - now: the clock, replaced in tests.
    package init(_ settings: APNsSettings, now: @escaping @Sendable () -> Date = { Date() }) {
        self.settings = settings
        self.now = now
        http = HTTPClient(
            HTTPSettings(
                authorityFile: settings.authorityFile, connectionsPerHost: settings.connections,
                streamsPerConnection: 1000, http2: .required,
                // The host is Apple's, or one from the operator's settings.
                allowsPrivateAddresses: true))
        tokens = ProviderTokens(
            signer: settings.signer, keyID: settings.keyID, teamID: settings.teamID)
    }

    /// Sends one notice and returns its verdict, whose text contains no device token.
    ///
    /// Makes an immediate second attempt, with the same `apns-id`, if the first was not processed:
    /// the connection was closing, or the token had expired.
    package func send(_ message: PushMessage) async -> DeliveryVerdict {
        if let fault = message.fault(at: now()) { return fault }
        guard message.app.isOneLine, (1...255).contains(message.app.utf8.count) else {
            return .rejected(reason: "app: expected a bundle identifier")
        }
        guard message.data["aps"] == nil else {
            return .rejected(reason: "data: \"aps\" is Apple's own field")
        }
        let payload = message.apnsPayload()
        guard payload.count <= PushMessage.payloadLimit else {
            return .rejected(
                reason: "the payload has \(payload.count) bytes, "
                    + "\(PushMessage.payloadLimit) are allowed")
        }
        do {
            let token = try tokens.token(at: now())
            let first = await attempt(message, payload, token)
            guard case .again(let remedy, let otherwise) = first else { return first.verdict }
            switch remedy {
            case .newConnection:
                return await attempt(message, payload, token).verdict
            case .newToken:
                guard let other = try tokens.token(after: token, at: now()) else {
                    return otherwise
                }
                return await attempt(message, payload, other).verdict
            }
        } catch {
            return .misconfigured(reason: "APNs token: \(error)")
        }
    }

    /// Closes the connections.
    package func close() async { await http.close() }

    private func attempt(
        _ message: PushMessage, _ payload: [UInt8], _ token: ProviderTokens.Token
    ) async -> Attempt {
        let request = HTTPRequest(
            method: "POST",
            url: "\(settings.base(for: message.environment))/3/device/\(message.token.revealed)",
            headers: headers(message, token), body: payload, timeout: settings.requestLimit)
        do throws(HTTPFailure) {
            return APNsAnswer(try await http.send(request), now: now()).attempt
        } catch {
            let verdict = DeliveryVerdict(error, of: "APNs")
            return error.wasNotProcessed
                ? .again(with: .newConnection, otherwise: verdict) : .answered(verdict)
        }
    }

    private func headers(
        _ message: PushMessage, _ token: ProviderTokens.Token
    ) -> [(name: String, value: String)] {
        let priority = message.priority == .high && !message.isSilent ? "10" : "5"
        var headers = [
            (name: "authorization", value: "bearer \(token.text.revealed)"),
            (name: "apns-id", value: message.idText),
            (name: "apns-topic", value: message.app),
            (name: "apns-push-type", value: message.isSilent ? "background" : "alert"),
            (name: "apns-priority", value: priority),
            (name: "apns-collapse-id", value: message.collapseText),
        ]
        if let expiresAt = message.expiresAt {
            let seconds = Int(expiresAt.timeIntervalSince1970)
            headers.append((name: "apns-expiration", value: "\(seconds)"))
        }
        return headers
    }
}
