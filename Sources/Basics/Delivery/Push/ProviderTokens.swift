import ErrandJSONText
import ErrandCrypto
import FoundationEssentials
import Synchronization

/// The team's token for APNs: created once, shared by all requests, and renewed in time.
///
/// Apple refuses tokens older than an hour, and senders that create them more often than every 20
/// minutes ("Establishing a token-based connection to APNs").
final class ProviderTokens: Sendable {
    struct Token: Sendable, Equatable {
        let text: Secret
        let madeAt: Date
    }

    static let youngest: TimeInterval = 20 * 60
    /// Between 45 and 50 minutes, so that many processes do not renew in the same second.
    private let oldest: TimeInterval

    private let signer: TokenSigner
    private let keyID: String
    private let teamID: String
    private let current = Mutex<Token?>(nil)

    init(
        signer: TokenSigner, keyID: String, teamID: String,
        oldest: TimeInterval = .random(in: 2700...3000)
    ) {
        self.signer = signer
        self.keyID = keyID
        self.teamID = teamID
        self.oldest = oldest
    }

    /// Returns the current token; renews it if it is too old or its date is in the future.
    func token(at now: Date) throws(CryptoError) -> Token {
        try current.withLock { current throws(CryptoError) in
            if let current, (0..<oldest).contains(now.timeIntervalSince(current.madeAt)) {
                return current
            }
            let token = try make(at: now)
            current = token
            return token
        }
    }

    /// Returns a token other than one refused as expired; nil while Apple permits no new one.
    func token(after refused: Token, at now: Date) throws(CryptoError) -> Token? {
        try current.withLock { current throws(CryptoError) in
            if let current, current != refused { return current }
            guard now.timeIntervalSince(refused.madeAt) >= Self.youngest else { return nil }
            let token = try make(at: now)
            current = token
            return token
        }
    }

    private func make(at now: Date) throws(CryptoError) -> Token {
        let header: JSONValue = ["alg": .text("ES256"), "kid": .text(keyID)]
        let claims: JSONValue = [
            "iss": .text(teamID), "iat": .int(Int(now.timeIntervalSince1970)),
        ]
        let token = try signer.token(header: header.serialized, claims: claims.serialized)
        return Token(text: Secret(token), madeAt: now)
    }
}
