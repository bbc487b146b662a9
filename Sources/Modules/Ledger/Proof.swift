package import ErrandPostgres

/// The result of comparing balances with postings and summing transactions.
package struct Proof: Sendable {
    /// The id in `ledger.proofs`; 0 before it is written.
    package var id: Int64 = 0
    package var startedAt: Instant
    package var endedAt: Instant
    package var accounts = 0
    package var transactions = 0
    package var postings = 0
    package var faults = 0
    /// Descriptions of the first faults.
    package var examples: [String] = []

    /// Maximum number of examples.
    static let exampleLimit = 20
}

extension Proof {
    /// Runs a statement in a transaction of a session or a pool.
    package typealias Query = (_ sql: String, _ parameters: [Parameter]) async throws -> Rows

    /// The first statement of the transaction: all chunks read one snapshot.
    static let snapshot = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"

    private static let accountChunk = """
        WITH part AS MATERIALIZED (
            SELECT id FROM ledger.accounts WHERE id > $1 ORDER BY id LIMIT $2
        ), sums AS (
            SELECT part.id, lines.total, lines.count, (
                SELECT coalesce(sum(b.amount), 0) FROM ledger.balances b
                WHERE b.account_id = part.id) AS kept
            FROM part CROSS JOIN LATERAL (
                SELECT coalesce(sum(p.amount), 0) AS total, count(*) FROM ledger.postings p
                WHERE p.account_id = part.id) lines
        )
        SELECT max(id) AS last, count(*) AS seen, coalesce(sum(count), 0)::bigint AS postings,
            count(*) FILTER (WHERE kept <> total) AS faults,
            coalesce((array_agg(
                format('account %s: its balance says %s, its postings %s', id, kept, total)
                ORDER BY id) FILTER (WHERE kept <> total))[1:20], '{}') AS examples
        FROM sums
        """
    private static let transactionChunk = """
        WITH part AS MATERIALIZED (
            SELECT id, at FROM ledger.transactions WHERE id > $1 ORDER BY id LIMIT $2
        ), sums AS (
            SELECT part.id, a.currency, sum(p.amount) AS total, count(p.account_id) AS lines,
                count(*) FILTER (WHERE a.id IS NULL) AS strays,
                count(*) FILTER (WHERE p.at <> part.at) AS late
            FROM part LEFT JOIN ledger.postings p ON p.transaction_id = part.id
            LEFT JOIN ledger.accounts a ON a.id = p.account_id
            GROUP BY part.id, a.currency
        ), faults AS (
            SELECT id, CASE
                WHEN lines = 0 THEN format('transaction %s has no postings', id)
                WHEN strays > 0 THEN format('transaction %s posts to no account', id)
                WHEN late > 0 THEN format('transaction %s has postings of another time', id)
                ELSE format('transaction %s sums to %s %s', id, total, currency) END AS words
            FROM sums WHERE lines = 0 OR strays > 0 OR late > 0 OR total <> 0
        )
        SELECT (SELECT max(id) FROM part) AS last, (SELECT count(*) FROM part) AS seen,
            (SELECT coalesce(sum(lines), 0)::bigint FROM sums) AS postings,
            (SELECT count(*) FROM faults) AS faults,
            coalesce((SELECT (array_agg(words ORDER BY id))[1:20] FROM faults), '{}') AS examples
        """
    private static let strays = """
        SELECT count(*) FROM ledger.balances b
        WHERE NOT EXISTS (SELECT FROM ledger.accounts a WHERE a.id = b.account_id)
        """

    /// Proves the ledger in a new transaction.
    ///
    /// - Parameters:
    ///   - chunk: accounts, or transactions, per statement.
    ///   - query: runs a statement in the transaction.
    package static func make(
        now: Instant, chunk: Int = 10_000, _ query: Query
    ) async throws -> Proof {
        _ = try await query(snapshot, [])
        var proof = Proof(startedAt: now, endedAt: now)
        var posted = 0
        func walk(_ statement: String, _ done: (_ seen: Int, _ postings: Int) -> Void) async throws
        {
            var last: Int64? = Int64.min
            while let behind = last {
                let rows = try await query(statement, [.int64(behind), .int64(Int64(chunk))])
                guard let row = rows.first else { return }
                done(Int(try row.int64("seen")), Int(try row.int64("postings")))
                proof.note(Int(try row.int64("faults")), try row.textArray("examples"))
                last = try row.optionalInt64("last")
            }
        }
        var (accounts, transactions, postings) = (0, 0, 0)
        try await walk(accountChunk) { seen, count in
            accounts += seen
            posted += count
        }
        try await walk(transactionChunk) { seen, count in
            transactions += seen
            postings += count
        }
        (proof.accounts, proof.transactions, proof.postings) = (accounts, transactions, postings)
        if posted != postings {
            proof.note(
                1, ["accounts have \(posted) postings, transactions \(postings)"])
        }
        let strays = Int(try await query(Self.strays, []).int64(0, 0))
        if strays > 0 { proof.note(strays, ["\(strays) balances have no account"]) }
        proof.endedAt = .now()
        return proof
    }

    private mutating func note(_ count: Int, _ words: [String]) {
        faults += count
        examples += words.prefix(max(0, Self.exampleLimit - examples.count))
    }

    private static let insert = """
        INSERT INTO ledger.proofs (started_at, ended_at, accounts, transactions, postings, faults,
            examples)
        VALUES ($1, $2, $3, $4, $5, $6, to_jsonb($7::text[])) RETURNING id
        """
    /// Emits an event to the endpoints of `operator`.
    private static let alarm = """
        SELECT notification.emit('ledger.broken', 'operator', jsonb_build_object('proof_id',
            $1::bigint::text, 'faults', $2::bigint), 'ledger.broken:' || $1::bigint)
        """

    /// Writes the proof, and the alarm if it has faults, in another transaction.
    package mutating func write(_ query: Query) async throws {
        id = try await query(
            Self.insert,
            [
                .timestamp(startedAt), .timestamp(endedAt), .int64(Int64(accounts)),
                .int64(Int64(transactions)), .int64(Int64(postings)), .int64(Int64(faults)),
                .textArray(examples),
            ]
        ).int64(0, 0)
        guard faults > 0 else { return }
        _ = try await query(Self.alarm, [.int64(id), .int64(Int64(faults))])
    }

    private static let list = """
        SELECT id, started_at, ended_at, accounts, transactions, postings, faults,
            ARRAY(SELECT jsonb_array_elements_text(examples)) AS examples
        FROM ledger.proofs ORDER BY id DESC LIMIT $1
        """

    /// Returns the latest proofs, newest first.
    package static func list(_ session: Session, limit: Int) async throws -> [Proof] {
        try await session.query(list, [.int64(Int64(limit))]).map { row in
            Proof(
                id: try row.int64("id"), startedAt: try row.timestamp("started_at"),
                endedAt: try row.timestamp("ended_at"), accounts: Int(try row.int64("accounts")),
                transactions: Int(try row.int64("transactions")),
                postings: Int(try row.int64("postings")), faults: Int(try row.int64("faults")),
                examples: try row.textArray("examples"))
        }
    }
}
