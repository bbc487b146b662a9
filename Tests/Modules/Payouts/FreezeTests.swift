import ErrandCrypto
import Foundation
import ErrandLedger
import ErrandPaymentFiles
import ErrandPayouts
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("What a run's files take", .database)
struct FreezeTests {
    @Test func `without good details a cheque pays, and what cannot be paid is held`() async throws
    {
        try await PayoutGround.with(people: 16) { ground in
            let session = ground.session
            func run(_ sql: String) async throws { _ = try await session.query(sql) }
            // 1: refused. 5: damaged. 9: no letters. 3: nobody knows where. 2: of somebody else.
            try await run(
                "UPDATE payouts.bank_details SET refused_at = now() WHERE person_id = 1")
            try await run(
                """
                UPDATE payouts.bank_details SET sealed = set_byte(sealed, length(sealed) - 1,
                    get_byte(sealed, length(sealed) - 1) # 1) WHERE person_id = 5
                """)
            try await run("UPDATE payouts.payees SET name = '山田' WHERE person_id = 9")
            try await run("DELETE FROM payouts.payees WHERE person_id = 3")
            try await run(
                """
                UPDATE payouts.bank_details SET sealed = (SELECT sealed FROM payouts.bank_details
                    WHERE person_id = 6) WHERE person_id = 2
                """)
            let issue = try await ground.issue(page: 4)
            #expect(issue.held == 4)
            #expect(try await ground.payout(of: 1).method == .cheque)
            for (person, words) in [
                (5, "damaged"), (9, "no letter"), (3, "name and address"), (2, "damaged"),
            ] {
                let payout = try await ground.payout(of: person)
                #expect(payout.state == .held && payout.fileID == nil)
                #expect(payout.reason?.contains(words) == true, "\(person): \(payout.reason ?? "")")
                let balance = try await ground.number(
                    "SELECT ledger.balance($1)", [.int64(payout.accountID)])
                #expect(balance == PayoutGround.earned(by: person))
            }
            #expect(try await ground.told("held") == 4)
            #expect(try await ground.told("issued") == 12)
            let files = issue.files.reduce(0) { $0 + $1.amount }
            #expect(try await ground.inTransit("CAD") + ground.inTransit("USD") == files)

            // Held ones are paid by the next issue, once what was wrong is mended.
            try await run("UPDATE payouts.payees SET name = 'Yamada' WHERE person_id = 9")
            try await PayoutChanges(session: session, actor: "operator").release(
                ground.payout(of: 9).id, reason: nil)
            let next = try await ground.issue()
            #expect(next.number == 2 && next.files.map(\.number) == [2])
            #expect(next.files[0].outputs.map(\.name) == ["aft-CAD-0002.txt"])
        }
    }

