import Foundation
import ErrandTestServices
import Testing

extension AppCommands {
    @Suite("errand reward and ledger") struct LedgerTests {
        /// Two people, a shop, and three rewards: transactions 1 to 3 or a little above.
        private func ground() async throws {
            try await change(
                """
                INSERT INTO people.people (id, birth_date)
                SELECT n, '1990-05-17' FROM generate_series(41, 43) n;
                INSERT INTO establishments.establishments (id, name) VALUES (7, 'Cafe');
                SELECT ledger.credit_reward(42, 'survey:1', 7, 123456, 100000,
                    at => '2026-03-01Z');
                SELECT ledger.credit_reward(42, 'mission:5', NULL, 50, 50, at => '2026-08-01Z');
                SELECT ledger.credit_reward(41, 'survey:1', 7, 500, 300, at => '2026-08-02Z')
                """)
        }

        @Test func `reward ls lists those to whom something is owed`() async throws {
            try await errand("reward", "ls").expect(0, "no people with a balance in CAD")
            try await ground()
            let table = try await errand("reward", "ls")
            table.expect(0)
            #expect(table.lines[0].hasPrefix("PERSON  BALANCE   CURRENCY"))
            #expect(table.lines[1].contains("3.00"))
            #expect(table.lines[2].contains("1,000.50"))
            let records = try await errand("reward", "ls", "--min-balance", "1,000.00", "-ojson")
                .records
            #expect(records.map { $0["person"].id } == ["42"])
            #expect(records[0]["balance"].id == "100050")
            #expect(records[0]["currency"].text == "CAD")
            try await errand("reward", "ls", "--limit", "1").expect(0, "--cursor 41")
            let next = try await errand("reward", "ls", "--cursor", "41", "-ojson").records
            #expect(next.map { $0["person"].id } == ["42"])
            try await errand("reward", "ls", "--currency", "JPY").expect(0, "no people")
            for words in [
                ["--currency", "cad"], ["--min-balance", "1.001"], ["--min-balance", "much"],
                ["--limit", "0"],
            ] { try await errand(["reward", "ls"] + words).expect(2, words[0]) }
        }

        @Test func `reward show has the balance, the next pay date and lines since a payout`()
            async throws
        {
            try await ground()
            let show = try await errand("reward", "show", "42", "-ojson")
            show.expect(0)
            let record = try show.record
            #expect(record["balance"].id == "100050")
            #expect(record["next_pay_date"].text?.count == 10)
            let table = try await errand("reward", "show", "42")
            table.expect(0)
            #expect(table.output.contains("1,000.50"))
            // A payout takes what counts until then; of the lines those after it are shown.
            try await change(
                """
                SELECT ledger.post('payout:1', 'payout', ARRAY[ledger.account('person', 42, 'CAD'),
                    ledger.account('payouts_in_transit', 0, 'CAD')], '{-100000,100000}',
                    '2026-07-01T04:00:00Z')
                """)
            let later = try await errand("reward", "show", "42", "-ojson").record
            #expect(later["balance"].id == "50")
            #expect(later["last_payout"].id == "-100000")
            #expect(later["last_payout_at"].text == "2026-07-01T04:00:00.000000Z")
            let output = try await errand("reward", "show", "42", "-ojson").output
            #expect(output.contains("mission:5"))
            #expect(!output.contains("survey:1"))
            #expect(try await errand("reward", "show", "43").output.contains("0.00"))
            try await errand("reward", "show", "99").expect(3, "there is no person 99")
            try await errand("reward", "show", "kim").expect(2, "PERSON")
            try await errand("reward", "show").expect(2)
        }

