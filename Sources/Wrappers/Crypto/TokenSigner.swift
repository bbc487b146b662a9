/// Signs JSON Web Tokens (RFC 7519) in the compact form of RFC 7515 section 7.1.
///
/// Its descriptions do not contain the key.
package struct TokenSigner: Sendable, CustomStringConvertible, CustomReflectable {
    /// The algorithm of a signature (RFC 7518 section 3.1).
    package enum Algorithm: String, Sendable {
        /// ECDSA on the curve P-256 with SHA-256.
        case es256 = "ES256"
        /// RSA, PKCS#1 v1.5, with SHA-256.
        case rs256 = "RS256"
    }

    /// The algorithm.
    package let algorithm: Algorithm
    private let key: PrivateKey

    /// Creates a signer.
    ///
    /// - Parameters:
    ///   - algorithm: the algorithm. ES256 needs a key on P-256, RS256 an RSA key of at least 2048
    ///     bits.
    ///   - pem: the key, without a passphrase.
    /// - Throws: why the key is invalid, without its content.
    package init(_ algorithm: Algorithm, pem: String) throws(CryptoError) {
        let key = try PrivateKey(pem: pem)
        switch algorithm {
        case .es256:
            guard key.kind == "EC", key.curve == "prime256v1" else {
                let found = key.curve.map { "\(key.kind) on \($0)" } ?? key.kind
                throw .wrongKey(expected: "an EC P-256", found: found)
            }
        case .rs256:
            guard key.kind == "RSA" else {
                throw .wrongKey(expected: "an RSA", found: key.kind)
            }
            // RFC 7518 section 3.3: 2048 bits or larger.
            guard key.bits >= 2048 else {
                throw .wrongKey(expected: "an RSA (2048 bits or more)", found: "\(key.bits) bits")
            }
        }
        self.algorithm = algorithm
        self.key = key
    }

    /// Returns the signature of bytes: 64 bytes r‖s for ES256 (RFC 7518 section 3.4); for RS256 the
    /// size of the modulus.
    package func signature(of message: [UInt8]) throws(CryptoError) -> [UInt8] {
        let signature = try key.signature(of: message)
        return algorithm == .es256 ? try PrivateKey.raw(signature, width: 32) : signature
    }

    /// Returns a signed token.
    ///
    /// - Parameters:
    ///   - header: the JOSE header as JSON; its `alg` must name ``algorithm``.
    ///   - claims: the claims as JSON.
    package func token(header: [UInt8], claims: [UInt8]) throws(CryptoError) -> String {
        let signed = Base64URL.encode(header) + "." + Base64URL.encode(claims)
        return signed + "." + Base64URL.encode(try signature(of: Array(signed.utf8)))
    }

    /// The algorithm; the key stays hidden.
    package var description: String { "\(algorithm.rawValue) key (secret)" }
    /// A mirror without children.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
