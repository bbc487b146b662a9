import ErrandCrypto
import Foundation
import ErrandTestServices
import Testing

@Suite("Token signer")
struct TokenSignerTests {
    /// The claims of RFC 7515 appendix A.
    static let claims =
        "{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \"http://example.com/is_root\":true}"

    @Test func `RS256 makes the very token of RFC 7515 appendix A 2`() throws {
        let signer = try TokenSigner(.rs256, pem: PublishedKeys.rsa)
        let token = try signer.token(
            header: Array(#"{"alg":"RS256"}"#.utf8), claims: Array(Self.claims.utf8))
        #expect(
            token == """
                eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9l\
                eGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQg\
                r9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX\
                4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383\
                LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6L\
                bgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw
                """)
    }

    /// ECDSA takes a random number into each signature, so it is a verifier who must agree.
    @Test func `ES256 signatures are 64 bytes, all different, and python-cryptography takes them`()
        async throws
    {
        let signer = try TokenSigner(.es256, pem: PublishedKeys.elliptic)
        let header = Array(#"{"alg":"ES256","kid":"ABC123DEFG"}"#.utf8)
        // Some have a leading zero in r or s, which DER leaves out and the raw form must not.
        let tokens = try (0..<600).map { number in
            try signer.token(header: header, claims: Array("{\"iat\":\(number)}".utf8))
        }
        #expect(Set(tokens).count == tokens.count)
        let signatures = tokens.compactMap {
            $0.split(separator: ".").last.flatMap { Base64URL.decode($0) }
        }
        #expect(signatures.count == 600 && signatures.allSatisfy { $0.count == 64 })
        #expect(signatures.contains { $0[0] == 0 || $0[32] == 0 })
        let folder = try temporaryFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data(PublishedKeys.elliptic.utf8).write(to: folder.appending(path: "key.pem"))
        try Data(tokens.joined(separator: "\n").utf8).write(to: folder.appending(path: "tokens"))
        let script = """
            import base64, sys
            from cryptography.hazmat.primitives import hashes, serialization
            from cryptography.hazmat.primitives.asymmetric import ec, utils
            key = serialization.load_pem_private_key(
                open(sys.argv[1] + "/key.pem", "rb").read(), None).public_key()
            for count, token in enumerate(open(sys.argv[1] + "/tokens").read().split(), 1):
                signed, _, text = token.rpartition(".")
                raw = base64.urlsafe_b64decode(text + "==")
                r, s = int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big")
                key.verify(utils.encode_dss_signature(r, s), signed.encode(),
                           ec.ECDSA(hashes.SHA256()))
            print(count)
            """
        #expect(
            try await output(of: ["/usr/bin/python3", "-c", script, folder.path]) == "600\n")
    }

    @Test func `openssl takes the signatures of keys that it made`() async throws {
        let pem = try await openssl("genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:3072")
        let message = Array("signed".utf8)
        let signature = try TokenSigner(.rs256, pem: pem).signature(of: message)
        let verdict = try await openssl(
            "pkey -in key -pubout -out public && "
                + "openssl dgst -sha256 -verify public -signature signature message",
            files: ["key": Array(pem.utf8), "signature": signature, "message": message])
        #expect(verdict == "Verified OK\n")
    }

    struct Refusal: Sendable {
        var algorithm: TokenSigner.Algorithm
        /// What openssl is told to make; nil takes `text`.
        var command: String?
        var text = ""
        var error: CryptoError
    }

    static let refusals = [
        Refusal(algorithm: .es256, text: "", error: .notPEM),
        Refusal(algorithm: .es256, text: "{\"private_key\": \"\"}", error: .notPEM),
        Refusal(
            algorithm: .es256,
            text: "-----BEGIN PRIVATE KEY-----\nbm90IGEga2V5\n-----END PRIVATE KEY-----\n",
            error: .notPEM),
        Refusal(
            algorithm: .es256, text: String(PublishedKeys.elliptic.prefix(120)), error: .notPEM),
        Refusal(
            algorithm: .es256, command: "genpkey -algorithm RSA",
            error: .wrongKey(expected: "an EC P-256", found: "RSA")),
        Refusal(
            algorithm: .es256,
            command: "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:secp384r1",
            error: .wrongKey(expected: "an EC P-256", found: "EC on secp384r1")),
        Refusal(
            algorithm: .es256, command: "genpkey -algorithm ED25519",
            error: .wrongKey(expected: "an EC P-256", found: "ED25519")),
        Refusal(
            algorithm: .rs256, text: PublishedKeys.elliptic,
            error: .wrongKey(expected: "an RSA", found: "EC")),
        Refusal(
            algorithm: .rs256, command: "genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:1024",
            error: .wrongKey(expected: "an RSA (2048 bits or more)", found: "1024 bits")),
        Refusal(
            algorithm: .rs256, command: "genpkey -algorithm RSA -aes256 -pass pass:secret",
            error: .encryptedKey),
        Refusal(
            algorithm: .es256,
            command: "ecparam -name prime256v1 -genkey -noout | "
                + "openssl ec -aes256 -passout pass:secret",
            error: .encryptedKey),
        Refusal(
            algorithm: .es256,
            command: "genpkey -algorithm RSA -out key && openssl pkey -in key -pubout",
            error: .notPrivateKey(found: "-----BEGIN PUBLIC KEY-----")),
    ]

    @Test("an unfit key is refused with what is wrong with it", arguments: refusals)
    func refused(refusal: Refusal) async throws {
        let pem = try await refusal.command.asyncMap { try await openssl($0) } ?? refusal.text
        #expect(throws: refusal.error) { try TokenSigner(refusal.algorithm, pem: pem) }
    }

    @Test(
        "keys are read in the forms that openssl writes",
        arguments: [
            "ecparam -name prime256v1 -genkey",
            "ecparam -name prime256v1 -genkey -noout",
            "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256",
        ])
    func forms(command: String) async throws {
        let pem = "made by hand\n" + (try await openssl(command)) + "\n# end\n"
        #expect(try TokenSigner(.es256, pem: pem).signature(of: []).count == 64)
    }

    @Test func `a signer and its errors show no key`() throws {
        let signer = try TokenSigner(.es256, pem: PublishedKeys.elliptic)
        var dumped = ""
        dump(signer, to: &dumped)
        #expect("\(signer)" == "ES256 key (secret)")
        #expect(!dumped.contains("PrivateKey"))
        let secret = "c2VjcmV0"
        let broken = "-----BEGIN PRIVATE KEY-----\n\(secret)\n-----END PRIVATE KEY-----"
        let error = #expect(throws: CryptoError.self) { try TokenSigner(.es256, pem: broken) }
        #expect(error?.description.contains(secret) == false)
    }

    @Test func `many tasks sign with one key at once`() async throws {
        let signer = try TokenSigner(.rs256, pem: PublishedKeys.rsa)
        let expected = try signer.signature(of: [1, 2, 3])
        try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<50 {
                group.addTask { @concurrent in try signer.signature(of: [1, 2, 3]) }
            }
            for try await signature in group { #expect(signature == expected) }
        }
    }
}

extension Optional {
    fileprivate func asyncMap<Result>(
        _ transform: (Wrapped) async throws -> Result
    ) async rethrows -> Result? {
        guard let self else { return nil }
        return try await transform(self)
    }
}
