import CErrandCrypto

/// Why signing, sealing or reading a key failed.
///
/// It contains no part of a key.
package enum CryptoError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The text is not a PEM text with a private key.
    case notPEM
    /// The key is encrypted with a passphrase.
    case encryptedKey
    /// The PEM text contains something else, such as a certificate or a public key.
    case notPrivateKey(found: String)
    /// The private key is not of the kind that the algorithm needs.
    case wrongKey(expected: String, found: String)
    /// The text is not a PEM text with a certificate.
    case notCertificate
    /// The certificate has expired or is not valid yet.
    case outOfDate(subject: String)
    /// The sealed value was changed, truncated, or sealed for another context.
    case damaged
    /// The value was sealed with a key that is not available.
    case unknownKey(id: String)
    /// A sealing key with an invalid length or name.
    case badSealingKey(String)
    /// OpenSSL failed; the text contains the operation and OpenSSL's code.
    case library(String)

    /// The message for people.
    package var description: String {
        switch self {
        case .notPEM:
            "not a PEM file: expected a text with -----BEGIN PRIVATE KEY-----"
        case .encryptedKey:
            "the private key is encrypted with a passphrase: decrypt it with "
                + "openssl pkcs8 -topk8 -nocrypt -in KEY -out NEW"
        case .notPrivateKey(let found):
            "expected a private key (-----BEGIN PRIVATE KEY-----), found \(found)"
        case .wrongKey(let expected, let found):
            "expected \(expected) key, found \(found)"
        case .notCertificate:
            "not a certificate: expected a PEM file with -----BEGIN CERTIFICATE-----"
        case .outOfDate(let subject):
            "the certificate of \(subject) has expired or is not valid yet"
        case .damaged:
            "the sealed value was changed or truncated, or belongs elsewhere"
        case .unknownKey(let id):
            "sealed with the key \(id), which is not in the key file"
        case .badSealingKey(let reason):
            "not a sealing key: \(reason)"
        case .library(let text):
            text
        }
    }

    /// Returns OpenSSL's last error with its number and reason, and clears its error queue.
    static func last(_ doing: String) -> CryptoError {
        let code = ERR_get_error()
        ERR_clear_error()
        let reason = unsafe ERR_reason_error_string(code).map { unsafe String(cString: $0) }
        return .library("OpenSSL failed at \(doing): \(reason ?? "no reason given") (\(code))")
    }
}