        @Test func `ledger balance is a trial balance, or single accounts`() async throws {
            try await errand("ledger", "balance").expect(0, "the ledger is empty")
            try await ground()
            func balances(_ words: String...) async throws -> [String] {
                let run = try await errand(["ledger", "balance", "-ojson"] + words)
                run.expect(0)
                return try run.records.map {
                    "\($0["account_kind"].text ?? "") \($0["count"].id) \($0["balance"].id)"
                }
            }
            let total = [
                "commission 1 23656", "company 1 -50", "establishment 1 -123956",
                "person 2 100350",
            ]
            #expect(try await balances() == total)
            #expect(try await balances("--currency", "JPY") == [])
            #expect(
                try await balances("--at", "2026-07-01T00:00:00Z") == [
                    "commission 1 23456", "company 1 0", "establishment 1 -123456",
                    "person 2 100000",
                ])
            #expect(
                try await balances("--kind", "person") == ["person 1 100050", "person 1 300"])
            #expect(
                try await balances("--owner", "42", "--at", "2026-07-01T00:00:00Z") == [
                    "person 1 100000"
                ])
            let table = try await errand("ledger", "balance")
            for piece in ["DEBIT", "CREDIT", "1,239.56", "1,003.50"] {
                #expect(table.output.contains(piece))
            }
            try await errand("ledger", "balance", "--kind", "purse").expect(
                2, "no such kind of account", "commission, company")
            try await errand("ledger", "balance", "--at", "then").expect(2, "--at")
        }

        @Test func `ledger lines and show tell what was moved`() async throws {
            try await errand("ledger", "lines").expect(0, "no lines match")
            try await ground()
            let lines = try await errand("ledger", "lines", "--person", "42", "-ojson")
            lines.expect(0)
            #expect(try lines.records.map { $0["amount"].id } == ["50", "100000"])
            let id = try lines.records[1]["transaction"].id
            let whole = try await errand("ledger", "lines", "--source", "survey:1", "-ojson")
            #expect(try whole.records.count == 6)
            // A transaction is not cut in two by a page.
            let page = try await errand(
                "ledger", "lines", "--source", "survey:1", "--limit", "1", "-ojson")
            #expect(try page.records.count == 3)
            #expect(page.errors.contains("--cursor "))
            let since = try await errand(
                "ledger", "lines", "--since", "2026-08-01T00:00:00Z", "--before",
                "2026-08-02T00:00:00Z", "-ojson")
            #expect(try since.records.count == 2)
            let show = try await errand("ledger", "show", id)
            #expect(show.output.contains("reward:42:survey:1"))
            #expect(try await errand("ledger", "show", id, "-ojson").record["key"].text == nil)
            try await errand("ledger", "show", "4711").expect(3, "there is no transaction 4711")
        }

        @Test func `ledger reverse undoes a transaction once, and is in the audit`() async throws {
            try await ground()
            let id = try await errand("ledger", "lines", "--person", "41", "-ojson")
                .records[0]["transaction"].id
            try await errand("ledger", "reverse", id).expect(2, "--reason")
            try await errand("ledger", "reverse", id, "--reason", "slip").expect(
                5, "not confirmed", "3.00 CAD")
            let run = try await errand(
                "ledger", "reverse", id, "--reason", "slip", "--yes", "-ojson")
            run.expect(0)
            #expect(try run.record["reverses"].id == id)
            #expect(try run.record["note"].text == "slip")
            let reversal = try run.record["transaction"].id
            #expect(try await errand("reward", "show", "41").output.contains("0.00"))
            try await errand("ledger", "reverse", id, "--reason", "again", "--yes").expect(
                4, "is already reversed by \(reversal)")
            let show = try await errand("ledger", "show", id, "-ojson").record
            #expect(show["reversed_by"].id == reversal)
            try await errand("ledger", "reverse", "4711", "--reason", "x", "--yes").expect(3)
            let audit = try await errand("audit", "ls", "-ojson").records
            #expect(audit.map { $0["action"].text } == ["ledger reverse"])
            #expect(audit[0]["subject"].text == id)
            #expect(audit[0]["reason"].text == "slip")
        }

        @Test func `ledger prove finds what was changed by force, and the doctor tells`()
            async throws
        {
            func doctor() async throws -> [String] {
                try await errand("doctor", "-ojson").records
                    .filter { $0["check"].text == "ledger" }
                    .map { "\($0["severity"].text ?? ""): \($0["message"].text ?? "")" }
            }
            #expect(try await doctor() == ["ok: the ledger is empty"])
            try await errand("ledger", "proofs").expect(0, "was never proved")
            try await ground()
            #expect(try await doctor().first?.hasPrefix("warning: the ledger has") == true)
            let good = try await errand("ledger", "prove", "-ojson")
            good.expect(0)
            #expect(try good.record["postings"].id == "8")
            #expect(try await doctor().first?.hasPrefix("ok: 8 postings proved") == true)
            try await change(
                """
                ALTER TABLE ledger.balances DISABLE TRIGGER USER;
                UPDATE ledger.balances SET amount = amount + 1 WHERE amount = 300;
                ALTER TABLE ledger.balances ENABLE TRIGGER USER
                """)
            let broken = try await errand("ledger", "prove")
            broken.expect(1, "the proof of the ledger failed")
            #expect(
                try await doctor().first?.contains("the proof of the ledger failed: 1 fault")
                    == true)
            let proofs = try await errand("ledger", "proofs", "-ojson").records
            #expect(proofs.map { $0["result"].text } == ["broken", "proved"])
            #expect(try await errand("ledger", "proofs").output.contains("broken"))
        }
    }
}
