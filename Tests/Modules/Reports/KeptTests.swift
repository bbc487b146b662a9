import Errand
import ErrandPostgres
import ErrandReports
import ErrandTestServices
import Testing

@Suite("Reports and retention", .database) struct KeptTests {
    private static func refusal(
        _ body: () async throws -> some Sendable
    ) async throws -> String? {
        do {
            _ = try await body()
            return nil
        } catch let error as ReportError {
            guard case .refused(let words, let hint) = error else { throw error }
            #expect(hint != nil)
            return words
        }
    }

    @Test func `a report is made and checked as long as all of its answers are kept`()
        async throws
    {
        try await withReports { ground in
            try await ground.people(6)
            for person in 1...6 { try await ground.complete(person) }
            let report = try await ground.open()
            let statement = try await ground.open("statement")
            try await ground.make(report)
            // October in Toronto begins at 04:00, and answers are kept for 13 months.
            #expect(try await ground.make(report, at: "2027-11-01T04:00:00Z") == .unchanged)
            let words = try await Self.refusal {
                try await ground.make(report, at: "2027-11-01T04:00:01Z")
            }
            #expect(words?.contains("the retention has begun to remove the answers") == true)
            #expect(try await ground.number("SELECT max(revision) FROM reports.revisions") == 1)
            // The rule decides, not whether the rows are there; statements read the ledger.
            #expect(try await ground.number("SELECT count(*) FROM surveys.completions") == 6)
            #expect(try await ground.make(statement, at: "2028-01-01T00:00:00Z") == .made)
            try await ground.session.script(
                "UPDATE people.retention_rules SET keep = '30 days' WHERE name = 'surveys.answers'")
            #expect(try await Self.refusal { try await ground.make(report) } != nil)
        }
    }

    @Test func `what shoppers found is kept for less long`() async throws {
        try await withReports { ground in
            try await ground.people(1)
            let report = try await ground.open()
            try await ground.session.script(
                """
                INSERT INTO missions.shoppers (person_id, state_since, state, reviewed, good,
                    quality) VALUES (1, now(), 'active', 20, 20, 0.9);
                INSERT INTO missions.missions (id, branch_id, establishment_id, opens_at, closes_at,
                    first_day, due_day, paid, pay, rest_days, time_zone, title, place)
                SELECT 1, 3, 7, '2026-09-01Z', '2026-10-30Z', '2026-09-01', '2026-10-30', 5000,
                    3000, 0, 'America/Toronto', 'Buy a coffee', b.place
                FROM establishments.branches b WHERE b.id = 3;
                INSERT INTO missions.assignments (id, mission_id, person_id, branch_id, offered_at,
                    answer_by, due_at, arrived_at, ended_at, due_day, barred, payment_id, slot,
                    state)
                OVERRIDING SYSTEM VALUE
                VALUES (1, 1, 1, 3, '2026-09-20Z', '2026-09-21Z', '2026-10-30Z', '2026-09-25Z',
                    '2026-10-06Z', '2026-10-30', 'empty', 1, 1, 'paid');
                """)
            #expect(
                try await Self.refusal { try await ground.make(report, at: "2027-09-21T00:00:00Z") }
                    != nil)
            #expect(try await ground.make(report, at: "2027-09-19T00:00:00Z") == .made)
        }
    }

    @Test func `none is opened, queued or counted as late that is not kept`() async throws {
        try await withReports { ground in
            let report = try await ground.open("weekly", "2026-W40")
            try await ground.session.script(
                "UPDATE people.retention_rules SET keep = '1 day' WHERE name = 'surveys.answers'")
            do {
                _ = try await ground.open("weekly", "2026-W41")
                Issue.record("it was opened")
            } catch let error as PostgresError {
                #expect(ReportError(error).map { "\($0)".contains("2026-W41") } == true)
            }
            let rows = ReportRows(session: ground.session)
            #expect(
                try await rows.health(now: ReportGround.instant("2026-10-30T00:00:00Z")).late == 0)
            let due = try await ground.texts("SELECT reports.open_due('2026-10-06Z', 1000)::text")
            #expect(!due.contains(String(report)))
            // Its job ends without another attempt.
            let client = try await JobClient(
                pool: ground.pool, redis: TestDatabase.here().redis, log: .silent)
            _ = try await client.enqueue(MakeReport(reportID: report))
            _ = try await TestWorker.drain(ground.kinds, queues: [.init("reports")])
            #expect(
                try await ground.number(
                    "SELECT count(*) FROM errand.jobs WHERE kind = '\(MakeReport.kind)'") == 0)
        }
    }
}
