import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

extension AppCommands {
    @Suite("errand payout") struct PayoutTests {
        /// Four people with rewards of a quarter: 41 and 42 can be paid, 43 gave no address, and
        /// to 44 too little is owed.
        ///
        /// The operators share the login of the tests.
        private func ground() async throws {
            try await change(
                """
                UPDATE payouts.rules SET allows_shared_login = true;
                INSERT INTO people.people (id, birth_date, age_verified_at)
                SELECT n, '1990-01-01', now() FROM generate_series(41, 44) n;
                SELECT payouts.set_payee(n, 'Zoë Roy ' || n, ARRAY['12, rue Rachel', 'Montréal'])
                FROM unnest('{41,42,44}'::int[]) n;
                SELECT ledger.credit_reward(n, 'survey:1', NULL, n * 100, n * 100,
                    at => '2026-08-01Z') FROM generate_series(41, 43) n;
                SELECT ledger.credit_reward(44, 'survey:1', NULL, 99, 99, at => '2026-08-01Z')
                """)
        }

        private func close() async throws {
            try await errand("payout", "close", "2026-Q3", "--yes", environment: by("ann"))
                .expect(0)
            try await errand("work", "--queues", "payouts", "--drain").expect(0)
        }

        private func by(_ name: String) -> [String: String] { ["ERRAND_OPERATOR": name] }

        /// The payout of a person.
        private func payout(_ person: Int) async throws -> String {
            let run = try await errand("payout", "ls", "--person", "\(person)", "-ojson")
            return try run.records.last?["id"].id ?? ""
        }

        @Test func `a quarter is previewed, closed and approved by somebody else`() async throws {
            try await ground()
            try await errand("payout", "runs").expect(0, "no quarter was previewed or closed")
            try await errand("payout", "show", "2026-Q3")
                .expect(3, "there is no run for 2026-Q3", "errand payout preview 2026-Q3")
            let preview = try await errand("payout", "preview", "2026-Q3", "-ojson")
            preview.expect(0)
            #expect(try preview.record["state"] == "preview")
            #expect(preview.output.contains(#""amount":8300"#))
            try await errand("payout", "approve", "2026-Q3", "--yes")
                .expect(4, "run 2026-Q3 is preview: only closed runs can be approved")
            try await errand("payout", "close", "2026-Q3").expect(5, "not confirmed")
            try await close()
            try await errand("payout", "close", "2026-Q3", "--yes")
                .expect(4, "2026-Q3 is closed: ann started the close")
            try await errand("payout", "preview", "2026-Q3").expect(4, "nothing to preview")
            let show = try await errand("payout", "show", "2026-Q3")
            show.shows("closed by", "ann")
            #expect(show.output.contains("83.00"))
            try await errand("payout", "approve", "2026-Q3", "--yes", environment: by("ann"))
                .expect(5, "another person must approve it", "--allow-same on")
            try await errand("payout", "approve", "2026-Q3", "--yes", environment: by("bob"))
                .shows("approved")
            let runs = try await errand("payout", "runs", "-ojson").records
            #expect(runs.map { $0["approved_by"].text } == ["bob"])
            #expect(runs.map { $0["deviation"].text } == ["0.00 %"])
            #expect(try await errand("payout", "runs", "--state", "closed", "-ojson").records == [])
            try await errand("payout", "prove").shows("proved")
            let audit = try await errand("audit", "ls", "-ojson").records
            #expect(audit.contains { $0["action"] == "payout approve" && $0["operator"] == "bob" })
        }

        @Test func `one login with two names is one person, unless the rules say otherwise`()
            async throws
        {
            try await ground()
            let off = try await errand(
                "payout", "rules", "--allow-shared-login", "off", "--yes", "-ojson")
            off.expect(0)
            #expect(try off.record["allow_shared_login"] == "off")
            try await errand("payout", "preview", "2026-Q3").expect(0)
            try await close()
            let words = ["payout", "approve", "2026-Q3", "--yes", "--reason", "x"]
            for name in ["Ann ", "  ANN", "ａｎｎ", "a\u{200B}nn"] {
                try await errand(words, environment: by(name))
                    .expect(5, "closed by ann: another person must approve it")
            }
            try await errand(words, environment: by("bob"))
                .expect(5, "closed by the login errand: another login", "--allow-shared-login on")
            // To another login the names matter alone.
            let (session, login) = try await TestDatabase.here().login(as: "errand")
            await session.close()
            let url = try TestDatabase.here().url.replacing("//errand@", with: "//\(login)@")
            try await errand(words + ["--database-url", url], environment: by("ann"))
                .expect(5, "another person must approve it")
            try await errand(words + ["--database-url", url], environment: by("bob")).expect(0)
            let run = try await errand("payout", "show", "2026-Q3", "-ojson").record
            #expect(run["closed_by_login"] == "errand" && run["approved_by"] == "bob")
            #expect(run["approved_by_login"].text == login)
        }