    @Test func `nothing comes back, is settled or void before its file is whole`() async throws {
        try await PayoutGround.with(people: 8) { ground in
            await #expect(throws: CancellationError.self) {
                try await ground.issue { step in
                    if case .wrote = step { throw CancellationError() }
                }
            }
            let changes = PayoutChanges(session: ground.session, actor: "operator")
            let deposit = try await ground.payout(of: 1)
            #expect(deposit.state == .issued)
            #expect(try await changes.settleDeposits(run: ground.run, reason: nil) == 0)
            #expect(try await changes.settle([deposit.id], run: ground.run, reason: nil) == 0)
            let returned = ReturnedPayouts(
                pool: ground.pool, client: ground.client, actor: "operator")
            let cheque = try await ground.payout(of: 3).id
            for refused in [
                await refusal { try await changes.void(cheque, reason: "lost") },
                await refusal {
                    _ = try await returned.takeBack(deposit.id, code: "905", note: nil)
                },
            ] {
                #expect(refused?.description.contains("are incomplete") == true)
            }
            // What is released meanwhile is for another issue, whatever it needs.
            try await ground.session.script(
                """
                INSERT INTO payouts.payouts (run_id, person_id, account_id, amount, state, currency)
                SELECT run_id, 1, 4711, 500, 'pending', 'EUR' FROM payouts.issues
                """)
            let issue = try await ground.issue()
            #expect(issue.number == 1 && issue.publishedAt != nil)
            #expect(try await changes.settleDeposits(run: ground.run, reason: nil) > 0)
        }
    }

    @Test func `details that came too late for the freeze's beginning are refused as well`()
        async throws
    {
        try await PayoutGround.with(people: 12) { ground in
            await #expect(throws: CancellationError.self) {
                try await ground.issue(page: 4) { _ in throw CancellationError() }
            }
            let details = try #require(try PayoutGround.account(of: 9))
            try await ground.book.write(details, of: 9, ground.session)
            try await ground.issue(page: 4)
            let returned = ReturnedPayouts(
                pool: ground.pool, client: ground.client, actor: "operator")
            let payout = try await ground.payout(of: 9).id
            #expect(try await returned.takeBack(payout, code: "905", note: nil) == .reissued)
            let refused = "SELECT count(*) FROM payouts.bank_details WHERE refused_at IS NOT NULL"
            #expect(try await ground.number(refused) == 1)

            // The code of a deposit says nothing about the details of who got a cheque.
            let cheque = try await ground.payout(of: 3).id
            let other = try #require(try PayoutGround.account(of: 1))
            try await ground.book.write(other, of: 3, ground.session)
            _ = try await returned.takeBack(cheque, code: "905", note: nil)
            #expect(try await ground.number(refused) == 1)
        }
    }

    @Test(
        "what the profile lacks is said before anything is changed",
        arguments: ["aft", "nacha", "cheques"])
    func lacking(part: String) async throws {
        try await PayoutGround.with(people: 4) { ground in
            if part != "cheques" {
                _ = try await ground.session.query(
                    "UPDATE payouts.payouts SET method = $1::text::payouts.method",
                    [.text(part)])
            }
            let issuing = try ground.issuing(PayoutGround.profile(without: part))
            let error = await #expect(throws: PayoutError.self) {
                try await issuing.issue(
                    run: ground.run, in: ground.folder.path, today: PayoutGround.today)
            }
            #expect(error?.description.contains("has no \(part)") == true)
            #expect(try await ground.number("SELECT count(*) FROM payouts.issues") == 0)
        }
    }

    @Test func `more than a file can say is refused before anything is changed`() async throws {
        try await PayoutGround.with(people: 16) { ground in
            // Amounts never change: only a test takes their guard away.
            try await ground.session.script(
                """
                ALTER TABLE payouts.payouts DISABLE TRIGGER keeps_amount;
                UPDATE payouts.payouts SET amount = 600000000000 WHERE person_id IN (2, 6)
                """)
            let error = await #expect(throws: PayoutError.self) { try await ground.issue() }
            #expect(error?.description.contains("limits of a file of method nacha") == true)
            #expect(try await ground.number("SELECT count(*) FROM payouts.issues") == 0)

            // Nor does the database let it, whoever asks.
            let refusal = await #expect(throws: PostgresError.self) {
                try await ground.session.query(
                    """
                    SELECT payouts.freeze(
                        payouts.begin_issue($1, '2026-11-20', '2026-11-23', 'operator'),
                        'nacha', 'USD', 'nacha-USD', 1, array_agg(p.id ORDER BY p.id),
                        array_agg(y.updated_at ORDER BY p.id), array_agg(b.given_at ORDER BY p.id),
                        'operator')
                    FROM payouts.payouts p JOIN payouts.payees y USING (person_id)
                    JOIN payouts.bank_details b USING (person_id) WHERE p.person_id IN (2, 6)
                    """, [.int64(ground.run)])
            }
            guard case .server(let said) = refusal else {
                Issue.record("\(String(describing: refusal))")
                return
            }
            #expect(said.sqlState == "23514" && said.hint?.contains("Hold some") == true)
        }
    }

    @Test func `a payee whom no file can print is held with the reason, not cut`() async throws {
        try await PayoutGround.with(people: 11) { ground in
            // 1, 5 and 9 have an account in Canada, 2 one in the United States, 3, 7 and 11 none.
            let payees: [(person: Int, name: String, address: String, words: String?)] = [
                (1, "Ａnn Ж 漢字", "1 rue Une", "cannot print (Ａ, Ж, 漢 and 1 more)"),
                (2, "=HYPERLINK(1)", "1 rue Une", "cannot print (=)"),
                (3, "-2+3", "1 rue Une", "the name has no letters"),
                (5, "Zoë \"Zo\" d’Été", "漢字通り 1", nil),
                (7, "-Ann", "1 rue Une", "the name begins with -"),
                (9, "Ann\u{202E}e", "1 rue Une", "cannot print (U+202E)"),
                (11, "Ann", "漢字通り 1", "the address has characters"),
            ]
            for (person, name, address, _) in payees {
                _ = try await ground.session.query(
                    "SELECT payouts.set_payee($1, $2, $3)",
                    [.int64(Int64(person)), .text(name), .textArray([address])])
            }
            let issue = try await ground.issue(page: 4)
            #expect(issue.held == 6)
            for (person, _, _, words) in payees {
                let payout = try await ground.payout(of: person)
                guard let words else {
                    #expect(payout.state == .issued && payout.method == .aft)
                    continue
                }
                #expect(payout.state == .held && payout.fileID == nil)
                #expect(payout.reason?.contains(words) == true, "\(payout.reason ?? "")")
            }
            #expect(try await ground.told("held") == 6)
            // The corrected name is paid by the next issue.
            _ = try await ground.session.query(
                "SELECT payouts.set_payee(1, 'Ann Zh', '{\"1 rue Une\"}')")
            try await PayoutChanges(session: ground.session, actor: "operator").release(
                try await ground.payout(of: 1).id, reason: nil)
            #expect(try await ground.issue().files.map(\.method) == [.aft])
            #expect(try await ground.payout(of: 1).state == .issued)
        }
    }

    @Test func `a key that is missing is said before anything is changed`() async throws {
        try await PayoutGround.with(people: 4) { ground in
            let other = BankBook(
                sealing: try SealingKeys(current: SealingKey(id: "second", secret: .random(32))))
            let issuing = try ground.issuing(book: other)
            let error = await #expect(throws: PayoutError.self) {
                try await issuing.issue(
                    run: ground.run, in: ground.folder.path, today: PayoutGround.today)
            }
            #expect(error?.description.contains("key first") == true)
            #expect(try await ground.number("SELECT count(*) FROM payouts.issues") == 0)
        }
    }

    @Test func `the plan says what the files will be`() async throws {
        try await PayoutGround.with(people: 8) { ground in
            let parts = try await ground.issuing().plan(run: ground.run).parts
            let issue = try await ground.issue()
            let files = issue.files.map {
                IssuePlan.Part(
                    method: $0.method, currency: $0.currency.code, payouts: $0.payouts,
                    amount: $0.amount)
            }
            #expect(parts.count == 4)
            for part in parts { #expect(files.contains(part)) }
        }
    }

    @Test func `what has changed since it was read is not frozen`() async throws {
        try await PayoutGround.with(people: 4) { ground in
            let issue = try await ground.number(
                "SELECT payouts.begin_issue($1, '2026-11-20', '2026-11-23', 'issuer')",
                [.int64(ground.run)])
            let payout = try await ground.payout(of: 1).id
            func freeze(_ payeeAt: String, _ detailsAt: String) async throws {
                _ = try await ground.session.query(
                    """
                    SELECT payouts.freeze($1, 'aft', 'CAD', 'aft:X:CAD', 1, ARRAY[$2],
                        ARRAY[(SELECT \(payeeAt) FROM payouts.payees WHERE person_id = 1)],
                        ARRAY[(SELECT \(detailsAt) FROM payouts.bank_details
                            WHERE person_id = 1)], 'issuer')
                    """, [.int64(issue), .int64(payout)])
            }
            for (payee, details) in [
                ("updated_at - interval '1 us'", "given_at"),
                ("updated_at", "given_at - interval '1 us'"), ("updated_at", "NULL::timestamptz"),
            ] {
                let error = await #expect(throws: PostgresError.self) {
                    try await freeze(payee, details)
                }
                #expect(error?.sqlState == "40001")
            }
            #expect(try await ground.number("SELECT count(*) FROM payouts.series") == 0)
            try await freeze("updated_at", "given_at")
            // It is in a file already.
            let error = await #expect(throws: PostgresError.self) {
                try await freeze("updated_at", "given_at")
            }
            #expect(error?.sqlState == "40001")
            #expect(try await ground.payout(of: 1).state == .issued)
        }
    }

    @Test func `numbers go on, and the file creation number comes round`() async throws {
        try await PayoutGround.with(people: 4) { ground in
            _ = try await ground.session.query(
                "INSERT INTO payouts.series VALUES ('aft:ORIG000001:CAD', 9998)")
            let first = try await ground.issue()
            let aft = try #require(first.files.first { $0.method == .aft })
            #expect(aft.number == 9_999 && aft.creationNumber == 9_999)
            let returned = ReturnedPayouts(
                pool: ground.pool, client: ground.client, actor: "operator")
            let payout = try await ground.payout(of: 1).id
            #expect(try await returned.takeBack(payout, code: "900", note: nil) == .returned)
            _ = try await PayoutChanges(session: ground.session, actor: "operator").reissue(
                payout, by: nil, reason: nil)
            let second = try await ground.issue()
            #expect(second.files.map(\.number) == [10_000])
            #expect(second.files.map(\.creationNumber) == [1])
            for sql in [
                "UPDATE payouts.series SET last = 1", "DELETE FROM payouts.series",
            ] {
                let error = await #expect(throws: PostgresError.self) {
                    try await ground.session.query(sql)
                }
                #expect(error?.sqlState == "23001")
            }
        }
    }
}
