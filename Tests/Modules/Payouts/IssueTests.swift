import ErrandDurableFiles
import Foundation
import ErrandGregorian
import ErrandLedger
import ErrandPaymentFiles
import ErrandPayouts
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Issuing a run", .database)
struct IssueTests {
    private struct Interruption: Error {}

    @Test func `all are paid by their means, and everything adds up`() async throws {
        try await PayoutGround.with(people: 22) { ground in
            let before = [
                "CAD": try await ground.inTransit("CAD"),
                "USD": try await ground.inTransit("USD"),
            ]
            let issue = try await ground.issue(page: 5)
            #expect(issue.label == "2026-Q3-1" && issue.publishedAt != nil && issue.held == 0)
            #expect(issue.issuedOn == PayoutGround.today && issue.payDate == PayoutGround.payDate)
            let methods = issue.files.map { "\($0.method.rawValue) \($0.currency)" }
            #expect(methods.sorted() == ["aft CAD", "cheque CAD", "cheque USD", "nacha USD"])
            #expect(issue.files.reduce(0) { $0 + $1.payouts } == 22)
            for currency in ["CAD", "USD"] {
                let total = issue.files.filter { $0.currency.code == currency }
                    .reduce(0) { $0 + $1.amount }
                let people = (1...22).filter { PayoutGround.currency(of: $0) == currency }
                #expect(total == people.reduce(0) { $0 + PayoutGround.earned(by: $1) })
                #expect(total == before[currency])
                #expect(try await ground.inTransit(currency) == total)
            }
            let quarter = try #require(Quarter("2026-Q3"))
            let found = try await RunRows(session: ground.session).run(of: quarter)
            let run = try #require(found)
            #expect(run.state == .issued && run.issuedAt != nil)
            #expect(run.states.allSatisfy { $0.state == .issued })
            #expect(run.totals.map(\.payouts).reduce(0, +) == 22)
            #expect(try await ground.told("issued") == 22)
            try await checkManifest(issue, ground)
        }
    }

