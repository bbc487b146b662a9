import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Refusals", .database) struct RefusalTests {
    @Test("what makes no sense as a reward is refused, and nothing is kept of it")
    func rewards() async throws {
        let ground = try await LedgerGround()
        let future = Instant.now().adding(.seconds(3_600))
        for (words, attempt) in [
            ("0 < cut <= paid", { try await ground.credit(1, "survey:1", paid: 500, cut: 0) }),
            ("0 < cut <= paid", { try await ground.credit(1, "survey:1", paid: 500, cut: 501) }),
            ("0 < cut <= paid", { try await ground.credit(1, "survey:1", paid: -5, cut: -6) }),
            (
                "found 1000000000000001 and 5",
                { try await ground.credit(1, "survey:1", paid: 1_000_000_000_000_001, cut: 5) }
            ),
            ("such as survey:12", { try await ground.credit(1, "survey") }),
            (
                "such as survey:12",
                { try await ground.credit(1, "survey:" + String(repeating: "1", count: 94)) }
            ),
            ("currency XYZ", { try await ground.credit(1, "survey:1", currency: "XYZ") }),
            ("no person has the id 99", { try await ground.credit(99, "survey:1") }),
            (
                "no establishment has the id 99",
                { try await ground.credit(1, "survey:1", shop: 99) }
            ),
            (
                "pays no commission to itself",
                { try await ground.credit(1, "mission:1", shop: nil, paid: 500, cut: 400) }
            ),
            ("must not be in the future", { try await ground.credit(1, "survey:1", at: future) }),
        ] as [(String, () async throws -> Int64)] {
            let error = await refusal { _ = try await attempt() }
            #expect(error?.description.contains(words) == true, "\(words): \(error as Any)")
        }
        #expect(try await ground.count("transactions") == 0)
        #expect(try await ground.count("accounts") == 0)
    }

    @Test("what makes no sense as a posting is refused")
    func postings() async throws {
        let ground = try await LedgerGround()
        let a = try await ground.account("person", 1)
        let b = try await ground.account("bank")
        let large: Int64 = 1_000_000_000_000_001
        for (words, attempt) in [
            ("nonzero amounts", { try await ground.post("x", [a: 0, b: 0]) }),
            ("at most 10^15", { try await ground.post("x", [a: large, b: -large]) }),
            ("postings_one_an_account", { try await ground.post("x", [a: 1, a: 1, b: -2]) }),
            (
                "no account of the ledger has the id 99",
                { try await ground.post("x", [99: 1, b: -1]) }
            ),
            ("is out of range", { try await ground.post("", [a: 1, b: -1]) }),
            (
                "is out of range",
                { try await ground.post("x", [a: 1, b: -1], at: .infinity) }
            ),
        ] as [(String, () async throws -> Int64)] {
            let error = await refusal { _ = try await attempt() }
            #expect(error?.description.contains(words) == true, "\(words): \(error as Any)")
        }
        let uneven = await refusal {
            _ = try await ground.session.query("SELECT ledger.post('x', 'test', '{1,2}', '{1}')")
        }
        #expect(uneven?.description.contains("found 2 and 1") == true)
        #expect(try await ground.count("transactions") == 0)
    }

    @Test("a balance that is full takes no more")
    func full() async throws {
        let ground = try await LedgerGround()
        let a = try await ground.account("person", 1)
        let b = try await ground.account("person", 2)
        let large: Int64 = 1_000_000_000_000_000
        for number in 0..<100 { try await ground.post("k\(number)", [a: large, b: -large]) }
        let error = await refusal { try await ground.post("more", [a: 1, b: -1]) }
        #expect(error?.sqlState == "22003")
        #expect(error?.description.contains("exceeds the limit of 10^17") == true)
        #expect(try await ground.balances(a) == (100 * large, 100 * large))
    }

    @Test("a reversal that does not undo the whole transaction is refused")
    func partialReversal() async throws {
        let ground = try await LedgerGround()
        let id = try await ground.credit(1, "survey:1")
        let person = try await ground.account("person", 1)
        let shop = try await ground.account("establishment", 1)
        let error = await refusal {
            _ = try await ground.session.query(
                "SELECT ledger.post('r', 'reversal', $1, $2, reverses => $3)",
                [.int64Array([person, shop]), .int64Array([-300, 300]), .int64(id)])
        }
        #expect(error?.description.contains("do not reverse those of transaction \(id)") == true)
        let unknown = await refusal {
            _ = try await ground.session.query("SELECT ledger.reverse(4711, 'x')")
        }
        #expect(unknown?.description.contains("no transaction has the id 4711") == true)
    }

    @Test("the app's servers credit rewards and read them, and nothing else")
    func app() async throws {
        let ground = try await LedgerGround()
        let (app, name) = try await TestDatabase.here().login(as: "errand_app")
        let id = try await ground.credit(1, "survey:1", on: app)
        let balance = try await app.query("SELECT currency, amount FROM ledger.reward_balance(1)")
        #expect(try balance.text(0, 0) == "CAD")
        #expect(try balance.int64(0, 1) == 300)
        let lines = try await app.query("SELECT * FROM ledger.reward_lines(1)")
        #expect(try lines.map { try $0.int64("transaction_id") } == [id])
        let behind = try await app.query(
            "SELECT * FROM ledger.reward_lines(1, before_at => $1, before_id => $2)",
            [.timestamp(try lines[0].timestamp("at")), .int64(id)])
        #expect(behind.isEmpty)
        let actor = try await ground.session.query(
            "SELECT actor FROM ledger.transactions WHERE id = $1", [.int64(id)]
        ).text(0, 0)
        #expect(actor == name, "it is known who credited it")
        for statement in [
            "SELECT * FROM ledger.accounts", "SELECT * FROM ledger.transactions",
            "SELECT * FROM ledger.postings", "SELECT * FROM ledger.balances",
            "SELECT * FROM ledger.pay_rules", "SELECT * FROM ledger.proofs",
            "INSERT INTO ledger.transactions (key, kind, at, actor) VALUES ('x', 'x', now(), 'x')",
            "UPDATE ledger.balances SET amount = 0", "DELETE FROM ledger.postings",
            "SELECT ledger.account('person', 1, 'CAD')", "SELECT ledger.balance(1)",
            "SELECT ledger.balance_at(1, now())", "SELECT ledger.reverse(1, 'x')",
            "SELECT ledger.post('x', 'x', '{1,2}', '{1,-1}')",
            "ALTER TABLE ledger.postings DISABLE TRIGGER ALL",
        ] {
            let error = await refusal { try await app.script(statement) }
            #expect(error?.sqlState == "42501", "\(statement)")
        }
        await app.close()
        let functions = try await ground.session.query(
            """
            SELECT p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
            WHERE n.nspname = 'ledger' AND has_function_privilege('errand_app', p.oid, 'EXECUTE')
            ORDER BY 1
            """
        ).map { try $0.text(0) }
        #expect(functions == ["credit_reward", "reward_balance", "reward_lines"])
        let till = try await ground.session.query(
            "SELECT has_schema_privilege('errand_till', 'ledger', 'USAGE')")
        #expect(try !till.bool(0, 0))
    }

    @Test("an index answers when a balance or a person's lines are read")
    func plans() async throws {
        let ground = try await LedgerGround(people: 200)
        _ = try await ground.session.query(
            """
            SELECT count(ledger.credit_reward(p, 'survey:' || n, 1, 500, 300))
            FROM generate_series(1, 200) p, generate_series(1, 10) n
            """)
        try await ground.session.script("ANALYZE ledger.balances; ANALYZE ledger.postings")
        for query in [
            "SELECT sum(amount) FROM ledger.balances WHERE account_id = 7",
            "SELECT sum(amount) FROM ledger.postings WHERE account_id = 7 AND at < now()",
        ] {
            let plan = try await ground.session.query("EXPLAIN \(query)").map { try $0.text(0) }
            #expect(plan.contains { $0.contains("Index") && !$0.contains("Seq Scan") })
        }
    }
}
