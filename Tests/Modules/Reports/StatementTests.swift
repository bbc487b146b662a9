import ErrandPostgres
import ErrandReports
import ErrandTestServices
import Foundation
import Testing

@Suite("Statements of establishments", .database) struct StatementTests {
    static func seed(_ ground: ReportGround) async throws {
        try await ground.people(20)
        try await ground.session.script(
            """
            UPDATE ledger.pay_rules SET max_reward_age = '10 years';
            SELECT ledger.credit_reward(n, 'survey:12:' || n, 7, 500, 300, 'CAD',
                timestamptz '2026-09-25Z' + n * interval '1 day') FROM generate_series(1, 10) AS n;
            SELECT ledger.credit_reward(n, 'mission:4:' || n, 7, 4999, 3001, 'CAD',
                '2026-10-15Z') FROM generate_series(1, 3) AS n;
            SELECT ledger.credit_reward(11, 'survey:12', 7, 1000, 700, 'XAF', '2026-10-15Z');
            SELECT ledger.reverse((SELECT id FROM ledger.transactions
                WHERE key = 'reward:2:mission:4:2'), 'fraud', 'ann', '2026-10-16Z');
            SELECT reports.note_payment(7, 2500, 'CAD', 'INV-1', 'ann', '2026-10-20Z');
            """)
    }

    @Test func `lines sum to the ledger, to the cent`() async throws {
        try await withReports { ground in
            try await Self.seed(ground)
            let records = try await ground.csv("statement")
            for (currency, fraction) in [("CAD", 100.0), ("XAF", 1.0)] {
                let lines = records.filter { $0["currency"] == currency }
                func sum(_ among: (String) -> Bool) -> Int {
                    lines.filter { among($0["line"] ?? "") }.reduce(0) { sum, line in
                        let owed = Double(line["owed"] ?? "") ?? 0
                        let credited = Double(line["credited"] ?? "") ?? 0
                        return sum + Int(((owed - credited) * fraction).rounded())
                    }
                }
                let closing = sum { $0 == "closing" }
                #expect(sum { !["closing", "overdue"].contains($0) } == closing)
                let ledger = try await ground.number(
                    """
                    SELECT -ledger.balance_at(a.id, '2026-11-01 04:00Z') FROM ledger.accounts a
                    WHERE a.kind = 'establishment' AND a.owner = 7 AND a.currency = '\(currency)'
                    """)
                #expect(Int64(closing) == ledger)
            }
            let surveys = try #require(records.first { $0["line"] == "surveys" })
            // Six of ten were before October in Toronto.
            #expect(surveys["count"] == "4")
            #expect(surveys["each"] == "5.00" && surveys["owed"] == "20.00")
            #expect(records.contains { $0["line"] == "missions" && $0["count"] == "3" })
            #expect(records.contains { $0["line"] == "payments" && $0["credited"] == "25.00" })
            let report = try await ground.open("statement")
            let text = try await ground.pdfText("statement.pdf", report)
            for value in records.flatMap({ [$0["owed"], $0["credited"]] }).compactMap({ $0 })
            where !value.isEmpty {
                #expect(text.contains(value), "\(value)")
            }
        }
    }

