import Errand
import ErrandDurableFiles
import ErrandPostgres
import ErrandReports
import ErrandTestServices
import Foundation
import Testing

@Suite("When reports are made", .database) struct ScheduleTests {
    private static func opened(_ ground: ReportGround, at: String) async throws -> [String] {
        let known = try await ground.number("SELECT coalesce(max(id), 0) FROM reports.reports")
        let opened = try await ground.texts("SELECT reports.open_due('\(at)', 1000)::text")
        let found = try await ground.texts(
            """
            SELECT kind || ' ' || period FROM reports.reports WHERE id > \(known)
            ORDER BY kind, period
            """)
        #expect(opened.count == found.count)
        return found
    }

    @Test(
        "weeks and months end at midnight in the zone, and are due at 06:00 there",
        arguments: [
            ("America/Toronto", "2026-11-02T10:59:59Z", false),
            ("America/Toronto", "2026-11-02T11:00:00Z", true),
            // A week before the clocks change.
            ("America/Toronto", "2026-10-26T09:59:59Z", false),
            ("America/Toronto", "2026-10-26T10:00:00Z", true),
            ("Asia/Kathmandu", "2026-11-02T00:14:59Z", false),
            ("Asia/Kathmandu", "2026-11-02T00:15:00Z", true),
            ("Pacific/Kiritimati", "2026-11-01T16:00:00Z", true),
        ])
    func due(zone: String, at: String, isDue: Bool) async throws {
        try await withReports { ground in
            try await ground.session.script("SELECT reports.put_settings(7, '\(zone)')")
            let week = at < "2026-10-30" ? "2026-W43" : "2026-W44"
            _ = try await Self.opened(ground, at: at)
            let found = try await ground.texts(
                "SELECT period FROM reports.reports WHERE kind = 'weekly'")
            #expect(found.contains(week) == isDue)
        }
    }

