import ErrandCrypto
import ErrandPostgres

/// The secret of an epoch, as it is kept sealed, and as PostgreSQL makes codes with it.
struct EpochSecret: Sendable {
    private let key: SecretBytes
    /// SHA-256 takes blocks of so many bytes.
    private static let block = 64

    /// A new one, which nobody can guess.
    init() throws(CryptoError) { key = try .random(32) }

    /// Opens a sealed one.
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

    /// The same, over a row of coupons.epochs.
    static let contextInSQL =
        "'coupons.epochs:' || series || ':' || extract(epoch FROM starts_at)::bigint"

    /// The key's block, combined with HMAC's inner and outer padding (RFC 2104).
    var blocks: (inner: [UInt8], outer: [UInt8]) {
        let bytes = key.reveal()
        let padded = bytes + [UInt8](repeating: 0, count: Self.block - bytes.count)
        return (padded.map { $0 ^ 0x36 }, padded.map { $0 ^ 0x5C })
    }
}