        @Test func `two who close a quarter at once make one close, and one is told`() async throws
        {
            try await ground()
            let words = ["payout", "close", "2026-Q3", "--yes"]
            try await withThrowingTaskGroup(of: Run.self) { group in
                for name in ["ann", "bob", "eve"] {
                    let environment = by(name)
                    group.addTask { try await errand(words, environment: environment) }
                }
                var codes: [Int32] = []
                for try await run in group {
                    codes.append(run.code)
                    guard run.code != 0 else { continue }
                    run.expect(4, "2026-Q3 is being closed:", "started the close")
                }
                #expect(codes.sorted() == [0, 4, 4])
            }
        }

        @Test func `what differs from its preview is approved by name`() async throws {
            try await ground()
            try await errand("payout", "preview", "2026-Q3").expect(0)
            try await change(
                "SELECT ledger.credit_reward(41, 'survey:2', NULL, 9000, 9000, at => '2026-08-02Z')"
            )
            try await close()
            let words = ["payout", "approve", "2026-Q3", "--yes"]
            try await errand(words, environment: by("bob"))
                .expect(5, "differs from its preview by 108.43 %", "--acknowledge")
            try await errand(words + ["--acknowledge"], environment: by("bob")).expect(0)
        }

        @Test func `one person may do both if the rules say so`() async throws {
            try await ground()
            try await close()
            try await errand("payout", "rules", "--allow-same", "on").expect(5, "not confirmed")
            let rules = try await errand(
                "payout", "rules", "--allow-same", "on", "--minimum", "2.50", "--deviation", "0",
                "--yes", "-ojson")
            rules.expect(0)
            #expect(try rules.record["minimum"] == "2.50")
            #expect(try rules.record["allow_same"] == "on")
            // It had no preview at all.
            let words = ["payout", "approve", "2026-Q3", "--yes"]
            try await errand(words, environment: by("ann"))
                .expect(5, "was not previewed in all its currencies")
            try await errand(words + ["--acknowledge"], environment: by("ann")).expect(0)
            for bad in ["-1", "1.005", "x", "100000"] {
                try await errand("payout", "rules", "--minimum=\(bad)", "--yes").expect(2, bad)
            }
        }

        @Test func `payouts are held, released and void, with their history`() async throws {
            try await ground()
            try await close()
            let list = try await errand("payout", "ls", "--run", "2026-Q3", "-ojson").records
            #expect(list.map { $0["state"].text } == ["pending", "pending", "held"])
            #expect(list.map { $0["amount"].id } == ["4100", "4200", "4300"])
            #expect(list.last?["reason"] == "name and address are missing")
            let held = try await errand(
                "payout", "ls", "--state", "held", "--run", "2026-Q3", "--limit", "1")
            held.shows("43.00")
            held.expect(0, "--cursor")
            let (first, last) = (try await payout(41), try await payout(43))
            try await errand("payout", "hold", first, "--yes").expect(2, "--reason")
            try await errand("payout", "hold", first, "--reason", "in doubt").expect(5)
            try await errand("payout", "hold", first, "--reason", "in doubt", "--yes").expect(0)
            #expect(try await errand("reward", "show", "41").output.contains("41.00"))
            try await errand("payout", "hold", first, "--reason", "again", "--yes")
                .expect(4, "payout \(first) is held: only pending payouts can be held")
            try await errand("payout", "release", first, "--yes").shows("pending")
            try await errand("payout", "void", first, "--reason", "twice", "--yes").shows("void")
            try await errand("payout", "release", first, "--yes").expect(4)
            try await errand("payout", "reissue", first, "--yes")
                .expect(5, "was never issued: the next run pays it")
            try await errand("payout", "release", last, "--yes")
                .expect(5, "name and address are missing")
            let show = try await errand("payout", "show", "P\(first)")
            show.expect(0)
            for action in ["hold", "release", "void"] { #expect(show.output.contains(action)) }
            for verb in ["hold", "void"] {
                try await errand("payout", verb, "999", "--reason", "x", "--yes")
                    .expect(3, "there is no payout 999")
            }
            try await errand("payout", "show", "999").expect(3)
            try await errand("payout", "show", "2026-Q5").expect(2, "a quarter such as 2026-Q3")
            try await errand("payout", "prove").shows("proved")
        }

        @Test func `settling names what the bank has paid`() async throws {
            try await ground()
            try await close()
            try await errand("payout", "settle", "2026-Q3").expect(2, "nothing to settle")
            try await errand("payout", "settle", "2026-Q3", "--cheque", "7")
                .expect(3, "2026-Q3 has no such cheque 7")
            try await errand("payout", "settle", "2026-Q2", "--deposits").expect(3)
            // Pending ones are not settled: the bank does not know of them.
            let run = try await errand("payout", "settle", "2026-Q3", "--deposits", "-ojson")
            run.expect(0)
            #expect(try run.record["settled"].id == "0")
            let (one, two) = (try await payout(41), try await payout(42))
            try await errand("payout", "settle", "2026-Q3", "--payout", one)
                .expect(7, "not settled: payout \(one) (pending)")
            try await change("UPDATE payouts.payouts SET cheque_number = 7 WHERE state = 'pending'")
            try await errand("payout", "settle", "2026-Q3", "--cheque", "7")
                .expect(2, "cheque 7 is ambiguous: payout \(one)", "or payout \(two)", "--payout")
            try await errand("payout", "settle", "2026-Q3", "--cheque", "7", "--currency", "USD")
                .expect(3, "2026-Q3 has no such cheque 7")
            let taken = try await number("SELECT id FROM ledger.transactions WHERE kind = 'payout'")
            try await errand("ledger", "reverse", "\(taken)", "--reason", "x", "--yes")
                .expect(5, "is a payout and cannot be reversed directly", "errand payout hold")
        }

        /// A folder for files with a key and a profile, and the environment that names them.
        private func settings() async throws -> (URL, [String: String]) {
            let folder = FileManager.default.temporaryDirectory
                .appendingPathComponent("payouts-" + UUID().uuidString)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let (keys, profile) = (folder.path + "/keys", folder.path + "/profile.json")
            try Data(try await errand("key", "new").output.utf8).write(to: URL(filePath: keys))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: keys)
            try Data(Self.profile.utf8).write(to: URL(filePath: profile))
            return (
                folder,
                [
                    "ERRAND_KEYS_FILE": keys, "ERRAND_PAYOUTS_FILE": profile,
                    "ERRAND_OPERATOR": "bob",
                ]
            )
        }

