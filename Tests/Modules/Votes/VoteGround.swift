import ErrandCrypto
import Foundation
import Errand
import ErrandKeys
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing
import ErrandVotes

/// People who vote, and keys for their votes.
struct VoteGround: Sendable {
    let pool: Pool
    let session: Session
    let first: SealingKey
    let keys: SealingKeys
    let kinds: JobKinds

    /// - Parameters:
    ///   - people: ids from 1, without quiet hours: tests run at night, too. The first one opens
    ///     votes.
    ///   - ready: keys that are there; 0 makes none.
    init(people: Int = 10, ready: Int = 5) async throws {
        let database = try TestDatabase.here()
        pool = database.pool()
        session = database.session()
        first = try SealingKey(id: "mine", secret: .random(32))
        keys = try SealingKeys(current: first)
        var kinds = JobKinds()
        VoteKinds.add(to: &kinds, notices: try .of([VotesModule()]), sealing: keys)
        self.kinds = kinds
        _ = try await session.query(
            """
            INSERT INTO people.people (id, quiet_from, quiet_until)
            SELECT n, NULL, NULL FROM generate_series(1, $1) n
            """, [.int64(Int64(people))])
        guard ready > 0 else { return }
        _ = try await session.query(
            "UPDATE votes.rules SET keys_ahead = $1", [.int32(Int32(ready))])
        try await prepare()
    }

    @discardableResult
    func prepare(by other: SealingKeys? = nil) async throws -> PreparedKeys {
        try await KeyPool(sealing: other ?? keys, log: .silent).run(in: pool)
    }

    /// Destroys the keys of votes that are over.
    func destroyKeys() async throws {
        _ = try await pool.withSession {
            try await $0.query("SELECT votes.rotate_wrapping_key()")
        }
        var progress = "again"
        while progress == "again" {
            progress = try await pool.withSession {
                try await $0.query("SELECT progress FROM votes.destroy_keys()").text(0, 0)
            }
        }
    }

    /// What somebody is answered who joins or casts.
    struct Answer: Sendable, Equatable {
        var isAccepted: Bool
        var reason: String
        var receipt: String?
    }

    /// Opens a vote of the first person, until in an hour unless said otherwise.
    func open(
        _ options: [String] = ["Ann", "Bob", "Cy"], expected: Int32? = nil,
        password: String? = nil, atMost: Int32 = 1, closing: String = "1 hour"
    ) async throws -> Int64 {
        try await session.query(
            """
            SELECT votes.open('Who leads?', $1, 1, clock_timestamp() + $2::text::interval,
                NULL, $3, $4, NULL, NULL, NULL, $5)
            """,
            [
                .textArray(options), .text(closing), .optional(expected), .optional(password),
                .int32(atMost),
            ]
        ).int64(0, 0)
    }

    private func answer(_ sql: String, _ parameters: [Parameter]) async throws -> Answer {
        try await pool.withSession { session in
            let rows = try await session.query(
                "SELECT is_accepted, reason, receipt FROM " + sql, parameters)
            return Answer(
                isAccepted: try rows.bool(0, 0), reason: try rows.text(0, 1),
                receipt: try rows.first?.optionalText(2))
        }
    }

    @discardableResult
    func join(
        _ vote: Int64, _ person: Int64, as name: String? = nil, password: String? = nil
    ) async throws -> Answer {
        try await answer(
            "votes.join($1, $2, $3, $4, $5)",
            [
                .int64(vote), .int64(person), .text(name ?? "Person \(person)"),
                .text("Door \(person)"), .optional(password),
            ])
    }

    @discardableResult
    func cast(
        _ vote: Int64, _ person: Int64, _ options: [Int32] = [1], password: String? = nil,
        nonce: [UInt8]? = nil
    ) async throws -> Answer {
        try await answer(
            "votes.cast($1, $2, $3, $4, $5)",
            [
                .int64(vote), .int64(person), .int32Array(options), .optional(password),
                .optionalBytes(nonce),
            ])
    }

    /// Joins and casts; returns the receipt.
    @discardableResult
    func vote(
        _ vote: Int64, _ person: Int64, _ options: [Int32] = [1], as name: String? = nil
    ) async throws -> String {
        try await join(vote, person, as: name)
        let answer = try await cast(vote, person, options)
        #expect(answer.reason == "ok")
        return try #require(answer.receipt)
    }

