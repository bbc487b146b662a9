package import ErrandCrypto
package import Errand
import ErrandKeys
package import ErrandPostgres

/// Creates keys ahead for new votes, and keeps the keys of current votes open.
///
/// Each vote takes a prepared key. A worker cannot read it where it is open, and without the vote's
/// share, which never leaves the database, the key opens no link.
package struct KeyPool: SealedKeyPool {
    private let keys: SealingKeys
    private let log: Log

    /// Creates a pool that seals new keys with `keys`.
    package init(sealing keys: SealingKeys, log: Log) {
        self.keys = keys
        self.log = log
    }

    // Serializes concurrent runs until their transactions end.
    private static let new = "SELECT votes.missing_keys($1)"
    private static let add = "SELECT true FROM votes.add_key($1, $2, $3, $4)"
    private static let closed = "SELECT id, vote_id, sealed FROM votes.closed_keys($1, $2)"
    private static let open = "SELECT votes.open_key($1, $2, $3)"
    private static let forget = "SELECT votes.forget_key($1)"

    package func closed(behind id: Int64?, most: Int32) -> Statement {
        Statement(Self.closed, [.int64(id ?? 0), .int32(most)])
    }

    package func place(of row: Row) throws -> Int64 { try row.int64("id") }

    package func opening(_ row: Row) throws -> Statement {
        let id = try row.int64("id")
        guard let sealed = try? row.bytes("sealed") else { throw CryptoError.damaged }
        let secret = try VoteSecret(sealed: sealed, id: id, by: keys)
        return Statement(
            Self.open, [.int64(id), .bytes(secret.cipherKey), .bytes(secret.macKey)])
    }

    package func damaged(_ row: Row) throws -> Statement? {
        guard let vote = try row.optionalInt64("vote_id") else {
            return Statement(Self.forget, [.int64(try row.int64("id"))])
        }
        log.with("vote", Int(vote)).error(
            "the key of a vote is damaged: its ballots cannot be counted")
        return nil
    }

    package func missing(most: Int32) -> Statement { Statement(Self.new, [.int32(most)]) }

    package func making(_ row: Row) throws -> Statement {
        let (id, secret) = (try row.int64(0), try VoteSecret())
        return Statement(
            Self.add,
            [
                .int64(id), .bytes(try secret.sealed(id: id, by: keys)),
                .bytes(secret.cipherKey), .bytes(secret.macKey),
            ])
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
