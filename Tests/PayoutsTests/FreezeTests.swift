import Crypto
import Foundation
import Ledger
import PaymentFiles
import Payouts
import Postgres
import TestServices
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
                (5, "damaged"), (9, "no letter"), (3, "no name and address"), (2, "damaged"),
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
            #expect(try await returned.takeBack(payout, code: "900", reason: nil) == .returned)
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
