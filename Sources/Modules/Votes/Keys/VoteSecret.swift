import ErrandCrypto

/// The key of a vote, which is stored sealed, and with which PostgreSQL encrypts choices.
struct VoteSecret: Sendable {
    /// 32 bytes for encryption and 32 for authentication.
    private let bytes: SecretBytes
    private static let half = 32

    /// Creates a random key.
    init() throws(CryptoError) { bytes = try .random(2 * Self.half) }

    /// Opens a sealed key.
    init(sealed: [UInt8], id: Int64, by keys: SealingKeys) throws(CryptoError) {
        bytes = try keys.open(sealed, context: Self.context(id))
        guard bytes.count == 2 * Self.half else { throw .damaged }
    }

    func sealed(id: Int64, by keys: SealingKeys) throws(CryptoError) -> [UInt8] {
        try keys.seal(bytes, context: Self.context(id))
    }

    /// The key for AES-256.
    var cipherKey: [UInt8] { Array(bytes.reveal().prefix(Self.half)) }
    /// The key for HMAC-SHA-256.
    var macKey: [UInt8] { Array(bytes.reveal().suffix(Self.half)) }

    private static func context(_ id: Int64) -> String { "votes.keys:\(id)" }

    /// The context as an SQL expression over a row of votes.keys.
    static let contextInSQL = "'votes.keys:' || id"
}
