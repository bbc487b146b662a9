package import ErrandCrypto
package import ErrandPostgres

/// A receipt key of an establishment, without the key itself.
package struct ReceiptKeyRecord: Sendable {
    package var establishmentID: Int64
    package var version: Int
    package var createdAt: Instant
    /// When the next key replaced it; nil for the current one.
    package var retiredAt: Instant?
    /// Its codes are accepted until then; nil for the current one.
    package var goodUntil: Instant?
    /// Whether PostgreSQL can check its codes.
    package var isOpen: Bool

    init(_ row: Row) throws {
        establishmentID = try row.int64("establishment_id")
        version = Int(try row.int32("version"))
        createdAt = try row.timestamp("created_at")
        retiredAt = try row.optionalTimestamp("retired_at")
        goodUntil = try row.optionalTimestamp("good_until")
        isOpen = try row.bool("is_open")
    }

    private static let statement = """
        SELECT establishment_id, version, created_at, retired_at, good_until, is_open
        FROM surveys.keys_of($1)
        """

    /// Lists the keys of an establishment, newest first.
    package static func list(
        of establishment: Int64, by session: Session
    ) async throws -> [ReceiptKeyRecord] {
        try await session.query(statement, [.int64(establishment)]).map(ReceiptKeyRecord.init)
    }

    private static let sealed = """
        SELECT version, sealed FROM surveys.receipt_keys
        WHERE establishment_id = $1 AND retired_at IS NULL
        """

    /// Returns the current key of an establishment; nil if it has none.
    ///
    /// - Throws: `CryptoError` if it cannot be opened with these keys.
    package static func current(
        of establishment: Int64, by session: Session, opening keys: SealingKeys
    ) async throws -> (version: Int, key: ReceiptKey)? {
        guard let row = try await session.query(sealed, [.int64(establishment)]).first else {
            return nil
        }
        let version = Int(try row.int32("version"))
        return (
            version,
            try ReceiptKey(
                sealed: try row.bytes("sealed"), of: establishment, version: version, by: keys)
        )
    }
}