    @Test func `what was missed is caught up, once`() async throws {
        try await withReports { ground in
            #expect(
                try await Self.opened(ground, at: "2026-11-25T12:00Z") == [
                    "weekly 2026-W43", "weekly 2026-W44", "weekly 2026-W45", "weekly 2026-W46",
                    "weekly 2026-W47", "monthly 2026-09", "monthly 2026-10", "statement 2026-09",
                    "statement 2026-10",
                ])
            #expect(try await Self.opened(ground, at: "2026-11-25T12:00Z") == [])
            // Nothing from before the establishment got reports, and nothing long after it closed.
            try await ground.session.script(
                """
                SELECT establishments.put_establishment(8, 'New'),
                    establishments.put_establishment(9, 'Old');
                SELECT reports.put_settings(8, 'UTC'), reports.put_settings(9, 'UTC');
                UPDATE reports.settings SET since = '2026-11-20Z' WHERE establishment_id = 8;
                UPDATE reports.settings SET since = '2026-01-01Z' WHERE establishment_id = 9;
                UPDATE establishments.establishments SET closed_at = '2026-05-01Z' WHERE id = 9;
                """)
            #expect(try await Self.opened(ground, at: "2026-11-25T12:00Z") == ["weekly 2026-W47"])
        }
    }

    @Test func `years, weeks and months have their days`() async throws {
        try await withReports { ground in
            for (kind, period, days) in [
                ("weekly", "2026-W53", "2026-12-28 2027-01-04"),
                ("weekly", "2027-W01", "2027-01-04 2027-01-11"),
                ("monthly", "2028-02", "2028-02-01 2028-03-01"),
                ("monthly", "2026-12", "2026-12-01 2027-01-01"),
            ] {
                let found = try await ground.texts(
                    """
                    SELECT first_day || ' ' || end_day
                    FROM reports.days_of('\(kind)', '\(period)')
                    """)
                #expect(found == [days])
            }
            for (kind, period) in [
                ("weekly", "2027-W53"), ("weekly", "2026-W00"), ("weekly", "2026-10"),
                ("monthly", "2026-13"), ("monthly", "2026-W10"),
            ] {
                await #expect(throws: PostgresError.self) {
                    _ = try await ground.texts(
                        "SELECT first_day::text FROM reports.days_of('\(kind)', '\(period)')")
                }
            }
            await #expect(throws: PostgresError.self) {
                _ = try await ground.texts(
                    "SELECT reports.open_report(7, 'weekly', '2026-W47', '2026-11-20Z')::text")
            }
        }
    }

    @Test func `workers make what is due, and notify contacts and the webhook once`() async throws {
        try await withReports { ground in
            try await ground.people(3)
            try await ground.keepAll()
            for person in 1...3 { try await ground.complete(person) }
            try await ground.session.script(
                """
                UPDATE reports.settings SET since = clock_timestamp() - interval '1 hour';
                SELECT reports.put_contact(7, 'Office@example.org'),
                    reports.put_contact(7, 'b@example.org');
                SELECT reports.put_contact(7, 'office@example.org');
                INSERT INTO notification.endpoints (owner, url, events, secret)
                VALUES ('establishment:7', 'https://example.org/', '{report.ready}', 'x');
                """)
            let report = try await ground.open()
            let client = try await JobClient(
                pool: ground.pool, redis: TestDatabase.here().redis, log: .silent)
            // Twice: the second finds nothing to change.
            for _ in 0..<2 { _ = try await client.enqueue(MakeReport(reportID: report)) }
            _ = try await TestWorker.drain(ground.kinds, queues: [.init("reports")])
            #expect(
                try await ground.texts(
                    "SELECT address FROM notification.direct_mails ORDER BY address")
                    == ["b@example.org", "office@example.org"])
            #expect(
                try await ground.texts(
                    """
                    SELECT DISTINCT data ->> 'title' || ': ' || (data ->> 'summary')
                    FROM notification.direct_mails
                    """)
                    == ["Monthly report 2026-10: Surveys given: 3, completed: 3, expired: 0."])
            #expect(
                try await ground.texts("SELECT owner FROM notification.events")
                    == ["establishment:7"])
            #expect(
                try await ground.number(
                    "SELECT jsonb_array_length(data -> 'files') FROM notification.events") == 2)
            let changes = ReportChanges(session: ground.session, actor: "ann")
            #expect(try await changes.resend(report, now: .now()) == 2)
            #expect(
                try await ground.number("SELECT count(*) FROM notification.direct_mails") == 4)
        }
    }

    @Test func `the job of the schedule fans out`() async throws {
        try await withReports { ground in
            try await ground.keepAll()
            let client = try await JobClient(
                pool: ground.pool, redis: TestDatabase.here().redis, log: .silent)
            let opened = try await OpenReports.open(
                in: ground.pool, client: client,
                now: Instant(date: Date(timeIntervalSince1970: 1_795_600_000)))
            #expect(opened == 9)
            _ = try await TestWorker.drain(ground.kinds, queues: [.init("reports")])
            #expect(
                try await ground.number(
                    "SELECT count(*) FROM reports.reports WHERE revision = 1") == 9)
            #expect(try await ReportRows(session: ground.session).health(now: .now()).late == 0)
        }
    }

    @Test func `what was opened by hand and not made is made by the schedule, once`() async throws {
        try await withReports { ground in
            try await ground.keepAll()
            let report = try await ground.open("weekly", "2026-W40")
            func due(_ at: String) async throws -> Bool {
                try await ground.texts("SELECT reports.open_due('\(at)', 1000)::text")
                    .contains(String(report))
            }
            #expect(try await !due("2026-10-05T09:59Z"))
            #expect(try await due("2026-10-05T10:01Z"))
            #expect(try await !due("2026-10-05T10:16Z"))
            // Its job has tried for days.
            #expect(try await due("2026-10-08T10:16Z"))
            // One that is being made is left alone, and one that was made too.
            try await ground.pool.transaction { transaction in
                try await transaction.query(
                    "SELECT FROM reports.hold($1, now())", [.int64(report)])
                #expect(try await !due("2026-10-12T10:16Z"))
            }
            try await ground.make(report)
            #expect(try await !due("2026-10-16T10:16Z"))
        }
    }

    @Test func `what fails by hand is made by a worker`() async throws {
        try await withReports { ground in
            try await ground.keepAll()
            let report = try await ground.open("weekly", "2026-W40")
            try FileManager.default.createDirectory(
                atPath: ground.root, withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o777])
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o777], ofItemAtPath: ground.root)
            await #expect(throws: FileError.self) { try await ground.make(report) }
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o700], ofItemAtPath: ground.root)
            let client = try await JobClient(
                pool: ground.pool, redis: TestDatabase.here().redis, log: .silent)
            _ = try await OpenReports.open(
                in: ground.pool, client: client,
                now: try ReportGround.instant("2026-10-06T00:00:00Z"))
            _ = try await TestWorker.drain(ground.kinds, queues: [.init("reports")])
            #expect(
                try await ground.number(
                    "SELECT revision FROM reports.reports WHERE id = $1", [.int64(report)]) == 1)
        }
    }

    @Test func `old reports are deleted with their files`() async throws {
        try await withReports { ground in
            let report = try await ground.open()
            try await ground.make(report)
            let folder = try await ground.folder(of: report)
            #expect(
                try await ground.number("SELECT reports.forget_reports('2026-11-01Z', 10, false)")
                    == 0)
            #expect(
                try await ground.number("SELECT reports.forget_reports('2026-11-02Z', 10, true)")
                    == 1)
            #expect(
                try await ground.number("SELECT reports.forget_reports('2026-11-02Z', 10, false)")
                    == 1)
            #expect(FileManager.default.fileExists(atPath: folder))
            // A foreign file keeps its folder, and no other.
            let other = URL(filePath: ground.root).appending(path: "7/other")
            try FileManager.default.createDirectory(
                at: other, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700]
            )
            try Data().write(to: other.appending(path: "notes.txt"))
            try await ground.session.script(
                "INSERT INTO reports.old_folders VALUES ('7/a'), ('7/other')")
            try await OpenReports.removeFolders(
                below: ground.root, in: ground.pool, log: .silent)
            #expect(!FileManager.default.fileExists(atPath: folder))
            #expect(try await ground.texts("SELECT folder FROM reports.old_folders") == ["7/other"])
            #expect(FileManager.default.fileExists(atPath: other.path))
        }
    }

    @Test func `logins may do their part and no more`() async throws {
        try await withReports { ground in
            let (app, _) = try await TestDatabase.here().login(as: "errand_app")
            let (worker, _) = try await TestDatabase.here().login(as: "errand_worker")
            let (inspector, _) = try await TestDatabase.here().login(as: "errand_inspector")
            _ = try await app.query("SELECT reports.put_contact(7, 'x@example.org')")
            _ = try await app.query("SELECT * FROM reports.listing(7)")
            func refusal(_ session: Session, _ sql: String) async -> String? {
                do throws(PostgresError) {
                    _ = try await session.query(sql)
                    return nil
                } catch { return error.sqlState }
            }
            for (session, sql) in [
                (app, "SELECT * FROM reports.figures(1)"),
                (app, "SELECT reports.note_payment(7, 1, 'CAD', 'r', 'a')"),
                (app, "SELECT * FROM reports.contacts"),
                (worker, "SELECT reports.note_payment(7, 1, 'CAD', 'r', 'a')"),
                (worker, "SELECT * FROM reports.postal_prefixes"),
                (inspector, "SELECT email FROM reports.contacts"),
                (inspector, "SELECT prints FROM reports.revisions"),
                (inspector, "SELECT * FROM reports.figures(1)"),
            ] {
                #expect(await refusal(session, sql) == "42501", "\(sql)")
            }
            // A worker's login makes a whole report.
            let report = try await ground.open()
            let maker = ground.maker
            let url = try TestDatabase.here().url.replacing(
                "//errand@",
                with: "//\(try await worker.query("SELECT current_user").text(0, 0))@")
            let pool = Pool(
                SessionSettings(url, name: "worker", setup: ["SET TimeZone = 'UTC'"]), limit: 1)
            let now = try ReportGround.instant("2026-12-01T00:00:00Z")
            for report in [report, try await ground.open("statement")] {
                for expected in [ReportMaker.Result.made, .unchanged] {
                    let result = try await pool.transaction { transaction in
                        try await maker.make(report, now: now, in: transaction)
                    }
                    #expect(result == expected)
                }
            }
            _ = try await worker.query("SELECT reports.people_of('completion', '{256}')")
            _ = try await inspector.query(
                "SELECT id, (SELECT count(*) FROM reports.settings) FROM reports.reports")
        }
    }
}
