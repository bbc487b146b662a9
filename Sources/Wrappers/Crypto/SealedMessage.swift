import CErrandCrypto

/// Messages sealed to the public key of a recipient: CMS AuthEnvelopedData (RFC 5083, RFC 5652)
/// with AES-256-GCM (RFC 5084), in DER.
///
/// `openssl cms -decrypt -inform DER -inkey KEY` opens them too.
package enum SealedMessage {
    /// Seals a message, which is held in memory, so that it opens only with the recipient's key.
    package static func seal(
        _ plain: [UInt8], to recipient: Certificate
    ) throws(CryptoError) -> [UInt8] {
        let flags = UInt32(CMS_BINARY | CMS_PARTIAL)
        guard let message = unsafe CMS_encrypt(nil, nil, EVP_aes_256_gcm(), flags) else {
            throw .last("sealing")
        }
        defer { unsafe CMS_ContentInfo_free(message) }
        guard
            let info = unsafe CMS_add1_recipient_cert(
                message, recipient.certificate, UInt32(CMS_KEY_PARAM))
        else { throw .last("sealing") }
        if recipient.isRSA {
            let context = unsafe CMS_RecipientInfo_get0_pkey_ctx(info)
            guard
                unsafe EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_OAEP_PADDING) == 1,
                unsafe EVP_PKEY_CTX_set_rsa_oaep_md(context, EVP_sha256()) == 1,
                unsafe EVP_PKEY_CTX_set_rsa_mgf1_md(context, EVP_sha256()) == 1
            else { throw .last("sealing") }
        }
        // The source only borrows the bytes: they must stay valid until it is freed.
        let isDone = unsafe plain.withUnsafeBufferPointer { bytes in
            let source = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count))
            defer { unsafe BIO_free(source) }
            return unsafe CMS_final(message, source, nil, UInt32(CMS_BINARY)) == 1
        }
        guard isDone else { throw .last("sealing") }
        var start: UnsafeMutablePointer<UInt8>?
        let count = unsafe i2d_CMS_ContentInfo(message, &start)
        guard count > 0, let start = unsafe start else { throw .last("sealing") }
        defer { unsafe CRYPTO_free(start, nil, 0) }
        return unsafe Array(UnsafeBufferPointer(start: start, count: Int(count)))
    }
}

/// The private key that opens sealed messages.
package struct OpeningKey: Sendable, CustomStringConvertible, CustomReflectable {
    private let key: PrivateKey

    /// Reads a key without a passphrase from PEM text.
    package init(pem: String) throws(CryptoError) { key = try PrivateKey(pem: pem) }

    /// Opens a message.
    ///
    /// - Throws: ``CryptoError/damaged`` if it was changed or truncated, or sealed to another key.
    package func open(_ sealed: [UInt8]) throws(CryptoError) -> [UInt8] {
        defer { ERR_clear_error() }
        let parsed = unsafe sealed.withUnsafeBufferPointer { bytes in
            var place = bytes.baseAddress
            let message = unsafe d2i_CMS_ContentInfo(nil, &place, bytes.count)
            // Nothing may follow it.
            let end = unsafe bytes.baseAddress.map { unsafe $0 + bytes.count }
            guard unsafe place != end else { return unsafe message }
            unsafe CMS_ContentInfo_free(message)
            return nil
        }
        guard let message = unsafe parsed else { throw .damaged }
        defer { unsafe CMS_ContentInfo_free(message) }
        // Others are not authenticated.
        guard unsafe OBJ_obj2nid(CMS_get0_type(message)) == NID_id_smime_ct_authEnvelopedData else {
            throw .damaged
        }
        guard let target = unsafe BIO_new(BIO_s_mem()) else { throw .last("opening") }
        defer { unsafe BIO_free(target) }
        guard unsafe CMS_decrypt(message, key.key, nil, nil, target, UInt32(CMS_BINARY)) == 1 else {
            throw .damaged
        }
        var plain = [UInt8](repeating: 0, count: Int(unsafe BIO_ctrl_pending(target)))
        guard !plain.isEmpty else { return [] }
        guard unsafe BIO_read(target, &plain, Int32(plain.count)) == Int32(plain.count) else {
            throw .last("opening")
        }
        return plain
    }

    /// A placeholder.
    package var description: String { "opening key (secret)" }
    /// A mirror without children.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
