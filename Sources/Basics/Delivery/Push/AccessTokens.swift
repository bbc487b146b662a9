import ErrandJSONText
import ErrandCrypto
import FoundationEssentials
import ErrandHTTP
import Synchronization

/// The access token for FCM: fetched once for all waiting requests, and renewed five minutes before
/// it expires (OAuth 2.0 for service accounts, RFC 7523).
final class AccessTokens: Sendable {
    struct Token: Sendable, Equatable {
        let text: Secret
        let endsAt: Date
    }

    /// The reason why there is no token, as the verdict on the message that needed it.
    struct Refusal: Error {
        let verdict: DeliveryVerdict
    }

    private struct State {
        var token: Token?
        var fetch: Task<Result<Token, Refusal>, Never>?
    }

    private static let early: TimeInterval = 300
    private static let scope = "https://www.googleapis.com/auth/firebase.messaging"

    private let settings: FCMSettings
    private let http: HTTPClient
    private let now: @Sendable () -> Date
    private let state = Mutex(State())

    init(_ settings: FCMSettings, http: HTTPClient, now: @escaping @Sendable () -> Date) {
        self.settings = settings
        self.http = http
        self.now = now
    }

    private enum Found {
        case token(Token)
        /// The token is being fetched; the old one may be used until then.
        case fetch(Task<Result<Token, Refusal>, Never>, old: Token?)
    }

    /// Returns a token other than the refused one that does not expire soon.
    func token(after refused: Token? = nil) async throws(Refusal) -> Token {
        switch find(after: refused, at: now()) {
        case .token(let token): return token
        case .fetch(let fetch, let old):
            switch await fetch.value {
            case .success(let token): return token
            case .failure(let refusal):
                // A token that expires soon is still usable if there is no other.
                if let old, old != refused, old.endsAt > now() { return old }
                throw refusal
            }
        }
    }

    private func find(after refused: Token?, at now: Date) -> Found {
        state.withLock { state in
            if let token = state.token, token != refused,
                token.endsAt.timeIntervalSince(now) > Self.early
            {
                return .token(token)
            }
            // Unstructured: others need the token even if the first caller is cancelled.
            let fetch = state.fetch ?? Task { await self.fetch() }
            state.fetch = fetch
            return .fetch(fetch, old: state.token)
        }
    }

    private func fetch() async -> Result<Token, Refusal> {
        let result: Result<Token, Refusal>
        do throws(Refusal) {
            result = .success(try await ask())
        } catch {
            result = .failure(error)
        }
        state.withLock { state in
            if case .success(let token) = result { state.token = token }
            state.fetch = nil
        }
        return result
    }

    private struct Answer: Decodable {
        let access_token: String
        let expires_in: Double
    }

    private struct Fault: Decodable {
        let error: String
    }

    private func ask() async throws(Refusal) -> Token {
        let time = now()
        let form =
            "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
            + (try assertion(at: time))
        let request = HTTPRequest(
            method: "POST", url: settings.tokenURL,
            headers: [(name: "content-type", value: "application/x-www-form-urlencoded")],
            body: Array(form.utf8), timeout: settings.requestLimit)
        let response: HTTPResponse
        do throws(HTTPFailure) {
            response = try await http.send(request)
        } catch {
            // The message itself was not sent, whether or not this request was.
            let words = "access token: \(error)"
            let isOurs = [.insecure, .local, .refusedAddress].contains(error.cause)
            throw Refusal(
                verdict: isOurs
                    ? .misconfigured(reason: words) : .unavailable(reason: words, retryAfter: nil))
        }
        let body = Data(response.body)
        guard response.status == 200 else {
            let fault = (try? JSONDecoder().decode(Fault.self, from: body))?.error ?? ""
            let words = "access token: \(response.status) \(ProviderReply.clean(fault))"
            throw Refusal(
                verdict: response.status == 429 || response.status >= 500
                    ? .unavailable(
                        reason: words,
                        retryAfter: RetryAfter.wait(response.header("retry-after"), now: time))
                    : .misconfigured(reason: words))
        }
        guard let answer = try? JSONDecoder().decode(Answer.self, from: body),
            answer.access_token.isOneLine, answer.expires_in > 0
        else {
            throw Refusal(
                verdict: .unavailable(
                    reason: "access token: an answer without access_token", retryAfter: nil))
        }
        return Token(
            text: Secret(answer.access_token), endsAt: time.addingTimeInterval(answer.expires_in))
    }

    private func assertion(at now: Date) throws(Refusal) -> String {
        let header: JSONValue = [
            "alg": .text("RS256"), "typ": .text("JWT"), "kid": .text(settings.keyID),
        ]
        let seconds = Int(now.timeIntervalSince1970)
        let claims: JSONValue = [
            "iss": .text(settings.account), "scope": .text(Self.scope),
            "aud": .text(settings.tokenURL), "iat": .int(seconds), "exp": .int(seconds + 3600),
        ]
        do {
            return try settings.signer.token(
                header: header.serialized, claims: claims.serialized)
        } catch {
            throw Refusal(verdict: .misconfigured(reason: "access token: \(error)"))
        }
    }
}
