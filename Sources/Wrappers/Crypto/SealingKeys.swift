/// A key that seals small secrets.
///
/// Sealed values contain its name.
package struct SealingKey: Sendable, CustomStringConvertible {
    /// The name, stored in clear in each sealed value.
    package let id: String
    let secret: SecretBytes

    /// Creates a key.
    ///
    /// - Parameters:
    ///   - id: 1 to 64 letters, digits, `-`, `_` or `.`; a new key needs a new name.
    ///   - secret: 32 random bytes.
    package init(id: String, secret: SecretBytes) throws(CryptoError) {
        guard secret.count == AESGCM.keySize else {
            throw .badSealingKey("it has \(secret.count) bytes, expected \(AESGCM.keySize)")
        }
        let isName = id.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default:
                "-_.".utf8.contains(byte)
            }
        }
        guard (1...64).contains(id.utf8.count), isName else {
            throw .badSealingKey("its name must be 1 to 64 letters, digits, -, _ or .")
        }
        self.id = id
        self.secret = secret
    }

    /// The key's name; the key stays hidden.
    package var description: String { "sealing key \(id)" }
}

/// The keys that seal and open values: the current key seals; it and older keys open, so that a new
/// key can be introduced without changing sealed values.
///
/// A sealed value is `1 ‖ length of the key's name ‖ name ‖ nonce (12) ‖ ciphertext ‖ tag (16)`,
/// with AES-256-GCM; the part before the nonce is authenticated too. Nonces are random, which
/// allows 2³² values with one key (NIST SP 800-38D section 8.3), far more than one key seals here.
package struct SealingKeys: Sendable {
    private let current: SealingKey
    private let byName: [String: SealingKey]
    /// The names of all keys, the current one first.
    package let names: [String]
    private static let version: UInt8 = 1

    /// Creates a set of keys with different names; throws for a repeated name.
    ///
    /// - Parameters:
    ///   - current: the key that seals.
    ///   - older: keys that only open.
    package init(current: SealingKey, older: [SealingKey] = []) throws(CryptoError) {
        var byName = [current.id: current]
        for key in older {
            guard byName.updateValue(key, forKey: key.id) == nil else {
                throw .badSealingKey("two keys have the name \(key.id)")
            }
        }
        self.current = current
        self.byName = byName
        names = [current.id] + older.map(\.id)
    }

    /// Seals a secret.
    ///
    /// - Parameters:
    ///   - secret: the secret.
    ///   - context: the place of the value, such as a table and a row's id. The value opens only
    ///     with the same context, so that it cannot be moved to another row.
    package func seal(_ secret: SecretBytes, context: String) throws(CryptoError) -> [UInt8] {
        let nonce = try randomBytes(AESGCM.nonceSize)
        let head = [Self.version, UInt8(current.id.utf8.count)] + Array(current.id.utf8)
        return try head + nonce
            + AESGCM.encrypt(
                secret.bytes, key: current.secret, nonce: nonce, context: head + context.utf8)
    }

    /// Opens a value that any of the keys sealed for the same context.
    package func open(_ sealed: [UInt8], context: String) throws(CryptoError) -> SecretBytes {
        let parts = try Self.parts(of: sealed)
        guard let key = byName[parts.key] else { throw .unknownKey(id: parts.key) }
        let head = Array(sealed[..<parts.nonce.startIndex])
        return SecretBytes(
            try AESGCM.decrypt(
                sealed[parts.nonce.endIndex...], key: key.secret, nonce: Array(parts.nonce),
                context: head + context.utf8))
    }

    /// Returns the name of the key that sealed a value.
    ///
    /// Values of an old key must be sealed again before the key is removed.
    package static func keyName(of sealed: [UInt8]) throws(CryptoError) -> String {
        try parts(of: sealed).key
    }

    private static func parts(
        of sealed: [UInt8]
    ) throws(CryptoError) -> (key: String, nonce: ArraySlice<UInt8>) {
        guard sealed.count > 2, sealed[0] == version else { throw .damaged }
        let end = 2 + Int(sealed[1])
        guard sealed.count >= end + AESGCM.nonceSize + AESGCM.tagSize,
            let name = String(validating: sealed[2..<end], as: UTF8.self)
        else { throw .damaged }
        return (name, sealed[end..<end + AESGCM.nonceSize])
    }
}
