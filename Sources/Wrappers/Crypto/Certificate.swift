import CErrandCrypto

/// A certificate (X.509, RFC 5280) whose public key messages are sealed to.
///
/// Safe to share: it never changes, and OpenSSL counts its references atomically.
@safe package final class Certificate: Sendable {
    // Only read, by functions of OpenSSL that several threads may call concurrently.
    nonisolated(unsafe) let certificate: OpaquePointer
    /// Its subject, such as `/O=Example/CN=transfer`.
    package let subject: String
    /// The SHA-256 of the certificate in DER, its fingerprint.
    package let fingerprint: [UInt8]

    /// Reads the first certificate of a PEM text; its key must be RSA of 2048 bits or more, or
    /// elliptic.
    package init(pem: String) throws(CryptoError) {
        guard let read = unsafe Self.read(Array(pem.utf8)) else {
            ERR_clear_error()
            throw .notCertificate
        }
        unsafe certificate = unsafe read
        (subject, fingerprint) = unsafe (Self.subject(of: read), Self.fingerprint(of: read))
        guard unsafe X509_cmp_current_time(X509_get0_notBefore(read)) < 0,
            unsafe X509_cmp_current_time(X509_get0_notAfter(read)) > 0
        else { throw .outOfDate(subject: subject) }
        let key = unsafe X509_get0_pubkey(read)
        guard let key = unsafe key else { throw .last("reading a certificate") }
        let kind = unsafe EVP_PKEY_get0_type_name(key).map { unsafe String(cString: $0) }
        let bits = Int(unsafe EVP_PKEY_get_bits(key))
        guard kind == "EC" || kind == "RSA" && bits >= 2048 else {
            throw .wrongKey(
                expected: "an elliptic or RSA (2048 bits or more)",
                found: "\(kind ?? "unknown") of \(bits) bits")
        }
        isRSA = kind == "RSA"
    }

    /// Whether messages are sealed by RSAES-OAEP (RFC 8017); otherwise by ECDH.
    let isRSA: Bool

    deinit { unsafe X509_free(certificate) }

    private static func read(_ text: [UInt8]) -> OpaquePointer? {
        // The source only borrows the bytes: they must stay valid until it is freed.
        unsafe text.withUnsafeBufferPointer { bytes in
            let source = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count))
            defer { unsafe BIO_free(source) }
            return unsafe PEM_read_bio_X509(source, nil, nil, nil)
        }
    }

    private static func subject(of certificate: OpaquePointer) -> String {
        let name = unsafe X509_get_subject_name(certificate)
        guard let text = unsafe X509_NAME_oneline(name, nil, 0) else { return "unknown" }
        defer { unsafe CRYPTO_free(text, nil, 0) }
        return unsafe String(cString: text)
    }

    private static func fingerprint(of certificate: OpaquePointer) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: SHA256.size)
        _ = unsafe X509_digest(certificate, EVP_sha256(), &digest, nil)
        return digest
    }
}
