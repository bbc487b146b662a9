package import ErrandCrypto
package import Errand
import ErrandKeys
package import ErrandPostgres

/// Creates the receipt keys of establishments that have none, and keeps all valid keys open.
///
/// A damaged key is not replaced: the tills of the establishment have it, and an operator must give
/// them another.
package struct ReceiptKeyPool: SealedKeyPool {
    private let keys: SealingKeys
    private let log: Log

    /// Creates a pool that seals new keys with `keys`.
    package init(sealing keys: SealingKeys, log: Log) {
        self.keys = keys
        self.log = log
    }

    private static let missing = "SELECT establishment_id, version FROM surveys.missing_keys($1)"
    private static let put = "SELECT surveys.put_key($1, $2, $3, $4, $5, at_once => $6)"
    private static let closed = """
        SELECT establishment_id, version, sealed FROM surveys.closed_keys($1, $2, $3)
        """
    private static let open = "SELECT surveys.open_key($1, $2, $3, $4)"
    private static let next = """
        SELECT coalesce(max(k.version), 0) + 1 FROM surveys.receipt_keys k
        WHERE k.establishment_id = $1
        """

    package var forgetting: Statement? { Statement("SELECT surveys.delete_keys()") }

    package func closed(
        behind place: (establishment: Int64, version: Int32)?, most: Int32
    ) -> Statement {
        Statement(
            Self.closed,
            [.int32(most), .int64(place?.establishment ?? 0), .int32(place?.version ?? 0)])
    }

    package func place(of row: Row) throws -> (establishment: Int64, version: Int32) {
        (try row.int64("establishment_id"), try row.int32("version"))
    }

    package func opening(_ row: Row) throws -> Statement {
        let (establishment, version) = try place(of: row)
        let blocks = try ReceiptKey(
            sealed: try row.bytes("sealed"), of: establishment, version: Int(version), by: keys
        ).blocks
        return Statement(
            Self.open,
            [
                .int64(establishment), .int32(version), .bytes(blocks.inner),
                .bytes(blocks.outer),
            ])
    }

    package func damaged(_ row: Row) throws -> Statement? {
        log.with("establishment", Int(try place(of: row).establishment)).error(
            "the receipt key of an establishment is damaged: its receipts are refused")
        return nil
    }

    package func missing(most: Int32) -> Statement { Statement(Self.missing, [.int32(most)]) }

    package func making(_ row: Row) throws -> Statement {
        let (establishment, version) = try place(of: row)
        return try putting(establishment, version: Int(version))
    }

    /// Replaces the key of an establishment, in the caller's transaction.
    ///
    /// - Parameter hasLeaked: whether codes of its earlier keys are refused from now on.
    /// - Returns: the version of the new key; nil if another one was made at the same time.
    package func rotate(
        _ establishment: Int64, hasLeaked: Bool, in transaction: Transaction
    ) async throws -> Int? {
        let version = Int(
            try await transaction.query(Self.next, [.int64(establishment)]).int32(0, 0))
        let statement = try putting(establishment, version: version, atOnce: hasLeaked)
        let isNew = try await transaction.pipeline([statement])[0].bool(0, 0)
        return isNew ? version : nil
    }

    private func putting(
        _ establishment: Int64, version: Int, atOnce: Bool = false
    ) throws(CryptoError) -> Statement {
        let key = try ReceiptKey()
        let sealed = try key.sealed(of: establishment, version: version, by: keys)
        let blocks = key.blocks
        return Statement(
            Self.put,
            [
                .int64(establishment), .int32(Int32(version)), .bytes(sealed),
                .bytes(blocks.inner), .bytes(blocks.outer), .bool(atOnce),
            ])
    }
}

/// Maintains the receipt keys of establishments: see ``ReceiptKeyPool``.
package struct PrepareReceiptKeys: Job {
    package static let kind = "surveys.keys"
    /// Few attempts: the next run repeats the work.
    package static let options = JobOptions(
        queue: "surveys", priority: .critical, maxAttempts: 5,
        backoff: Backoff(base: 1, ceiling: 20), timeout: .seconds(120), retention: .seconds(3_600))

    package init() {}

    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "@every 30s", run: PrepareReceiptKeys(), catchUp: .latest(within: .seconds(60)),
            overlap: .skip)
    }
}