    private func checkManifest(_ issue: IssueRecord, _ ground: PayoutGround) async throws {
        let manifest = try JSONDecoder().decode(
            IssueFolder.Manifest.self, from: Data(ground.file(issue, "manifest.json")))
        #expect(manifest.run == "2026-Q3-1" && manifest.issued == "2026-11-20")
        let outputs = issue.files.flatMap(\.outputs).sorted { $0.name < $1.name }
        #expect(manifest.files.map(\.name) == outputs.map(\.name))
        #expect(manifest.files.map(\.bytes) == outputs.map(\.bytes))
        let sums = outputs.map { $0.sha256.map { String(format: "%02x", $0) }.joined() }
        #expect(manifest.files.map(\.sha256) == sums)
        #expect(
            outputs.map(\.name) == [
                "aft-CAD-0001.txt", "cheques-CAD-0001.pdf", "cheques-CAD.csv",
                "cheques-USD-0001.pdf", "cheques-USD.csv", "nacha-USD-0001.txt",
            ])
    }

    @Test func `the deposits are those of the people, field by field`() async throws {
        try await PayoutGround.with(people: 30) { ground in
            let issue = try await ground.issue(page: 7)
            var canadian: [[String: Any]] = []
            var american: [[String: Any]] = []
            for person in 1...30 {
                let payout = try await ground.payout(of: person)
                var payment: [String: Any] = [
                    "reference": payout.reference, "name": PayoutGround.name(of: person),
                    "amount": payout.amount.minorUnits, "note": "2026-Q3",
                ]
                switch (payout.method, try PayoutGround.account(of: person)) {
                case (.aft, .canada(let account)):
                    payment["institution"] = account.institution
                    payment["transit"] = account.transit
                    payment["account"] = account.account
                    canadian.append(payment)
                case (.nacha, .unitedStates(let account)):
                    payment["routing"] = account.routing
                    payment["account"] = account.account
                    payment["kind"] = account.kind.rawValue
                    american.append(payment)
                default: #expect(payout.method == .cheque)
                }
            }
            #expect(canadian.count == 8 && american.count == 8)
            let place = ground.folder.appending(path: issue.label)
            let aft = try await check(
                place.appending(path: "aft-CAD-0001.txt"), with: "oracles/aft_check.py",
                profile: [
                    "originator": "ORIG000001", "number": 1, "created": "2026-11-20",
                    "paid": "2026-11-23", "centre": "01020", "clearer": "00320",
                    "short": "Sondage Été", "long": "Sondages d’été du Québec inc.",
                    "code": "450", "trace": "structured", "settlement": "", "currency": "CAD",
                    "ends": true,
                    "home": ["institution": "003", "transit": "12345", "account": "9998887"],
                ], payments: canadian)
            #expect(aft == "8 payments agree\n")
            let nacha = try await check(
                place.appending(path: "nacha-USD-0001.txt"), with: "oracles/nacha_check.py",
                profile: [
                    "destination": "021000021", "destination_name": "First Bank",
                    "origin": "123456789", "origin_name": "Sondages", "company": "Sondages",
                    "company_id": "1123456789", "odfi": "121000358", "description": "PAYOUT",
                    "class": "PPD", "created": "2026-11-20", "time": "0000",
                    "effective": "2026-11-23", "modifier": "A", "limit": 999_999, "cr": false,
                ], payments: american)
            #expect(nacha == "8 payments agree\n")
        }
    }

    @Test func `cheques are numbered in sequence, with their list and stubs`() async throws {
        try await PayoutGround.with(people: 12) { ground in
            let issue = try await ground.issue(page: 4)
            let lines = String(decoding: try ground.file(issue, "cheques-CAD.csv"), as: UTF8.self)
                .split(separator: "\r\n")
            #expect(lines.count == 3)
            for (place, person) in [3, 7, 11].enumerated() {
                let payout = try await ground.payout(of: person)
                #expect(payout.chequeNumber == Int64(501 + place) && payout.method == .cheque)
                let cents = PayoutGround.earned(by: person)
                let start = "\"1234567\",\"\(501 + place)\",\"\(cents / 100).\(cents % 100)\""
                #expect(lines[place].hasPrefix(start + ",\"20261123\""))
            }
            let file = ground.folder.appending(path: "2026-Q3-1/cheques-CAD-0001.pdf")
            let text = try await output(of: ["pdftotext", "-layout", file.path, "-"])
            for words in ["***32.62", "1 survey", "3 missions", "2.53", "30.09", "000501"] {
                #expect(text.contains(words), "\(words)")
            }
        }
    }

    @Test func `interrupted at any step, it goes on and pays each person once`() async throws {
        try await PayoutGround.with(people: 13) { ground in
            var calls = 0
            var done: IssueRecord?
            while done == nil {
                calls += 1
                // Each call gets one step further than a page.
                var steps = 0
                do {
                    done = try await ground.issue(page: 3) { step in
                        steps += 1
                        if case .frozen = step, steps == 1 { throw Interruption() }
                        if case .wrote = step, steps >= calls - 5 { throw Interruption() }
                    }
                } catch is Interruption {
                    #expect(try await ground.told("issued") == 0)
                    #expect(calls < 40)
                }
            }
            #expect(calls > 10)
            let issue = try #require(done)
            #expect(issue.number == 1 && issue.files.reduce(0) { $0 + $1.payouts } == 13)
            #expect(try await ground.number("SELECT count(*) FROM payouts.items") == 13)
            #expect(
                try await ground.number(
                    "SELECT count(*) FROM payouts.payouts WHERE state = 'issued'") == 13)
            #expect(try await ground.told("issued") == 13)
            let total = (1...13).reduce(0) { $0 + PayoutGround.earned(by: $1) }
            #expect(issue.files.reduce(0) { $0 + $1.amount } == total)
            let manifest = try JSONDecoder().decode(
                IssueFolder.Manifest.self, from: Data(ground.file(issue, "manifest.json")))
            let money = manifest.files.filter { $0.kind != .chequeSheets }
            #expect(money.reduce(0) { $0 + $1.amount } == total)
            // Nothing is left to do.
            await #expect(throws: PayoutError.self) { try await ground.issue() }
        }
    }

    @Test func `made again, the files are the same bytes`() async throws {
        try await PayoutGround.with(people: 12) { ground in
            let issue = try await ground.issue()
            let first = try ground.contents(issue)
            let elsewhere = try temporaryFolder()
            defer { try? FileManager.default.removeItem(at: elsewhere) }
            // What people have by now is not what they had.
            for sql in ["DELETE FROM payouts.bank_details", "DELETE FROM payouts.payees"] {
                _ = try await ground.session.query(sql)
            }
            let issuing = try ground.issuing()
            _ = try await issuing.remake(issue: issue.id, in: elsewhere.path)
            #expect(try ground.contents(issue, in: elsewhere) == first)
            _ = try await issuing.remake(issue: issue.id, in: ground.folder.path)
            #expect(try ground.contents(issue) == first)
        }
    }

    @Test func `with other settings the files are not made again`() async throws {
        try await PayoutGround.with(people: 4) { ground in
            let issue = try await ground.issue()
            let first = try ground.contents(issue)
            let elsewhere = try temporaryFolder()
            defer { try? FileManager.default.removeItem(at: elsewhere) }
            func remake(_ from: String, _ to: String) async throws {
                let json = PayoutGround.profileJSON.replacingOccurrences(of: from, with: to)
                let issuing = try ground.issuing(IssueProfile(json: Array(json.utf8)))
                _ = try await issuing.remake(issue: issue.id, in: elsewhere.path)
            }
            await #expect(throws: FileError.self) { try await remake("Banque Une", "Banque Deux") }
            await #expect(throws: FileError.self) { try await remake("Sondage Été", "Autre") }
            await #expect(throws: PayoutError.self) { try await remake("ORIG000001", "ORIG000002") }
            let made = elsewhere.appending(path: issue.label)
            #expect(
                try !FileManager.default.contentsOfDirectory(atPath: made.path)
                    .contains("manifest.json"))
            #expect(try ground.contents(issue) == first)
        }
    }

    @Test func `two issuers at once make one issue`() async throws {
        try await PayoutGround.with(people: 16) { ground in
            func attempt() async throws -> Bool {
                do {
                    _ = try await ground.issue(page: 2)
                    return true
                } catch PayoutError.conflict {
                    return false
                }
            }
            async let one = attempt()
            async let other = attempt()
            let ends = [try await one, try await other]
            #expect(ends.contains(true))
            #expect(try await ground.number("SELECT count(*) FROM payouts.issues") == 1)
            #expect(try await ground.number("SELECT count(*) FROM payouts.items") == 16)
            #expect(try await ground.told("issued") == 16)
        }
    }

    @Test func `a run that somebody issues now is left alone, and they are named`() async throws {
        try await PayoutGround.with(people: 4) { ground in
            let other = try TestDatabase.here().session()
            _ = try await other.query(
                "SELECT payouts.claim_issue($1, 'Zoë')", [.int64(ground.run)])
            let error = await #expect(throws: PayoutError.self) { try await ground.issue() }
            guard case .conflict(let words) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(words.hasPrefix("Zoë has been issuing run 2026-Q3 since 20"))
            #expect(words.contains("(login errand, process "))
            #expect(try await ground.number("SELECT count(*) FROM payouts.issues") == 0)
            // The claim ends with its session, also without a release.
            await other.close()
            try await eventually("the server has ended the session") {
                try await ground.number(
                    "SELECT count(*) FROM payouts.issuers c WHERE payouts.is_issuing(c)") == 0
            }
            #expect(try await ground.issue().publishedAt != nil)
            #expect(try await ground.number("SELECT count(*) FROM payouts.issuers") == 0)
        }
    }

    @Test func `a claim whose process id another session has by now is void`() async throws {
        try await PayoutGround.with(people: 4) { ground in
            _ = try await ground.session.query(
                """
                INSERT INTO payouts.issuers (run_id, backend_started, backend, actor)
                SELECT $1, a.backend_start - interval '1 s', a.pid, 'Zoë'
                FROM pg_stat_activity a WHERE a.pid = pg_backend_pid()
                """, [.int64(ground.run)])
            #expect(try await ground.issue().publishedAt != nil)
        }
    }

    @Test func `locks that any login may take, and rows that it may not, stop no issue`()
        async throws
    {
        try await PayoutGround.with(people: 4) { ground in
            for group in ["errand_inspector", "errand_app", "errand_worker"] {
                let (session, _) = try await TestDatabase.here().login(as: group)
                // The lock of an earlier version.
                _ = try await session.query(
                    "SELECT pg_try_advisory_lock(1885436271, $1::int)",
                    [.int32(Int32(ground.run))])
                for statement in [
                    "SELECT payouts.claim_issue(\(ground.run), 'x')",
                    "INSERT INTO payouts.issuers (run_id, backend, actor) "
                        + "VALUES (\(ground.run), pg_backend_pid(), 'x')",
                    "SELECT * FROM payouts.issuers FOR UPDATE",
                    "SELECT * FROM payouts.runs FOR UPDATE",
                    "SELECT * FROM payouts.issues FOR KEY SHARE",
                ] {
                    let error = await #expect(throws: PostgresError.self) {
                        try await session.query(statement)
                    }
                    #expect(error?.sqlState == "42501", "\(group): \(statement)")
                }
                if group == "errand_worker" {
                    #expect(try await ground.issue().publishedAt != nil)
                }
                await session.close()
            }
        }
    }
}