    @Test func `a payment is noted once for its reference, and corrected once`() async throws {
        try await withReports { ground in
            try await Self.seed(ground)
            let changes = ReportChanges(session: ground.session, actor: "ann")
            func owed() async throws -> Int64 {
                try await ReportRows(session: ground.session).owed(by: 7, now: .now())
                    .first { $0.currency == "CAD" }?.owed ?? 0
            }
            let before = try await owed()
            #expect(try await changes.paid(7, amount: 700, currency: "CAD", reference: "R 2"))
            #expect(try await !changes.paid(7, amount: 700, currency: "CAD", reference: "R 2"))
            #expect(try await owed() == before - 700)
            await #expect(throws: ReportError.self) {
                try await changes.paid(7, amount: 701, currency: "CAD", reference: "R 2")
            }
            #expect(try await changes.correct(7, reference: "R 2", reason: "of another one"))
            #expect(try await !changes.correct(7, reference: "R 2", reason: "of another one"))
            #expect(try await owed() == before)
            // The reference is used up, also for the right amount.
            await #expect(throws: ReportError.self) {
                try await changes.paid(7, amount: 700, currency: "CAD", reference: "R 2")
            }
            await #expect(throws: ReportError.self) {
                try await changes.correct(7, reference: "none", reason: "x")
            }
            await #expect(throws: ReportError.self) {
                try await changes.paid(8, amount: 700, currency: "CAD", reference: "R 3")
            }
            await #expect(throws: ReportError.self) {
                try await changes.paid(7, amount: 0, currency: "CAD", reference: "R 3")
            }
            #expect(try await ground.number("SELECT count(*) FROM reports.payments") == 2)
        }
    }

    @Test func `many note one payment at once, and it is posted once`() async throws {
        try await withReports { ground in
            let noted = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<5 {
                    group.addTask {
                        try await ground.pool.withSession { session in
                            try await ReportChanges(session: session, actor: "ann").paid(
                                7, amount: 900, currency: "CAD", reference: "R")
                        }
                    }
                }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(noted == 1)
            #expect(
                try await ground.number(
                    "SELECT count(*) FROM ledger.transactions WHERE kind = 'establishment_payment'")
                    == 1)
        }
    }

    @Test func `an amount is overdue 30 days later, less what was paid since`() async throws {
        try await withReports { ground in
            try await Self.seed(ground)
            func overdue(_ at: String) async throws -> Int64 {
                try await ground.number(
                    """
                    SELECT reports.overdue_at(a.id, '\(at)') FROM ledger.accounts a
                    WHERE a.kind = 'establishment' AND a.owner = 7 AND a.currency = 'CAD'
                    """)
            }
            #expect(try await overdue("2026-10-24Z") == 0)
            // Ten surveys until 11 October, and more was credited since.
            #expect(try await overdue("2026-11-10Z") == 0)
            #expect(try await overdue("2026-11-25Z") == 5_000 + 3 * 4_999 - 4_999 - 2_500)
        }
    }

    @Test func `what a correction undoes is as old as it was, by currency`() async throws {
        try await withReports { ground in
            try await ground.people(3)
            try await ground.session.script(
                """
                UPDATE ledger.pay_rules SET max_reward_age = '10 years';
                SELECT ledger.credit_reward(1, 'survey:12:1', 7, 1000, 600, 'CAD',
                    now() - interval '120 days');
                SELECT ledger.credit_reward(2, 'survey:12:2', 7, 400, 300, 'CAD',
                    now() - interval '20 days');
                SELECT ledger.credit_reward(3, 'survey:12:3', 7, 900, 700, 'XAF',
                    now() - interval '120 days');
                SELECT reports.note_payment(7, 1000, 'CAD', 'A', 'ann',
                    now() - interval '100 days');
                """)
            func overdue(_ days: Int) async throws -> [String] {
                try await ground.texts(
                    """
                    SELECT a.currency || ' '
                        || reports.overdue_at(a.id, now() + interval '\(days) days')
                    FROM ledger.accounts a WHERE a.kind = 'establishment' AND a.owner = 7
                    ORDER BY a.currency
                    """)
            }
            // The payment pays the oldest; the other currency is another debt.
            #expect(try await overdue(-1) == ["CAD 0", "XAF 900"])
            let changes = ReportChanges(session: ground.session, actor: "ann")
            _ = try await changes.correct(7, reference: "A", reason: "of another one")
            #expect(try await overdue(1) == ["CAD 1000", "XAF 900"])
            #expect(try await overdue(15) == ["CAD 1400", "XAF 900"])
            #expect(try await overdue(60) == ["CAD 1400", "XAF 900"])
            // Paying more than is owed leaves none, and none that is negative.
            _ = try await changes.paid(7, amount: 5_000, currency: "CAD", reference: "B")
            #expect(try await overdue(1) == ["CAD 0", "XAF 900"])
            #expect(try await overdue(60) == ["CAD 0", "XAF 900"])
        }
    }
}
