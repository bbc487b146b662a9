import Foundation
import ErrandPostgres
import ErrandTestServices

/// A ledger with some people and establishments.
struct LedgerGround: Sendable {
    let session: Session

    /// - Parameters:
    ///   - people: ids from 1.
    ///   - shops: ids from 1.
    init(people: Int = 3, shops: Int = 2) async throws {
        session = try TestDatabase.here().session()
        _ = try await session.query(
            """
            INSERT INTO people.people (id, birth_date)
            SELECT n, '1990-05-17' FROM generate_series(1, $1) n
            """,
            [.int64(Int64(people))])
        _ = try await session.query(
            """
            INSERT INTO establishments.establishments (id, name)
            SELECT n, 'Shop ' || n FROM generate_series(1, $1) n
            """, [.int64(Int64(shops))])
    }

    /// The id of an account, made now if need be.
    func account(_ kind: String, _ owner: Int64 = 0, _ currency: String = "CAD") async throws
        -> Int64
    {
        try await session.query(
            "SELECT ledger.account($1, $2, $3)", [.text(kind), .int64(owner), .text(currency)]
        ).int64(0, 0)
    }

    /// Posts, in a transaction of its own.
    @discardableResult
    func post(
        _ key: String, _ lines: KeyValuePairs<Int64, Int64>, at: Instant? = nil,
        note: String? = nil, on other: Session? = nil
    ) async throws -> Int64 {
        let accounts = lines.map(\.key)
        let amounts = lines.map(\.value)
        return try await (other ?? session).transaction { session in
            try session.query(
                "SELECT ledger.post($1, 'test', $2, $3, $4, note => $5)",
                [
                    .text(key), .int64Array(accounts), .int64Array(amounts), .optional(at),
                    .optional(note),
                ]
            ).int64(0, 0)
        }
    }

    /// Credits a reward, in a transaction of its own.
    @discardableResult
    func credit(
        _ person: Int64, _ source: String, shop: Int64? = 1, paid: Int64 = 500, cut: Int64 = 300,
        currency: String = "CAD", at: Instant? = nil, on other: Session? = nil
    ) async throws -> Int64 {
        try await (other ?? session).transaction { session in
            try session.query(
                "SELECT ledger.credit_reward($1, $2, $3, $4, $5, $6, $7)",
                [
                    .int64(person), .text(source), .optional(shop), .int64(paid), .int64(cut),
                    .text(currency), .optional(at),
                ]
            ).int64(0, 0)
        }
    }

    /// What an account holds: as its rows of balances say, and as its postings do.
    func balances(_ account: Int64) async throws -> (kept: Int64, summed: Int64) {
        let rows = try await session.query(
            """
            SELECT ledger.balance($1), coalesce((
                SELECT sum(amount) FROM ledger.postings WHERE account_id = $1), 0)::bigint
            """, [.int64(account)])
        return (try rows.int64(0, 0), try rows.int64(0, 1))
    }

    /// How many rows a table of the ledger has.
    func count(_ table: String) async throws -> Int64 {
        try await session.query("SELECT count(*) FROM ledger.\(table)").int64(0, 0)
    }
}

/// The error that a step ends with.
func refusal(_ body: () async throws -> Void) async -> PostgresError? {
    do {
        try await body()
        return nil
    } catch { return error as? PostgresError }
}
