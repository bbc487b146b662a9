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

    @Test("a source has one spelling, so that nobody is paid twice for it")
    func sources() async throws {
        let ground = try await LedgerGround()
        let (app, _) = try await TestDatabase.here().login(as: "errand_app")
        let id = try await ground.credit(1, "survey:12", on: app)
        for source in [
            "survey:12 ", " survey:12", "Survey:12", "SURVEY:12", "survey:１２", "survey:12\u{200B}",
            "survey:012", "survey:12\n", "survey:12\t", "survey: 12", "survey:+12", "survey:12.0",
            "survey::12", "survey:12:", ":12", "survey:", "survey:00", "mission:7:012", "survey:é",
            "su rvey:12", "survey:12\u{301}", "survey\u{FF1A}12", "=1+1:2", "survey:A1", "1:2",
        ] {
            let error = await refusal { try await ground.credit(1, source, on: app) }
            #expect(error?.sqlState == "22023", "\(source)")
        }
        #expect(try await ground.credit(1, "survey:12", on: app) == id)
        for source in [
            "survey:0", "survey:120", "mission:7:12", "secret_shopper:a-1_b",
            "survey:0f6a1c5e-7d0b-4b6e-9f43-0d0f2b6f0a11",
        ] { try await ground.credit(1, source, on: app) }
        await app.close()
        #expect(try await ground.count("transactions") == 6)
    }

    @Test("a reward has the bounds that the pay rules set")
    func bounds() async throws {
        let ground = try await LedgerGround()
        let (app, _) = try await TestDatabase.here().login(as: "errand_app")
        func refused(_ attempt: () async throws -> Void) async {
            let error = await refusal(attempt)
            #expect(error?.sqlState == "22023", "\(error as Any)")
        }
        let most: Int64 = 1_000_000
        try await ground.credit(1, "survey:1", paid: most, cut: most, on: app)
        await refused {
            try await ground.credit(1, "survey:2", paid: most + 1, cut: 1, on: app)
        }
        await refused {
            try await ground.credit(
                1, "survey:2", paid: 1_000_000_000_000_000, cut: 1_000_000_000_000_000, on: app)
        }
        let year = Duration.seconds(365 * 86_400)
        try await ground.credit(1, "survey:3", at: Instant.now().adding(year * -4), on: app)
        for at in [
            Instant.now().adding(year * -6), Instant.now().adding(.seconds(3_600)), .infinity,
        ] { await refused { try await ground.credit(1, "survey:4", at: at, on: app) } }
        for at in ["1970-01-01Z", "-infinity"] {
            await refused {
                try await app.script(
                    "SELECT ledger.credit_reward(1, 'survey:4', NULL, 5, 5, at => '\(at)')")
            }
        }
        try await ground.session.script(
            "UPDATE ledger.pay_rules SET max_reward = 500, max_reward_age = '1 day'")
        try await ground.credit(1, "survey:5", paid: 500, on: app)
        await refused { try await ground.credit(1, "survey:6", paid: 501, on: app) }
        await refused {
            try await ground.credit(
                1, "survey:6", at: Instant.now().adding(.seconds(-90_000)), on: app)
        }
        await app.close()
        #expect(try await ground.count("transactions") == 3)
    }

    @Test("a worker reads the ledger and writes proofs, and posts nothing")
    func worker() async throws {
        let ground = try await LedgerGround()
        let id = try await ground.credit(1, "survey:1")
        let (worker, _) = try await TestDatabase.here().login(as: "errand_worker")
        let account = try await ground.account("person", 1)
        #expect(try await worker.query("SELECT ledger.balance(\(account))").int64(0, 0) == 300)
        for statement in [
            "SELECT ledger.post('evil', 'reward', '{1,2}', '{-5000000,5000000}')",
            "SELECT ledger.reverse(\(id), 'x')", "SELECT ledger.account('person', 2, 'CAD')",
            "SELECT ledger.credit_reward(1, 'survey:2', NULL, 5, 5)",
            "INSERT INTO ledger.transactions (key, kind, at, actor) VALUES ('x', 'x', now(), 'x')",
            "INSERT INTO ledger.postings VALUES (\(id), \(account), 5, now())",
            "INSERT INTO ledger.accounts (kind, currency, is_shared) VALUES ('bank', 'CAD', true)",
            "INSERT INTO ledger.balances VALUES (\(account), 1, 5)",
            "UPDATE ledger.balances SET amount = 5", "DELETE FROM ledger.balances",
            "UPDATE ledger.accounts SET owner = 2", "UPDATE ledger.pay_rules SET max_reward = 5",
            "UPDATE ledger.proofs SET faults = 0", "DELETE FROM ledger.proofs",
            "SELECT * FROM ledger.balances FOR UPDATE",
            "DO $$ BEGIN LOCK TABLE ledger.balances; END $$",
            "SELECT nextval('ledger.transactions_id_seq')",
        ] {
            let error = await refusal { try await worker.script(statement) }
            #expect(error?.sqlState == "42501", "\(statement)")
        }
        _ = try await worker.query(
            """
            INSERT INTO ledger.proofs (started_at, ended_at, accounts, transactions, postings,
                faults) VALUES (now(), now(), 1, 1, 2, 0)
            """)
        await worker.close()
        #expect(try await ground.count("transactions") == 1)
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
