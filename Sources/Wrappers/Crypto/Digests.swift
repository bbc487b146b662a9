import CErrandCrypto

/// SHA-256 (FIPS 180-4).
package enum SHA256 {
    /// The size of a digest in bytes.
    package static let size = 32

    /// Returns the digest of bytes.
    package static func digest(of bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: size)
        _ = unsafe CErrandCrypto.SHA256(bytes, bytes.count, &digest)
        return digest
    }
}

/// The SHA-256 of bytes that arrive in pieces, such as those of a large file.
@safe package final class RunningSHA256 {
    private let context: OpaquePointer

    /// Creates the digest of no bytes.
    package init() throws(CryptoError) {
        guard let made = unsafe EVP_MD_CTX_new() else { throw .last("a digest") }
        unsafe context = unsafe made
        guard unsafe EVP_DigestInit_ex(made, EVP_sha256(), nil) == 1 else {
            throw .last("a digest")
        }
    }

    deinit { unsafe EVP_MD_CTX_free(context) }

    /// Adds the next bytes.
    package func update(_ bytes: [UInt8]) throws(CryptoError) {
        guard unsafe EVP_DigestUpdate(context, bytes, bytes.count) == 1 else {
            throw .last("a digest")
        }
    }

    /// Returns the digest of all bytes.
    ///
    /// No more can be added afterwards.
    package func finish() throws(CryptoError) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: SHA256.size)
        guard unsafe EVP_DigestFinal_ex(context, &digest, nil) == 1 else {
            throw .last("a digest")
        }
        return digest
    }
}

/// HMAC with SHA-256 (RFC 2104, RFC 4231).
package enum HMACSHA256 {
    /// The block size of SHA-256 in bytes.
    private static let block = 64

    /// Returns a key's block, combined with the inner and the outer padding: with them a program
    /// that has SHA-256 alone makes codes.
    ///
    /// - Parameter key: at most 64 bytes.
    package static func blocks(of key: SecretBytes) -> (inner: [UInt8], outer: [UInt8]) {
        precondition(key.count <= block, "a key of \(key.count) bytes is not its own block")
        let padded = key.bytes + [UInt8](repeating: 0, count: block - key.count)
        return (padded.map { $0 ^ 0x36 }, padded.map { $0 ^ 0x5C })
    }

    /// Returns the authentication code of a message, of 32 bytes.
    ///
    /// - Parameters:
    ///   - message: the message to authenticate.
    ///   - key: a key of any length; 32 random bytes or more are as strong as the code itself.
    package static func code(of message: [UInt8], key: SecretBytes) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: SHA256.size)
        // Some versions of the library take a null key for the previous key.
        let bytes = key.bytes.isEmpty ? [0] : key.bytes
        _ = unsafe HMAC(
            EVP_sha256(), bytes, Int32(key.bytes.count), message, message.count, &code, nil)
        return code
    }

    /// Returns whether a code matches the message, in constant time.
    package static func isCode(_ code: [UInt8], of message: [UInt8], key: SecretBytes) -> Bool {
        isSameInConstantTime(code, self.code(of: message, key: key))
    }
}

/// Returns whether two arrays are equal, in a time that depends only on their lengths.
package func isSameInConstantTime(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    unsafe one.count == other.count && CRYPTO_memcmp(one, other, one.count) == 0
}

/// Returns cryptographically secure random bytes from OpenSSL's generator.
///
/// - Throws: ``CryptoError/library(_:)`` if the system provides no randomness.
package func randomBytes(_ count: Int) throws(CryptoError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    guard unsafe RAND_bytes(&bytes, Int32(count)) == 1 else { throw .last("random bytes") }
    return bytes
}