    /// Lets the time of a vote be over, and its job be due.
    func end(_ vote: Int64) async throws {
        _ = try await session.query(
            """
            UPDATE votes.votes SET opens_at = clock_timestamp() - interval '1 hour',
                closes_at = clock_timestamp()
            WHERE id = $1 AND state = 'open'
            """, [.int64(vote)])
        _ = try await session.query("SELECT votes.sweep()")
        _ = try await session.query(
            """
            UPDATE errand.jobs SET run_at = clock_timestamp()
            WHERE kind = 'votes.close' AND args = jsonb_build_object('vote_id', $1::bigint)
            """, [.int64(vote)])
    }

    /// Lets workers do all that is due.
    func work(workers: Int = 1) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<workers {
                group.addTask {
                    _ = try await TestWorker.drain(kinds, queues: [.init("votes", concurrency: 3)])
                }
            }
            try await group.waitForAll()
        }
    }

    // MARK: Looking

    func number(_ sql: String, _ parameters: [Parameter] = []) async throws -> Int64 {
        try await session.query(sql, parameters).int64(0, 0)
    }

    func texts(_ sql: String, _ parameters: [Parameter] = []) async throws -> [String] {
        try await session.query(sql, parameters).map { try $0.text(0) }
    }

    /// Its state, and what closed it.
    func state(_ vote: Int64) async throws -> String {
        try await session.query(
            """
            SELECT state || coalesce(' ' || closed_for, '') FROM votes.votes WHERE id = $1
            """, [.int64(vote)]
        ).text(0, 0)
    }

    /// What each option got; nil while the result is not out.
    func totals(_ vote: Int64) async throws -> [Int32]? {
        let rows = try await session.query(
            "SELECT ballots FROM votes.result($1) ORDER BY number", [.int64(vote)])
        return rows.isEmpty ? nil : try rows.map { try $0.int32(0) }
    }

    func names(_ vote: Int64) async throws -> [String] {
        try await texts("SELECT name FROM votes.names($1)", [.int64(vote)])
    }

    /// Why a receipt is good or not, by the database.
    func verdict(_ receipt: String) async throws -> String {
        try await session.query(
            "SELECT reason FROM votes.verify_receipt($1)", [.text(receipt)]
        ).text(0, 0)
    }

    /// Whom a kind of notice was made for.
    func told(_ kind: String) async throws -> [Int64] {
        try await session.query(
            "SELECT person_id FROM notification.notices WHERE kind = $1 ORDER BY 1, id",
            [.text(kind)]
        ).map { try $0.int64(0) }
    }

    /// What the server refuses a statement with.
    func refusal(_ sql: String, _ parameters: [Parameter] = []) async throws -> String? {
        do throws(PostgresError) {
            _ = try await session.query(sql, parameters)
            return nil
        } catch { return error.sqlState }
    }

    /// Every path of the result, checked by the other tree.
    func check(_ vote: Int64) async throws {
        let entries = try await session.query(
            "SELECT commitment FROM votes.ballots WHERE vote_id = $1 ORDER BY position",
            [.int64(vote)]
        ).map { try $0.bytes(0) }
        let tree = MerkleTree(of: entries)
        let root = try await session.query(
            "SELECT root FROM votes.votes WHERE id = $1", [.int64(vote)]
        ).first?.bytes(0)
        #expect(root == tree.root)
        let rows = try await session.query(
            """
            SELECT p.position, p.size, ARRAY(SELECT encode(h, 'hex') FROM unnest(p.path)
                    WITH ORDINALITY AS u (h, n) ORDER BY n) AS path
            FROM votes.ballots b CROSS JOIN LATERAL votes.proof(b.vote_id, b.commitment) p
            WHERE b.vote_id = $1 ORDER BY b.position
            """, [.int64(vote)])
        #expect(rows.count == entries.count)
        for (index, row) in rows.enumerated() {
            #expect(try row.int32("position") == Int32(index))
            #expect(try row.int32("size") == Int32(entries.count))
            #expect(try row.textArray("path") == tree.path(of: index).map(text))
        }
    }

    private func text(_ bytes: [UInt8]) -> String {
        bytes.map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
    }
}
