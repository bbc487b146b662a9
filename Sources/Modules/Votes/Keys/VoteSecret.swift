import ErrandCrypto

/// The key of a vote, as it is kept sealed, and as PostgreSQL opens and seals choices with it.
struct VoteSecret: Sendable {
    /// 32 bytes that encrypt and 32 that authenticate.
    private let bytes: SecretBytes
    private static let half = 32

    /// A new one, which nobody can guess.
    init() throws(CryptoError) { bytes = try .random(2 * Self.half) }

    /// Opens a sealed one.
    init(sealed: [UInt8], id: Int64, by keys: SealingKeys) throws(CryptoError) {
        bytes = try keys.open(sealed, context: Self.context(id))
        guard bytes.count == 2 * Self.half else { throw .damaged }
    }

    func sealed(id: Int64, by keys: SealingKeys) throws(CryptoError) -> [UInt8] {
        try keys.seal(bytes, context: Self.context(id))
    }

    /// For AES-256.
    var cipherKey: [UInt8] { Array(bytes.reveal().prefix(Self.half)) }
    /// For HMAC-SHA-256.
    var macKey: [UInt8] { Array(bytes.reveal().suffix(Self.half)) }

    private static func context(_ id: Int64) -> String { "votes.keys:\(id)" }

    /// The same, over a row of votes.keys.
    static let contextInSQL = "'votes.keys:' || id"
}
