import ErrandCrypto
import ErrandPostgres

/// The secret of an epoch: sealed for storage, and as HMAC blocks for PostgreSQL.
struct EpochSecret: Sendable {
    private let key: SecretBytes

    /// Creates a random secret.
    init() throws(CryptoError) { key = try .random(32) }

    /// Opens a sealed secret.
    init(
        sealed: [UInt8], of series: CodeSeries, from start: Int64, by keys: SealingKeys
    ) throws(CryptoError) {
        key = try keys.open(sealed, context: Self.context(series, start))
    }

    func sealed(
        of series: CodeSeries, from start: Int64, by keys: SealingKeys
    ) throws(CryptoError) -> [UInt8] {
        try keys.seal(key, context: Self.context(series, start))
    }

    private static func context(_ series: CodeSeries, _ start: Int64) -> String {
        "coupons.epochs:\(series.rawValue):\(start)"
    }

    /// The sealing context as SQL over a row of coupons.epochs.
    static let contextInSQL =
        "'coupons.epochs:' || series || ':' || extract(epoch FROM starts_at)::bigint"

    /// The key block, combined with the inner and outer padding of HMAC (RFC 2104).
    var blocks: (inner: [UInt8], outer: [UInt8]) { HMACSHA256.blocks(of: key) }
}
