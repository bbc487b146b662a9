package import ErrandCrypto
package import Errand
package import ErrandPostgres

/// Creates the receipt keys of establishments that have none, and keeps all valid keys open.
///
/// The database cannot seal keys, as it does not have the key file. In clear, a key exists only in
/// an unlogged table, which is empty after a crash of the server; this job then opens the keys
/// again. A damaged key is not replaced: the tills of the establishment have it, and an operator
/// must give them another.
package struct ReceiptKeyPool: Sendable {
    private let keys: SealingKeys
    private let log: Log
    /// The number of keys per transaction.
    private static let batch = 500

    /// Creates a pool that seals new keys with `keys`.
    package init(sealing keys: SealingKeys, log: Log) {
        self.keys = keys
        self.log = log
    }

    /// The result of one run.
    package struct Result: Sendable, Equatable {
        package var made = 0
        /// The number of keys reopened after a crash of the server.
        package var opened = 0
        /// The number of keys that cannot be opened.
        package var damaged = 0
        /// The number of retired keys that were deleted.
        package var forgotten = 0

        package init(made: Int = 0, opened: Int = 0, damaged: Int = 0, forgotten: Int = 0) {
            self.made = made
            self.opened = opened
            self.damaged = damaged
            self.forgotten = forgotten
        }
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
    private static let delete = "SELECT surveys.delete_keys()"

    /// Opens the keys that are not open, creates the missing ones, and deletes retired ones.
    ///
    /// - Throws: `CryptoError.unknownKey` if a sealing key is missing, after all else is done.
    @discardableResult
    package func run(in database: Pool) async throws -> Result {
        var result = Result()
        let unknown = try await openAll(in: database, &result)
        while true {
            let (found, made) = try await database.transaction { transaction in
                let rows = try await transaction.query(Self.missing, [.int32(Int32(Self.batch))])
                var statements: [Statement] = []
                for row in rows {
                    statements.append(
                        try putting(try row.int64(0), version: Int(try row.int32(1))))
                }
                let answers =
                    statements.isEmpty ? [] : try await transaction.pipeline(statements)
                return (rows.count, try answers.count { try $0.bool(0, 0) })
            }
            result.made += made
            guard found == Self.batch else { break }
        }
        result.forgotten = try await database.withSession {
            Int(try await $0.query(Self.delete).int64(0, 0))
        }
        if let unknown { throw unknown }
        return result
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

    /// - Returns: the error, if a sealing key is missing here.
    private func openAll(
        in database: Pool, _ result: inout Result
    ) async throws -> CryptoError? {
        var unknown: CryptoError?
        var last: (establishment: Int64, version: Int32) = (0, 0)
        while true {
            let after = last
            let rows = try await database.withSession {
                try await $0.query(
                    Self.closed,
                    [
                        .int32(Int32(Self.batch)), .int64(after.establishment),
                        .int32(after.version),
                    ])
            }
            guard !rows.isEmpty else { return unknown }
            var statements: [Statement] = []
            for row in rows {
                last = (try row.int64("establishment_id"), try row.int32("version"))
                let sealed = try row.bytes("sealed")
                do throws(CryptoError) {
                    let blocks = try ReceiptKey(
                        sealed: sealed, of: last.establishment, version: Int(last.version),
                        by: keys
                    ).blocks
                    statements.append(
                        Statement(
                            Self.open,
                            [
                                .int64(last.establishment), .int32(last.version),
                                .bytes(blocks.inner), .bytes(blocks.outer),
                            ]))
                    result.opened += 1
                } catch .damaged {
                    result.damaged += 1
                    log.with("establishment", Int(last.establishment)).error(
                        "the receipt key of an establishment is damaged: its receipts are refused")
                } catch {
                    unknown = error
                }
            }
            guard !statements.isEmpty else { continue }
            let all = statements
            _ = try await database.withSession { try await $0.pipeline(all) }
        }
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
