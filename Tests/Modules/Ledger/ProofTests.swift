import ErrandLedger
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Proofs", .database) struct ProofTests {
    private func prove() async throws -> Proof {
        try await ProveLedger.run(in: TestDatabase.here().pool(), now: .now(), chunk: 2)
    }

    /// Does what no trigger lets pass, as a slip of the hand with the owner's rights would.
    private func spoil(_ session: Session, _ table: String, _ statement: String) async throws {
        try await session.script(
            """
            BEGIN; ALTER TABLE ledger.\(table) DISABLE TRIGGER USER; \(statement);
            ALTER TABLE ledger.\(table) ENABLE TRIGGER USER; COMMIT
            """)
    }

    @Test("a ledger that is whole proves, an empty one too, and each proof is written down")
    func whole() async throws {
        let ground = try await LedgerGround(people: 4)
        let empty = try await prove()
        #expect((empty.accounts, empty.transactions, empty.postings, empty.faults) == (0, 0, 0, 0))
        for person in 1...4 { try await ground.credit(Int64(person), "survey:1", shop: 2) }
        let proof = try await prove()
        #expect((proof.accounts, proof.transactions, proof.postings) == (6, 4, 12))
        #expect(proof.faults == 0)
        let list = try await Proof.list(ground.session, limit: 5)
        #expect(list.map(\.id) == [proof.id, empty.id])
        #expect(list[0].postings == 12)
    }

    @Test("a balance that was changed is found, and operators are told")
    func balance() async throws {
        let ground = try await LedgerGround()
        _ = try await ground.session.query(
            """
            INSERT INTO notification.endpoints (owner, url, events, secret)
            VALUES ('operator', 'https://example.org/', '{ledger.broken}', 'x')
            """)
        try await ground.credit(1, "survey:1")
        let account = try await ground.account("person", 1)
        try await spoil(
            ground.session, "balances",
            "UPDATE ledger.balances SET amount = 301 WHERE account_id = \(account)")
        let proof = try await prove()
        #expect(proof.faults == 1)
        #expect(
            proof.examples == ["account \(account): its balance says 301, its postings 300"])
        let list = try await Proof.list(ground.session, limit: 1)
        #expect(list.first?.examples == proof.examples)
        let event = try await ground.session.query(
            "SELECT data ->> 'proof_id' FROM notification.events WHERE kind = 'ledger.broken'")
        #expect(try event.map { try $0.text(0) } == ["\(proof.id)"])
    }

    @Test("postings that were changed, lost or made up are found")
    func postings() async throws {
        for (statement, words) in [
            ("UPDATE ledger.postings SET amount = amount + 1 WHERE amount = 300", "sums to 1 CAD"),
            ("DELETE FROM ledger.postings", "has no postings"),
            ("UPDATE ledger.postings SET at = now() WHERE amount = 300", "of another time"),
            ("UPDATE ledger.postings SET account_id = 99 WHERE amount = 300", "to no account"),
            ("INSERT INTO ledger.postings VALUES (99, 1, 5, now())", "accounts have 4 postings"),
        ] {
            let ground = try await LedgerGround(people: 0, shops: 0)
            let exists = try await ground.count("transactions") > 0
            if !exists {
                _ = try await ground.session.query(
                    "INSERT INTO people.people (id, birth_date) VALUES (1, '1990-05-17')")
                _ = try await ground.session.query(
                    "INSERT INTO establishments.establishments (id, name) VALUES (1, 'x')")
                try await ground.credit(1, "survey:1")
            }
            try await ground.session.script(
                "CREATE TABLE kept AS TABLE ledger.postings")
            try await spoil(ground.session, "postings", statement)
            let proof = try await prove()
            #expect(proof.faults > 0, "\(statement)")
            #expect(proof.examples.contains { $0.contains(words) }, "\(proof.examples)")
            try await spoil(
                ground.session, "postings",
                "DELETE FROM ledger.postings; INSERT INTO ledger.postings TABLE kept")
            try await ground.session.script("DROP TABLE kept")
            #expect(try await prove().faults == 0)
        }
    }

    @Test("it sees one moment, whatever is written meanwhile")
    func snapshot() async throws {
        let ground = try await LedgerGround(people: 3)
        for person in 1...3 { try await ground.credit(Int64(person), "survey:1") }
        let pool = try TestDatabase.here().pool()
        let proof = try await pool.transaction { transaction in
            try await Proof.make(now: .now(), chunk: 1) { sql, parameters in
                let rows = try await transaction.query(sql, parameters)
                // After the first statement that reads, and after each one that follows.
                if sql.contains("LIMIT") {
                    _ = try await ground.session.query(
                        """
                        SELECT ledger.credit_reward(1, 'survey:' || gen_random_uuid(), 1, 50, 30)
                        """)
                }
                return rows
            }
        }
        #expect(proof.examples == [])
        #expect(proof.postings == 9)
    }
}
