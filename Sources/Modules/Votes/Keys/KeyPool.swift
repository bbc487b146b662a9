package import ErrandCrypto
package import Errand
package import ErrandPostgres

/// Creates keys ahead for new votes, and keeps the keys of current votes open.
///
/// The database cannot seal keys, as it does not have the key file, so each vote takes a prepared
/// key. In clear, a key exists only in an unlogged table, which is empty after a crash of the
/// server; this job then opens the keys again. A worker cannot read it there, and without the
/// vote's share, which never leaves the database, the key opens no link.
package struct KeyPool: Sendable {
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
        /// The number of votes whose keys cannot be opened, so that they cannot be counted.
        package var damaged = 0

        package init(made: Int = 0, opened: Int = 0, damaged: Int = 0) {
            self.made = made
            self.opened = opened
            self.damaged = damaged
        }
    }

    // Serializes concurrent runs until their transactions end.
    private static let new = "SELECT votes.missing_keys($1)"
    private static let add = "SELECT votes.add_key($1, $2, $3, $4)"
    private static let closed = "SELECT id, vote_id, sealed FROM votes.closed_keys($1, $2)"
    private static let open = "SELECT votes.open_key($1, $2, $3)"
    private static let forget = "SELECT votes.forget_key($1)"

    /// Opens the keys that are not open, then creates the missing ones.
    ///
    /// - Throws: `CryptoError.unknownKey` if a sealing key is missing, after all other keys were
    ///   opened and created.
    @discardableResult
    package func run(in database: Pool) async throws -> Result {
        var result = Result()
        let missing = try await openAll(in: database, &result)
        while true {
            let made = try await database.transaction { transaction in
                let ids = try await transaction.query(Self.new, [.int32(Int32(Self.batch))])
                var statements: [Statement] = []
                for row in ids {
                    let (id, secret) = (try row.int64(0), try VoteSecret())
                    let sealed = try secret.sealed(id: id, by: keys)
                    statements.append(
                        Statement(
                            Self.add,
                            [
                                .int64(id), .bytes(sealed), .bytes(secret.cipherKey),
                                .bytes(secret.macKey),
                            ]))
                }
                if !statements.isEmpty { _ = try await transaction.pipeline(statements) }
                return ids.count
            }
            result.made += made
            guard made == Self.batch else { break }
        }
        if let missing { throw missing }
        return result
    }

    private static func opening(_ id: Int64, _ secret: VoteSecret) -> Statement {
        Statement(open, [.int64(id), .bytes(secret.cipherKey), .bytes(secret.macKey)])
    }

    /// - Returns: the error, if a sealing key is missing here.
    private func openAll(
        in database: Pool, _ result: inout Result
    ) async throws -> CryptoError? {
        var missing: CryptoError?
        var last: Int64 = 0
        while true {
            let after = last
            let rows = try await database.withSession {
                try await $0.query(
                    Self.closed, [.int64(after), .int32(Int32(Self.batch))])
            }
            guard !rows.isEmpty else { return missing }
            var statements: [Statement] = []
            for row in rows {
                let id = try row.int64("id")
                last = id
                do throws(CryptoError) {
                    let sealed: [UInt8]
                    do throws(PostgresError) { sealed = try row.bytes("sealed") } catch {
                        throw .damaged
                    }
                    statements.append(
                        Self.opening(id, try VoteSecret(sealed: sealed, id: id, by: keys)))
                    result.opened += 1
                } catch .damaged {
                    guard let vote = try row.optionalInt64("vote_id") else {
                        statements.append(Statement(Self.forget, [.int64(id)]))
                        continue
                    }
                    result.damaged += 1
                    log.with("vote", Int(vote)).error(
                        "the key of a vote is damaged: its ballots cannot be counted")
                } catch {
                    missing = error
                }
            }
            guard !statements.isEmpty else { continue }
            let all = statements
            _ = try await database.withSession { try await $0.pipeline(all) }
        }
    }
}

/// Maintains the keys of votes: see ``KeyPool``.
package struct PrepareKeys: Job {
    package static let kind = "votes.keys"
    /// Few attempts: the next run repeats the work.
    package static let options = JobOptions(
        queue: "votes", priority: .critical, maxAttempts: 5,
        backoff: Backoff(base: 1, ceiling: 20), timeout: .seconds(120), retention: .seconds(3_600))

    package init() {}

    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "@every 10s", run: PrepareKeys(), catchUp: .latest(within: .seconds(60)),
            overlap: .skip)
    }
}
