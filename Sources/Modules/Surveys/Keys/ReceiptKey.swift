package import ErrandCrypto

/// The key that authenticates the codes on an establishment's receipts: sealed for storage, and as
/// HMAC blocks for PostgreSQL.
package struct ReceiptKey: Sendable {
    private let key: SecretBytes
    private static let size = 32

    /// Creates a random key.
    package init() throws(CryptoError) { key = try .random(Self.size) }

    /// Opens a sealed key.
    package init(
        sealed: [UInt8], of establishment: Int64, version: Int, by keys: SealingKeys
    ) throws(CryptoError) {
        key = try keys.open(sealed, context: Self.context(establishment, version))
        guard key.count == Self.size else { throw .damaged }
    }

    package func sealed(
        of establishment: Int64, version: Int, by keys: SealingKeys
    ) throws(CryptoError) -> [UInt8] {
        try keys.seal(key, context: Self.context(establishment, version))
    }

    private static func context(_ establishment: Int64, _ version: Int) -> String {
        "surveys.receipt_keys:\(establishment):\(version)"
    }

    /// The sealing context as SQL over a row of surveys.receipt_keys.
    static let contextInSQL = "'surveys.receipt_keys:' || establishment_id || ':' || version"

    /// The key block, combined with the inner and outer padding of HMAC (RFC 2104).
    var blocks: (inner: [UInt8], outer: [UInt8]) { HMACSHA256.blocks(of: key) }

    /// The key for the establishment's tills.
    package func reveal() -> [UInt8] { key.reveal() }

    /// Returns the authentication code of a message, of 32 bytes.
    package func code(of message: [UInt8]) -> [UInt8] {
        HMACSHA256.code(of: message, key: key)
    }
}
