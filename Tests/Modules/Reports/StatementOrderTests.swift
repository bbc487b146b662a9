import ErrandPostgres
import ErrandReports
import ErrandTestServices
import Foundation
import Testing

@Suite("What is on which statement", .database) struct StatementOrderTests {
    /// The amount of a line of a statement in CAD, in cents.
    private static func sum(
        _ records: [[String: String]], _ among: (String) -> Bool
    ) -> Int {
        records.filter { $0["currency"] == "CAD" && among($0["line"] ?? "") }
            .reduce(0) { sum, line in
                let owed = Double(line["owed"] ?? "") ?? 0
                let credited = Double(line["credited"] ?? "") ?? 0
                return sum + Int(((owed - credited) * 100).rounded())
            }
    }

    /// Checks that each statement opens where the one before closes, sums to its closing, and that
    /// all have all postings.
    private static func expectChain(
        _ statements: [[[String: String]]], _ ground: ReportGround
    ) async throws {
        var last: Int?
        for records in statements {
            let opening = sum(records) { $0 == "opening" }
            let closing = sum(records) { $0 == "closing" }
            let lines = sum(records) { !["opening", "closing", "overdue"].contains($0) }
            #expect(opening + lines == closing)
            if let last { #expect(opening == last) }
            last = closing
        }
        let owed = try await ground.number(
            """
            SELECT -ledger.balance(a.id) FROM ledger.accounts a
            WHERE a.kind = 'establishment' AND a.owner = 7 AND a.currency = 'CAD'
            """)
        #expect(last.map(Int64.init) == owed)
    }

    @Test func `a posting of an earlier time is on the next statement`() async throws {
        try await withReports { ground in
            try await StatementTests.seed(ground)
            let september = try await ground.csv("statement", "2026-09")
            let october = try await ground.csv("statement")
            let report = try await ground.open("statement")
            let before = try await ground.bytes(of: "statement.csv", report)
            // Of October and August, noted when their statements were sent.
            try await ground.session.script(
                """
                SELECT reports.note_payment(7, 1500, 'CAD', 'LATE', 'ann', '2026-10-20Z'),
                    reports.note_payment(7, 300, 'CAD', 'OLD', 'ann', '2026-08-20Z');
                SELECT ledger.credit_reward(15, 'survey:12:15', 7, 700, 300, 'CAD', '2026-10-30Z');
                SELECT ledger.credit_reward(16, 'survey:12:16', 7, 800, 300, 'CAD', '2026-11-10Z')
                """)
            #expect(try await ground.make(report) == .unchanged)
            #expect(try await ground.bytes(of: "statement.csv", report) == before)
            let november = try await ground.csv("statement", "2026-11")
            #expect(
                november.filter { $0["line"] == "payments" }.compactMap { $0["source"] }.sorted()
                    == ["payment:LATE", "payment:OLD"])
            #expect(
                november.filter { $0["line"] == "surveys" }.compactMap { $0["owed"] }.sorted()
                    == ["7.00", "8.00"])
            #expect(!november.contains { $0["line"] == "earlier" })
            try await Self.expectChain([september, october, november], ground)
        }
    }

    @Test func `what is posted while a statement is made is on the next one`() async throws {
        try await withReports { ground in
            try await StatementTests.seed(ground)
            let october = try await ground.pool.transaction { transaction in
                // Not committed yet, and older than others that are.
                try await transaction.query(
                    """
                    SELECT ledger.credit_reward(15, 'survey:12:15', 7, 700, 300, 'CAD',
                        '2026-10-30Z')
                    """)
                _ = try await ground.session.query(
                    """
                    SELECT ledger.credit_reward(16, 'survey:99:1', NULL, 100, 100, 'CAD',
                        '2026-10-30Z')
                    """)
                return try await ground.csv("statement")
            }
            #expect(!october.contains { $0["owed"] == "7.00" })
            let november = try await ground.csv("statement", "2026-11")
            #expect(
                november.filter { $0["line"] == "earlier" }.map { $0["owed"] } == ["7.00"])
            try await Self.expectChain([october, november], ground)
            let text = try await ground.pdfText(
                "statement.pdf", try await ground.open("statement", "2026-11"))
            #expect(text.contains("Other postings of earlier months"))
        }
    }

    @Test(
        "a changed time zone leaves no gap and no overlap",
        arguments: ["America/Vancouver", "Asia/Kathmandu", "UTC"])
    func zones(zone: String) async throws {
        try await withReports { ground in
            try await ground.people(20)
            // One an hour around the end of October in all these zones.
            try await ground.session.script(
                """
                UPDATE ledger.pay_rules SET max_reward_age = '10 years';
                SELECT ledger.credit_reward(1 + n % 20, 'survey:12:' || n, 7, 100 + n, 50, 'CAD',
                    timestamptz '2026-10-31 12:30Z' + n * interval '1 hour')
                FROM generate_series(0, 30) AS n;
                """)
            let october = try await ground.csv("statement")
            try await ground.session.script("SELECT reports.put_settings(7, '\(zone)')")
            let november = try await ground.csv("statement", "2026-11")
            try await Self.expectChain([october, november], ground)
            let amounts = (october + november).filter { $0["line"] == "surveys" }
                .compactMap { $0["owed"] }
            #expect(amounts.count == 31 && Set(amounts).count == 31)
        }
    }

    @Test func `statements are made in their order, and none behind a later one`() async throws {
        try await withReports { ground in
            try await StatementTests.seed(ground)
            let september = try await ground.open("statement", "2026-09")
            let october = try await ground.open("statement")
            #expect(try await ground.make(october) == .made)
            #expect(try await ground.make(september) == .unchanged)
            func records(_ report: Int64) async throws -> [[String: String]] {
                ReportGround.parsed(try await ground.bytes(of: "statement.csv", report))
            }
            try await Self.expectChain([records(september), records(october)], ground)
            // Of a month that nobody asked for in time, the later one has all.
            await #expect(throws: PostgresError.self) {
                _ = try await ground.open("statement", "2026-08")
            }
            let opened = try await ground.texts(
                "SELECT reports.open_due('2026-10-20Z', 1000)::text")
            #expect(
                try await ground.number(
                    "SELECT count(*) FROM reports.reports WHERE kind = 'statement'") == 2)
            #expect(!opened.isEmpty)
            // A month without a statement is on the next one.
            let december = try await ground.csv("statement", "2026-12")
            try await Self.expectChain([records(october), december], ground)
        }
    }
}
