import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Postings", .database) struct PostingTests {
    @Test("a reward moves what the shop pays to the person and the company")
    func reward() async throws {
        let ground = try await LedgerGround()
        let id = try await ground.credit(1, "survey:12", shop: 2, paid: 500, cut: 320)
        let rows = try await ground.session.query(
            """
            SELECT a.kind, a.owner, p.amount, t.key, t.kind AS of, t.source, t.at = p.at AS same
            FROM ledger.postings p JOIN ledger.accounts a ON a.id = p.account_id
            JOIN ledger.transactions t ON t.id = p.transaction_id
            WHERE p.transaction_id = $1 ORDER BY p.amount
            """, [.int64(id)])
        let lines = try rows.map {
            "\(try $0.text("kind")) \(try $0.int64("owner")) \(try $0.int64("amount"))"
        }
        #expect(lines == ["establishment 2 -500", "commission 0 180", "person 1 320"])
        #expect(try rows[0].text("key") == "reward:1:survey:12")
        #expect(try rows[0].text("of") == "reward")
        #expect(try rows[0].text("source") == "survey:12")
        #expect(try rows.allSatisfy { try $0.bool("same") })
    }

    @Test("without commission, and by the company itself, two lines are enough")
    func twoLines() async throws {
        let ground = try await LedgerGround()
        try await ground.credit(1, "survey:1", shop: 1, paid: 500, cut: 500)
        try await ground.credit(1, "mission:1", shop: nil, paid: 700, cut: 700)
        #expect(try await ground.count("postings") == 4)
        #expect(try await ground.balances(ground.account("commission")) == (0, 0))
        #expect(try await ground.balances(ground.account("company")) == (-700, -700))
        #expect(try await ground.balances(ground.account("person", 1)) == (1_200, 1_200))
    }

    @Test("the same reward again is the same transaction; with other amounts it is an error")
    func idempotent() async throws {
        let ground = try await LedgerGround()
        let id = try await ground.credit(1, "survey:1")
        #expect(try await ground.credit(1, "survey:1") == id)
        #expect(try await ground.credit(2, "survey:1") != id, "another person's is another")
        let error = await refusal { try await ground.credit(1, "survey:1", cut: 301) }
        #expect(error?.sqlState == "23505")
        #expect(
            error?.description.contains("is known with other content (accounts and amounts)")
                == true)
        #expect(try await ground.count("transactions") == 2)
    }

    @Test("keys tell transactions apart by all of their content")
    func content() async throws {
        let ground = try await LedgerGround()
        let (a, b, c) = (
            try await ground.account("person", 1), try await ground.account("bank"),
            try await ground.account("person", 2)
        )
        let at = Instant(microseconds: 1_700_000_000_000_000)
        let later = Instant(microseconds: 1_700_000_000_000_001)
        let id = try await ground.post("k", [a: 5, b: -5], at: at, note: "n")
        #expect(try await ground.post("k", [b: -5, a: 5], at: at, note: "n") == id)
        #expect(try await ground.post("k", [a: 5, b: -5], note: "n") == id, "any time will do")
        for (part, attempt) in [
            ("accounts", { try await ground.post("k", [c: 5, b: -5], at: at, note: "n") }),
            ("accounts", { try await ground.post("k", [a: 5, b: -6, c: 1], at: at, note: "n") }),
            ("accounts", { try await ground.post("k", [a: 6, b: -6], at: at, note: "n") }),
            ("at", { try await ground.post("k", [a: 5, b: -5], at: later, note: "n") }),
            ("note", { try await ground.post("k", [a: 5, b: -5], at: at) }),
        ] as [(String, () async throws -> Int64)] {
            let error = await refusal { _ = try await attempt() }
            #expect(error?.sqlState == "23505")
            #expect(error?.description.contains("other content (\(part)") == true)
        }
        #expect(try await ground.count("postings") == 2)
    }

    @Test("what does not sum to zero in each currency is refused when it commits")
    func imbalance() async throws {
        let ground = try await LedgerGround()
        let a = try await ground.account("person", 1)
        let b = try await ground.account("bank")
        let yen = try await ground.account("person", 1, "JPY")
        for lines: KeyValuePairs<Int64, Int64> in [
            [a: 5, b: -4], [a: 5], [a: 5, yen: -5], [a: 5, b: -4, yen: -1],
        ] {
            let error = await refusal { try await ground.post("x", lines) }
            #expect(error?.sqlState == "23000")
            #expect(error?.description.contains("not balanced") == true)
        }
        let empty = await refusal { try await ground.post("x", [:]) }
        #expect(empty?.description.contains(": no postings") == true)
        #expect(try await ground.count("transactions") == 0)
        #expect(try await ground.balances(a) == (0, 0))
        // Two currencies in one transaction, each of which sums to zero.
        let bank = try await ground.account("bank", 0, "JPY")
        try await ground.post("two", [a: 5, b: -5, yen: 700, bank: -700])
        #expect(try await ground.balances(yen) == (700, 700))
    }

    @Test("the sum is looked at when the transaction commits, not before")
    func deferred() async throws {
        let ground = try await LedgerGround()
        let a = try await ground.account("person", 1)
        let b = try await ground.account("bank")
        try await ground.session.transaction { session in
            let id = try session.query(
                "SELECT ledger.post('x', 'test', ARRAY[$1::bigint], '{5}')", [.int64(a)]
            ).int64(0, 0)
            _ = try session.query(
                """
                INSERT INTO ledger.postings
                SELECT $1, $2, -5, at FROM ledger.transactions WHERE id = $1
                """, [.int64(id), .int64(b)])
        }
        #expect(try await ground.balances(a) == (5, 5))
        #expect(try await ground.balances(b) == (-5, -5))
    }

    @Test("nothing is added to a transaction that was made before")
    func noLatePostings() async throws {
        let ground = try await LedgerGround()
        let a = try await ground.account("person", 1)
        let id = try await ground.credit(2, "survey:1")
        let error = await refusal {
            _ = try await ground.session.query(
                """
                INSERT INTO ledger.postings
                SELECT $1, $2, 5, at FROM ledger.transactions WHERE id = $1
                """, [.int64(id), .int64(a)])
        }
        #expect(error?.description.contains("with their transaction") == true)
        #expect(try await ground.balances(a) == (0, 0))
    }

    @Test("nobody changes or deletes a line, the owner of the tables neither")
    func appendOnly() async throws {
        let ground = try await LedgerGround()
        try await ground.credit(1, "survey:1")
        for statement in [
            "UPDATE ledger.transactions SET note = 'x'", "DELETE FROM ledger.transactions",
            "TRUNCATE ledger.transactions CASCADE", "UPDATE ledger.postings SET amount = 1",
            "UPDATE ledger.postings SET amount = 1 WHERE false", "DELETE FROM ledger.postings",
            "TRUNCATE ledger.postings", "UPDATE ledger.accounts SET owner = 2",
            "DELETE FROM ledger.accounts", "TRUNCATE ledger.accounts",
            "UPDATE ledger.balances SET amount = 1", "DELETE FROM ledger.balances",
            "INSERT INTO ledger.balances VALUES (1, 1, 1)", "TRUNCATE ledger.balances",
        ] {
            let error = await refusal { try await ground.session.script(statement) }
            #expect(error?.sqlState == "23001", "\(statement)")
            let replica = "SET session_replication_role = replica; \(statement)"
            let again = await refusal { try await ground.session.script(replica) }
            #expect(again?.sqlState == "23001", "\(replica)")
        }
        #expect(try await ground.count("postings") == 3)
    }
}
