import CErrandCrypto

/// A private key for signatures and decryption, read from PEM text (PKCS#8, RFC 5958 and RFC 7468).
///
/// Safe to share: the key never changes, and OpenSSL counts its references atomically.
@safe final class PrivateKey: Sendable {
    // Only used by functions of OpenSSL that several threads may call concurrently.
    nonisolated(unsafe) let key: OpaquePointer

    /// Reads the first key of the text.
    init(pem: String) throws(CryptoError) {
        let label = Self.label(of: pem)
        guard let label else { throw .notPEM }
        guard label.hasSuffix("PRIVATE KEY") else {
            throw .notPrivateKey(found: "-----BEGIN \(label)-----")
        }
        var wasAsked = false
        guard let read = unsafe Self.read(Array(pem.utf8), wasAsked: &wasAsked) else {
            ERR_clear_error()
            throw wasAsked || label.hasPrefix("ENCRYPTED") ? .encryptedKey : .notPEM
        }
        unsafe key = unsafe read
    }

    deinit { unsafe EVP_PKEY_free(key) }

    /// Reads the key of a text; nil if there is none that can be read.
    private static func read(_ text: [UInt8], wasAsked: inout Bool) -> OpaquePointer? {
        // The source only borrows the bytes: they must stay valid until it is freed.
        unsafe text.withUnsafeBufferPointer { bytes in
            let source = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count))
            defer { unsafe BIO_free(source) }
            // Without a callback OpenSSL would ask for the passphrase on the terminal.
            return unsafe withUnsafeMutablePointer(to: &wasAsked) { asked in
                unsafe PEM_read_bio_PrivateKey(source, nil, refusePassphrase, asked)
            }
        }
    }

    /// The label after BEGIN: the first one of a private key, because parameters of a curve may
    /// precede the key; otherwise the first.
    private static func label(of pem: String) -> String? {
        let labels = pem.split(whereSeparator: \.isNewline).compactMap { line -> String? in
            let line = line.drop { $0.isWhitespace }
            guard line.hasPrefix("-----BEGIN ") else { return nil }
            return String(line.dropFirst(11).prefix { $0 != "-" })
        }
        return labels.first { $0.hasSuffix("PRIVATE KEY") } ?? labels.first
    }

    /// OpenSSL's name for the kind of key: `EC`, `RSA`, `ED25519`.
    var kind: String {
        unsafe EVP_PKEY_get0_type_name(key).map { unsafe String(cString: $0) } ?? "unknown"
    }

    /// The curve of an elliptic key: `prime256v1` is P-256.
    var curve: String? {
        var name = [CChar](repeating: 0, count: 80)
        guard unsafe EVP_PKEY_get_group_name(key, &name, name.count, nil) == 1 else { return nil }
        return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// The length of an RSA key's modulus.
    var bits: Int { Int(unsafe EVP_PKEY_get_bits(key)) }

    /// Signs the SHA-256 digest of a message: DER for elliptic keys, PKCS#1 v1.5 for RSA.
    func signature(of message: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard let context = unsafe EVP_MD_CTX_new() else { throw .last("signing") }
        defer { unsafe EVP_MD_CTX_free(context) }
        var size = 0
        guard unsafe EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
            unsafe EVP_DigestSign(context, nil, &size, message, message.count) == 1
        else { throw .last("signing") }
        var signature = [UInt8](repeating: 0, count: size)
        guard unsafe EVP_DigestSign(context, &signature, &size, message, message.count) == 1 else {
            throw .last("signing")
        }
        return Array(signature.prefix(size))
    }

    /// Returns the two numbers of a DER signature, each padded to `width` bytes (RFC 7518 section
    /// 3.4).
    static func raw(_ der: [UInt8], width: Int) throws(CryptoError) -> [UInt8] {
        let parsed = unsafe der.withUnsafeBufferPointer { buffer in
            var place = buffer.baseAddress
            return unsafe d2i_ECDSA_SIG(nil, &place, buffer.count)
        }
        guard let parsed = unsafe parsed else { throw .last("reading a signature") }
        defer { unsafe ECDSA_SIG_free(parsed) }
        var raw: [UInt8] = []
        for isFirst in [true, false] {
            let number = unsafe isFirst ? ECDSA_SIG_get0_r(parsed) : ECDSA_SIG_get0_s(parsed)
            var bytes = [UInt8](repeating: 0, count: width)
            guard unsafe BN_bn2binpad(number, &bytes, Int32(width)) == Int32(width) else {
                throw .last("reading a signature")
            }
            raw += bytes
        }
        return raw
    }
}

/// Called by OpenSSL for a passphrase; -1 means there is none.
private let refusePassphrase:
    @convention(c) (
        UnsafeMutablePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?
    ) -> Int32 = { _, _, _, asked in
        unsafe asked?.assumingMemoryBound(to: Bool.self).pointee = true
        return -1
    }