        @Test func `a run is issued, comes back and is issued anew`() async throws {
            let (folder, environment) = try await settings()
            defer { try? FileManager.default.removeItem(at: folder) }
            try await ground()
            try await errand(
                "payout", "enter", "42", "--from", "-", "--yes",
                input: #"{"bank":{"institution":"003","transit":"12345","account":"7654321"}}"#,
                environment: environment
            ).expect(0)
            try await errand("payout", "preview", "2026-Q3").expect(0)
            try await close()
            let issue = ["payout", "issue", "2026-Q3", "--to", folder.path, "--yes", "-ojson"]
            try await errand(issue).expect(2, "ERRAND_PAYOUTS_FILE is not set")
            try await errand(issue, environment: environment)
                .expect(4, "run 2026-Q3 is closed: only approved runs can be issued")
            try await errand("payout", "approve", "2026-Q3", "--yes", environment: environment)
                .expect(0)
            let first = try await errand(issue, environment: environment)
            first.expect(0)
            for name in ["aft-CAD-0001.txt", "cheques-CAD.csv", "cheques-CAD-0001.pdf"] {
                #expect(first.output.contains(name))
                let attributes = try FileManager.default.attributesOfItem(
                    atPath: folder.path + "/2026-Q3-1/" + name)
                #expect(attributes[.posixPermissions] as? Int == 0o600)
            }
            #expect(!first.output.contains("7654321"))
            let again = folder.path + "/again"
            try FileManager.default.createDirectory(
                atPath: again, withIntermediateDirectories: true)
            try await errand(
                "payout", "export", "2026-Q3", "--to", again, environment: environment
            ).expect(0)
            for name in ["aft-CAD-0001.txt", "cheques-CAD-0001.pdf", "manifest.json"] {
                #expect(
                    FileManager.default.contentsEqual(
                        atPath: folder.path + "/2026-Q3-1/" + name,
                        andPath: again + "/2026-Q3-1/" + name), "\(name)")
            }
            let deposit = try await payout(42)
            try await errand("payout", "return", "--yes").expect(2, "--aft, --nacha or the ids")
            try await errand("payout", "return", deposit, "--code", "x", "--yes").expect(2, "905")
            try await errand("payout", "return", deposit, "--code", "905", "--yes").expect(0)
            try await errand("payout", "return", deposit, "--code", "905", "--yes").expect(0)
            try await errand("payout", "payee", "42").shows("905")
            let doctor = try await errand("doctor", environment: environment)
            #expect(doctor.output.contains("which need another issue: 1"))
            let second = try await errand(issue, environment: environment)
            second.shows("2026-Q3-2")
            #expect(!second.output.contains("aft"))
            try await errand("payout", "statement", "42", "--year", "2026").shows("Cheque", "42.00")
            try await errand("payout", "statement", "99", "--year", "2026").expect(3)
            try await errand(
                "payout", "statement", "42", "--year", "2026", "--pdf", folder.path + "/42.pdf",
                environment: environment
            ).expect(0)
            try await errand("payout", "settle", "2026-Q3", "--cheque", "1001")
                .shows("issued")
            let voids = ["payout", "voids", "--since", "2026-01-01T00:00:00Z"]
            try await errand(voids, environment: environment).expect(0, "no cheques were voided")
            let cheque = try await payout(42)
            try await errand("payout", "void", cheque, "--reason", "lost", "--yes").expect(0)
            let list = try await errand(voids, environment: environment)
            #expect(list.output.hasPrefix(#""1000001","1002","42.00","20"#))
            #expect(list.output.hasSuffix("\"ZOE ROY 42\",\"V\"\r\n"))
            try await errand(voids + ["--currency", "USD"], environment: environment)
                .expect(5, "cheques.USD")
            try await errand("payout", "settle", "2026-Q3", "--deposits").shows("settled")
            #expect(try await errand("payout", "runs", "-ojson").record["state"] == "settled")
            try await errand("payout", "prove").shows("proved")
        }

