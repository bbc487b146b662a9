import ErrandCrypto
import Testing

@Suite("Digests and codes")
struct DigestTests {
    @Test(
        "SHA-256 gives the digests that FIPS 180-4 publishes",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ])
    func sha(text: String, digest: String) {
        #expect(SHA256.digest(of: Array(text.utf8)) == hex(digest))
    }

    struct Vector: Sendable {
        var key: [UInt8]
        var data: [UInt8]
        var code: String
    }

    /// RFC 4231 section 4: test cases 1, 2, 3 and 6.
    static let vectors = [
        Vector(
            key: Array(repeating: 0x0b, count: 20), data: Array("Hi There".utf8),
            code: "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
        Vector(
            key: Array("Jefe".utf8), data: Array("what do ya want for nothing?".utf8),
            code: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
        Vector(
            key: Array(repeating: 0xaa, count: 20), data: Array(repeating: 0xdd, count: 50),
            code: "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"),
        Vector(
            key: Array(repeating: 0xaa, count: 131),
            data: Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            code: "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"),
        // Its code is known from openssl: an empty key is not "the key of before".
        Vector(
            key: [], data: [],
            code: "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"),
    ]

    @Test("HMAC-SHA-256 gives the codes that RFC 4231 publishes", arguments: vectors)
    func codes(vector: Vector) {
        let key = SecretBytes(vector.key)
        #expect(HMACSHA256.code(of: vector.data, key: key) == hex(vector.code))
        #expect(HMACSHA256.isCode(hex(vector.code), of: vector.data, key: key))
        var wrong = hex(vector.code)
        wrong[31] ^= 1
        #expect(!HMACSHA256.isCode(wrong, of: vector.data, key: key))
        #expect(!HMACSHA256.isCode(Array(wrong.prefix(31)), of: vector.data, key: key))
    }

    @Test("the blocks of a key and SHA-256 alone make the same codes", arguments: vectors)
    func blocks(vector: Vector) {
        guard vector.key.count <= 64 else { return }
        let blocks = HMACSHA256.blocks(of: SecretBytes(vector.key))
        #expect(blocks.inner.count == 64 && blocks.outer.count == 64)
        let inner = SHA256.digest(of: blocks.inner + vector.data)
        #expect(SHA256.digest(of: blocks.outer + inner) == hex(vector.code))
    }

    @Test func `the token of RFC 7515 appendix A 1 has the code that it publishes`() throws {
        let key = try #require(
            Base64URL.decode(
                "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr"
                    + "1Z9CAow"))
        let signed =
            "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzOD"
            + "AsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        let code = HMACSHA256.code(of: Array(signed.utf8), key: SecretBytes(key))
        #expect(Base64URL.encode(code) == "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
    }

    @Test(
        "equal and unequal arrays are told apart",
        arguments: [([], [], true), ([1], [1], true), ([1, 2], [1, 3], false), ([1], [], false)]
            as [([UInt8], [UInt8], Bool)])
    func comparison(one: [UInt8], other: [UInt8], same: Bool) {
        #expect(isSameInConstantTime(one, other) == same)
    }

    @Test func `random bytes are as many as asked, and never the same`() throws {
        #expect(try randomBytes(0).isEmpty)
        #expect(try randomBytes(32).count == 32)
        #expect(try randomBytes(32) != randomBytes(32))
    }

    /// RFC 4648 section 10, without padding, and RFC 7515 appendix C.
    @Test(
        "base64url goes there and back",
        arguments: [
            ("", []), ("Zg", [0x66]), ("Zm8", [0x66, 0x6f]), ("Zm9v", [0x66, 0x6f, 0x6f]),
            ("Zm9vYg", [0x66, 0x6f, 0x6f, 0x62]), ("A-z_4ME", [3, 236, 255, 224, 193]),
        ] as [(String, [UInt8])])
    func base64(text: String, bytes: [UInt8]) {
        #expect(Base64URL.encode(bytes) == text)
        #expect(Base64URL.decode(text) == bytes)
    }

    @Test(
        "what is not base64url is refused",
        arguments: ["Z", "Zg==", "Zm+v", "Zm/v", "Zh", "Zm9", "Zm 9", "Zäg"])
    func badBase64(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test func `a digest of pieces is that of the whole`() throws {
        let bytes = (0..<1_000).map { UInt8($0 % 251) }
        for size in [1, 7, 64, 999, 1_000] {
            let digest = try RunningSHA256()
            for start in stride(from: 0, to: bytes.count, by: size) {
                try digest.update(Array(bytes[start..<min(start + size, bytes.count)]))
                try digest.update([])
            }
            #expect(try digest.finish() == SHA256.digest(of: bytes))
        }
        #expect(try RunningSHA256().finish() == SHA256.digest(of: []))
    }

    @Test func `secret bytes do not show themselves`() {
        let secret = SecretBytes(Array("hunter2".utf8))
        var dumped = ""
        dump(secret, to: &dumped)
        for text in ["\(secret)", String(reflecting: secret), dumped, "\([secret])"] {
            #expect(!text.contains("104") && !text.contains("hunter"))
        }
        #expect(secret.reveal() == Array("hunter2".utf8))
        #expect(secret == SecretBytes(Array("hunter2".utf8)) && secret != SecretBytes([]))
    }
}
