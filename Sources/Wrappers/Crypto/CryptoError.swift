import CErrandCrypto

/// Why something could not be signed, sealed or read; never holds any part of a key.
package enum CryptoError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What was given is no PEM text with a private key in it.
    case notPEM
    /// The key is locked with a passphrase.
    case encryptedKey
    /// The PEM text is that of something else, such as a certificate or a public key.
    case notPrivateKey(found: String)
    /// A private key, but not of the kind that the algorithm takes.
    case wrongKey(expected: String, found: String)
    /// What was sealed was changed, cut, or sealed in another context.
    case damaged
    /// Sealed with a key that is not among those given.
    case unknownKey(id: String)
    /// A key for sealing that has another length than 32 bytes, or a name that cannot be kept.
    case badSealingKey(String)
    /// OpenSSL failed; where, and its own code.
    case library(String)

    /// What a person can do about it.
    package var description: String {
        switch self {
        case .notPEM:
            "not a PEM file: expected a text with -----BEGIN PRIVATE KEY-----"
        case .encryptedKey:
            "the private key is locked with a passphrase: "
                + "openssl pkcs8 -topk8 -nocrypt -in KEY -out NEW makes one without"
        case .notPrivateKey(let found):
            "expected a private key (-----BEGIN PRIVATE KEY-----), found \(found)"
        case .wrongKey(let expected, let found):
            "expected \(expected) key, found \(found)"
        case .damaged:
            "the sealed value was changed, cut short, or belongs elsewhere"
        case .unknownKey(let id):
            "sealed with the key \(id), which is not among the keys given"
        case .badSealingKey(let reason):
            "not a sealing key: \(reason)"
        case .library(let text):
            text
        }
    }

    /// What OpenSSL complained of last, by its number and reason; clears its list.
    static func last(_ doing: String) -> CryptoError {
        let code = ERR_get_error()
        ERR_clear_error()
        let reason = unsafe ERR_reason_error_string(code).map { unsafe String(cString: $0) }
        return .library("OpenSSL failed at \(doing): \(reason ?? "no reason given") (\(code))")
    }
}
