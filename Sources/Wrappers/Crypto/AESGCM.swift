import CErrandCrypto

/// AES-256-GCM (NIST SP 800-38D) with 96-bit nonces and 128-bit tags.
package enum AESGCM {
    /// The size of a key in bytes.
    package static let keySize = 32
    /// The size of a nonce in bytes.
    ///
    /// A nonce must not be used twice with one key.
    package static let nonceSize = 12
    /// The size of a tag in bytes.
    package static let tagSize = 16

    /// Encrypts a message; returns the ciphertext followed by the tag.
    package static func encrypt(
        _ plain: [UInt8], key: SecretBytes, nonce: [UInt8], context: [UInt8]
    ) throws(CryptoError) -> [UInt8] {
        let cipher = try Cipher(key: key, nonce: nonce, context: context, encrypts: true)
        var output = try cipher.run(plain)
        guard cipher.finish() else { throw .last("sealing") }
        output += try cipher.tag()
        return output
    }

    /// Decrypts a message.
    ///
    /// - Throws: ``CryptoError/damaged`` if the tag does not match.
    package static func decrypt(
        _ sealed: ArraySlice<UInt8>, key: SecretBytes, nonce: [UInt8], context: [UInt8]
    ) throws(CryptoError) -> [UInt8] {
        guard sealed.count >= tagSize else { throw .damaged }
        let cipher = try Cipher(key: key, nonce: nonce, context: context, encrypts: false)
        let output = try cipher.run(Array(sealed.dropLast(tagSize)))
        try cipher.expect(tag: Array(sealed.suffix(tagSize)))
        guard cipher.finish() else {
            ERR_clear_error()
            throw .damaged
        }
        return output
    }

    /// A single operation of the cipher.
    @safe private final class Cipher {
        private let context: OpaquePointer

        init(
            key: SecretBytes, nonce: [UInt8], context data: [UInt8], encrypts: Bool
        ) throws(CryptoError) {
            precondition(key.count == keySize && nonce.count == nonceSize)
            guard let made = unsafe EVP_CIPHER_CTX_new() else { throw .last("a cipher") }
            unsafe context = unsafe made
            var count: Int32 = 0
            let direction: Int32 = encrypts ? 1 : 0
            guard
                unsafe EVP_CipherInit_ex(
                    made, EVP_aes_256_gcm(), nil, key.bytes, nonce, direction) == 1,
                // Without an output buffer, the bytes are associated data.
                unsafe data.isEmpty
                    || EVP_CipherUpdate(made, nil, &count, data, Int32(data.count)) == 1
            else { throw .last("a cipher") }
        }

        deinit { unsafe EVP_CIPHER_CTX_free(context) }

        func run(_ input: [UInt8]) throws(CryptoError) -> [UInt8] {
            guard !input.isEmpty else { return [] }
            var output = [UInt8](repeating: 0, count: input.count)
            var count: Int32 = 0
            guard
                unsafe EVP_CipherUpdate(context, &output, &count, input, Int32(input.count)) == 1,
                Int(count) == input.count
            else { throw .last("sealing") }
            return output
        }

        /// Ends the operation; returns false if the tag does not match when decrypting.
        func finish() -> Bool {
            var rest = [UInt8](repeating: 0, count: tagSize)
            var count: Int32 = 0
            return unsafe EVP_CipherFinal_ex(context, &rest, &count) == 1
        }

        func tag() throws(CryptoError) -> [UInt8] {
            var tag = [UInt8](repeating: 0, count: tagSize)
            let size = Int32(tagSize)
            guard unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, size, &tag) == 1
            else { throw .last("sealing") }
            return tag
        }

        func expect(tag: [UInt8]) throws(CryptoError) {
            var tag = tag
            let size = Int32(tagSize)
            guard unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, size, &tag) == 1
            else { throw .last("opening") }
        }
    }
}
