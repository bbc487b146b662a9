package import ErrandCrypto
import FoundationEssentials

/// The secret of one endpoint: 24 to 64 random bytes, shown to its owner as `whsec_` and base64
/// (Standard Webhooks 1.0.0).
///
/// Never printed.
package struct WebhookSecret: Sendable, Equatable {
    private static let sizes = 24...64
    private static let prefix = "whsec_"

    let key: SecretBytes

    /// Creates a secret from bytes; nil if they are too few or too many.
    package init?(_ key: SecretBytes) {
        guard Self.sizes.contains(key.count) else { return nil }
        self.key = key
    }

    /// Returns the text form, shown once to its owner.
    package static func text(of key: SecretBytes) -> String {
        prefix + Data(key.reveal()).base64EncodedString()
    }

    /// Parses the text form; nil if it is invalid.
    package init?(_ text: String) {
        guard text.hasPrefix(Self.prefix),
            let bytes = Data(base64Encoded: String(text.dropFirst(Self.prefix.count))),
            Self.sizes.contains(bytes.count)
        else { return nil }
        key = SecretBytes(Array(bytes))
    }
}

/// The header `webhook-signature` (Standard Webhooks 1.0.0).
package enum WebhookSignature {
    /// Returns one entry `v1,…` for each secret, so that a receiver may use the old or the new one.
    ///
    /// - Parameters:
    ///   - id: the id of the event; the same for each attempt.
    ///   - timestamp: the time of this attempt, in seconds since 1970.
    ///   - body: the exact bytes of the request's body.
    ///   - secrets: one secret, or two during a rotation.
    package static func header(
        id: String, timestamp: Int, body: [UInt8], secrets: [WebhookSecret]
    ) -> String {
        let signed = Array("\(id).\(timestamp).".utf8) + body
        return secrets.map { secret in
            let code = HMACSHA256.code(of: signed, key: secret.key)
            return "v1,\(Data(code).base64EncodedString())"
        }.joined(separator: " ")
    }
}
