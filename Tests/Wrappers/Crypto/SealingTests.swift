import ErrandCrypto
import Testing

@Suite("Sealed secrets")
struct SealingTests {
    struct Vector: Sendable {
        var key: String
        var nonce: String
        var plain: String
        var context = ""
        /// Ciphertext and tag.
        var sealed: String
    }

    /// Test cases 13 to 16 of the GCM specification that was submitted to NIST.
    static let vectors: [Vector] = {
        let key = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"
        let zeros = String(repeating: "00", count: 32)
        let plain =
            "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
            + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
        let cipher =
            "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
            + "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
        return [
            Vector(
                key: zeros, nonce: String(zeros.prefix(24)), plain: "",
                sealed: "530f8afbc74536b9a963b4f1c4cb738b"),
            Vector(
                key: zeros, nonce: String(zeros.prefix(24)), plain: String(zeros.prefix(32)),
                sealed: "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"),
            Vector(
                key: key, nonce: "cafebabefacedbaddecaf888", plain: plain + "1aafd255",
                sealed: cipher + "898015adb094dac5d93471bdec1a502270e3cc6c"),
            Vector(
                key: key, nonce: "cafebabefacedbaddecaf888", plain: plain,
                context: "feedfacedeadbeeffeedfacedeadbeefabaddad2",
                sealed: cipher + "76fc6ece0f4e1768cddf8853bb2d551b"),
        ]
    }()

    @Test("AES-256-GCM gives the published values", arguments: vectors)
    func published(vector: Vector) throws {
        let key = SecretBytes(hex(vector.key))
        let sealed = try AESGCM.encrypt(
            hex(vector.plain), key: key, nonce: hex(vector.nonce), context: hex(vector.context))
        #expect(sealed == hex(vector.sealed))
        let opened = try AESGCM.decrypt(
            sealed[...], key: key, nonce: hex(vector.nonce), context: hex(vector.context))
        #expect(opened == hex(vector.plain))
    }

    static func key(_ id: String) throws -> SealingKey {
        try SealingKey(id: id, secret: .random(32))
    }

    @Test("what was sealed opens again, whatever its length", arguments: [0, 1, 15, 16, 17, 5_000])
    func roundTrip(length: Int) throws {
        let keys = try SealingKeys(current: Self.key("2026-a"))
        let secret = SecretBytes(try randomBytes(length))
        let sealed = try keys.seal(secret, context: "accounts/7")
        #expect(try keys.open(sealed, context: "accounts/7") == secret)
        #expect(try keys.seal(secret, context: "accounts/7") != sealed)
        #expect(try SealingKeys.keyName(of: sealed) == "2026-a")
    }

    @Test func `no byte can be changed, left out or added`() throws {
        let keys = try SealingKeys(current: Self.key("k"), older: [Self.key("l")])
        let sealed = try keys.seal(SecretBytes([1, 2, 3]), context: "here")
        for place in sealed.indices {
            for bit in 0..<8 {
                var changed = sealed
                changed[place] ^= 1 << bit
                #expect(throws: CryptoError.self) { try keys.open(changed, context: "here") }
            }
        }
        for length in 0..<sealed.count {
            #expect(throws: CryptoError.self) {
                try keys.open(Array(sealed.prefix(length)), context: "here")
            }
        }
        #expect(throws: CryptoError.damaged) { try keys.open(sealed + [0], context: "here") }
        #expect(throws: CryptoError.damaged) { try keys.open(sealed, context: "there") }
    }

    @Test func `older keys open but do not seal, and a key that is gone is named`() throws {
        let (old, new) = (try Self.key("old"), try Self.key("new"))
        let before = try SealingKeys(current: old).seal(SecretBytes([9]), context: "c")
        let both = try SealingKeys(current: new, older: [old])
        #expect(try both.open(before, context: "c") == SecretBytes([9]))
        #expect(
            try SealingKeys.keyName(of: both.seal(SecretBytes([9]), context: "c")) == "new")
        #expect(throws: CryptoError.unknownKey(id: "old")) {
            try SealingKeys(current: new).open(before, context: "c")
        }
        let namesake = try SealingKeys(current: Self.key("old"))
        #expect(throws: CryptoError.damaged) { try namesake.open(before, context: "c") }
    }

    @Test(
        "unfit keys are refused",
        arguments: [
            ("", 32), ("a b", 32), ("ä", 32), (String(repeating: "x", count: 65), 32), ("k", 31),
            ("k", 0),
        ])
    func unfit(id: String, length: Int) {
        #expect(throws: CryptoError.self) {
            try SealingKey(id: id, secret: SecretBytes(Array(repeating: 7, count: length)))
        }
    }

    @Test func `two keys of one name are refused, and keys do not show themselves`() throws {
        let key = try SealingKey(
            id: "k", secret: SecretBytes(Array(repeating: 0x41, count: 32)))
        #expect(throws: CryptoError.self) { try SealingKeys(current: key, older: [key]) }
        #expect("\(key)" == "sealing key k")
        let keys = try SealingKeys(current: key)
        var dumped = ""
        dump(keys, to: &dumped)
        #expect(!dumped.contains("65") && !"\(keys)".contains("AAAA"))
    }
}
