package import ErrandCrypto
import FoundationEssentials

/// The secret of one endpoint: 24 to 64 random bytes, shown to its owner as `whsec_` and base64
/// (Standard Webhooks 1.0.0).
///
/// Nothing prints it.
package struct WebhookSecret: Sendable, Equatable {
    private static let sizes = 24...64
    private static let prefix = "whsec_"

    let key: SecretBytes

    /// A secret of these bytes; nil when they are too few or too many.
    package init?(_ key: SecretBytes) {
        guard Self.sizes.contains(key.count) else { return nil }
        self.key = key
    }

    /// The form that its owner sees, once.
    package static func text(of key: SecretBytes) -> String {
        prefix + Data(key.reveal()).base64EncodedString()
    }

    /// Reads the form that its owner sees; nil when it is not one.
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
    /// One entry `v1,…` for each secret, so that a receiver may know the old or the new one.
    ///
    /// - Parameters:
    ///   - id: of the event; the same for each attempt.
    ///   - timestamp: of this attempt, in seconds since 1970.
    ///   - body: exactly as it travels.
    ///   - secrets: one, or two while the endpoint changes it.
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
