package import ErrandCrypto
package import Errand
package import ErrandPostgres

/// Keeps keys ready for votes to come, and those of present votes open.
///
/// A vote takes one that is ready, because the database cannot seal: it does not have the file of
/// keys. In clear a key is in an unlogged table alone, which is empty after a crash of the server;
/// then it is opened anew here.
package struct KeyPool: Sendable {
    private let keys: SealingKeys
    private let log: Log
    /// Keys of one transaction.
    private static let batch = 500

    /// Seals by `keys` what it makes.
    package init(sealing keys: SealingKeys, log: Log) {
        self.keys = keys
        self.log = log
    }

    /// What one run has done.
    package struct Result: Sendable, Equatable {
        package var made = 0
        /// Keys that a crash of the server had emptied from its memory.
        package var opened = 0
        /// Keys of votes that cannot be opened: nobody can count these.
        package var damaged = 0

        package init(made: Int = 0, opened: Int = 0, damaged: Int = 0) {
            self.made = made
            self.opened = opened
            self.damaged = damaged
        }
    }

    /// Runs at the same time do one another's work, and wait for each other.
    private static let lock = """
        SELECT pg_advisory_xact_lock(hashtextextended('votes.keys', 0))
        """

    private static let new = """
        SELECT nextval(pg_get_serial_sequence('votes.keys', 'id'))
        FROM votes.rules r, generate_series(1, least($1, r.keys_ahead - (
            SELECT count(*) FROM votes.keys k JOIN votes.open_keys o ON o.key_id = k.id
            WHERE k.vote_id IS NULL AND k.sealed IS NOT NULL)))
        """

    private static let insert = "INSERT INTO votes.keys (id, sealed) VALUES ($1, $2)"

    private static let closed = """
        SELECT k.id, k.vote_id, k.sealed
        FROM votes.keys k LEFT JOIN votes.open_keys o ON o.key_id = k.id
        WHERE k.sealed IS NOT NULL AND o.key_id IS NULL AND k.id > $1
        ORDER BY k.id LIMIT $2
        """

    // Its row is locked, so that a key that is being destroyed does not come back.
    private static let open = """
        INSERT INTO votes.open_keys (key_id, cipher_key, mac_key)
        SELECT k.id, $2, $3 FROM votes.keys k
        WHERE k.id = $1 AND k.sealed IS NOT NULL FOR NO KEY UPDATE
        ON CONFLICT DO NOTHING
        """

    private static let forget = "DELETE FROM votes.keys WHERE id = $1 AND vote_id IS NULL"

    /// Opens what is not open, then makes as many keys as are missing.
    ///
    /// - Throws: `CryptoError.unknownKey` when a key is sealed by one that is not there; all others
    ///   are opened, and new ones made, before.
    @discardableResult
    package func run(in database: Pool) async throws -> Result {
        var result = Result()
        let missing = try await openAll(in: database, &result)
        while true {
            let made = try await database.transaction { transaction in
                _ = try await transaction.query(Self.lock, [])
                let ids = try await transaction.query(Self.new, [.int64(Int64(Self.batch))])
                var statements: [Statement] = []
                for row in ids {
                    let (id, secret) = (try row.int64(0), try VoteSecret())
                    let sealed = try secret.sealed(id: id, by: keys)
                    statements.append(Statement(Self.insert, [.int64(id), .bytes(sealed)]))
                    statements.append(Self.opening(id, secret))
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

    /// - Returns: why some could not be opened, if they may be elsewhere.
    private func openAll(
        in database: Pool, _ result: inout Result
    ) async throws -> CryptoError? {
        var missing: CryptoError?
        var last: Int64 = 0
        while true {
            let after = last
            let rows = try await database.withSession {
                try await $0.query(
                    Self.closed, [.int64(after), .int64(Int64(Self.batch))])
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

/// Keeps the keys of votes: see ``KeyPool``.
package struct PrepareKeys: Job {
    package static let kind = "votes.keys"
    /// The next run does its work too.
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