        private static let profile = #"""
            {"company": {"name": "Sondages inc.", "address": ["1 rue Une", "Montréal QC  H2X 1Y4"]},
             "aft": {"CAD": {"originator_id": "1234567890", "data_centre": "86900",
               "direct_clearer": "86901", "short_name": "SONDAGES", "long_name": "SONDAGES INC",
               "return_account": {"institution": "003", "transit": "00001", "account": "1000001"}}},
             "cheques": {"CAD": {"bank": "Banque Une", "account": "1000001", "first_number": 1001}}}
            """#

        @Test func `bank details are checked and sealed, and shown by their last digits`()
            async throws
        {
            try await ground()
            func enter(_ json: String, _ environment: [String: String] = [:]) async throws
                -> Run
            {
                let file = FileManager.default.temporaryDirectory
                    .appendingPathComponent(UUID().uuidString)
                try Data(json.utf8).write(to: file)
                defer { try? FileManager.default.removeItem(at: file) }
                return try await errand(
                    ["payout", "enter", "41", "--from", file.path, "--yes"],
                    environment: environment)
            }
            let bank = #"{"bank":{"institution":"003","transit":"12345","account":"7654321"}}"#
            try await enter(bank).expect(2, "no keys are set up")
            let keys = FileManager.default.temporaryDirectory
                .appendingPathComponent(UUID().uuidString)
            let made = try await errand("key", "new")
            try Data(made.output.utf8).write(to: keys)
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o600], ofItemAtPath: keys.path)
            defer { try? FileManager.default.removeItem(at: keys) }
            let environment = ["ERRAND_KEYS_FILE": keys.path]
            let run = try await enter(bank, environment)
            run.shows("…321", "deposit")
            #expect(!run.output.contains("7654321"))
            for (json, words) in [
                (#"{"bank":{"institution":"03","transit":"12345","account":"7654321"}}"#, "bank:"),
                (#"{"bank":{"routing":"021000022","account":"1234","kind":"checking"}}"#, "bank:"),
                (#"{"bank":{"routing":"021000021","account":"7654321","kind":"x"}}"#, "savings"),
                (#"{"name":"Zoë"}"#, "address is missing"), ("{}", "nothing to set"),
                (#"{"name":"Zoë","address":[]}"#, "1 to 4 lines"), ("7654321", "a JSON object"),
            ] {
                let bad = try await enter(json, environment)
                bad.expect(2, words)
                #expect(!(bad.output + bad.errors).contains("7654321"))
            }
            let rows = try await errand("audit", "ls", "-ojson")
            #expect(rows.output.contains("payout enter") && !rows.output.contains("7654321"))
            try await errand("payout", "enter", "41", "--forget-bank", "--yes")
                .shows("cheque")
            try await errand("payout", "payee", "41").shows("Zoë Roy 41")
            try await errand("payout", "payee", "99").expect(3, "there is no person 99")
            try await errand("payout", "enter", "99", "--forget-bank", "--yes").expect(3)
        }
    }
}

extension Run {
    /// Checks that it went well, and that standard output has each of these.
    func shows(_ pieces: String..., at place: SourceLocation = #_sourceLocation) {
        #expect(code == 0, "\(arguments)\n\(output)\(errors)", sourceLocation: place)
        for piece in pieces {
            #expect(output.contains(piece), "\(arguments)\n\(output)", sourceLocation: place)
        }
    }
}
