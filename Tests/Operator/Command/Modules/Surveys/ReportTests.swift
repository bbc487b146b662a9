import Foundation
import ErrandTestServices
import Testing

extension AppCommands {
    @Suite("errand report") struct ReportTests {
        /// Establishment 7 with reports since September, and 8 without.
        private func ground() async throws -> [String: String] {
            try await change(
                """
                INSERT INTO establishments.establishments (id, name) VALUES (7, 'Cafe'), (8, 'Bar');
                SELECT reports.put_settings(7, 'America/Toronto');
                UPDATE reports.settings SET since = '2026-09-01Z';
                -- Whatever the clock says, the answers are kept.
                UPDATE people.retention_rules SET keep = '100 years';
                SELECT reports.put_contact(7, 'office@example.org')
                """)
            let folder = try temporaryFolder()
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o700], ofItemAtPath: folder.path)
            return ["ERRAND_REPORTS_DIR": folder.path + "/reports"]
        }

        @Test func `reports are made, listed, verified and sent again`() async throws {
            let environment = try await ground()
            let root = try #require(environment["ERRAND_REPORTS_DIR"])
            defer { try? FileManager.default.removeItem(atPath: root) }
            let make = ["report", "make", "--establishment", "7", "--yes", "-ojson"]
            let week = try await errand(make + ["--week", "2026-W40"], environment: environment)
            week.expect(0)
            #expect(try week.record["result"] == "made")
            let month = try await errand(make + ["--month", "2026-09"], environment: environment)
            #expect(
                try month.records.map { $0["report_kind"].text } == ["monthly", "statement"])
            let again = try await errand(make + ["--week", "2026-W40"], environment: environment)
            #expect(try again.record["result"] == "unchanged")
            let listed = try await errand("report", "ls", "--period", "2026-W40", "-ojson")
            #expect(try listed.record["revision"].number == 1)
            let id = try listed.record["id"].id
            let shown = try await errand("report", "show", id, "-ojson")
            shown.expect(0)
            #expect(try shown.record["files"].elements.count == 2)
            let sent = try await errand("report", "resend", id, "--yes", "-ojson")
            #expect(try sent.record["contacts"].number == 1)
            try await errand("report", "verify", environment: environment)
                .expect(0, "9 files have their recorded content")
            let folder = try #require(try shown.record["folder"].text)
            try FileManager.default.removeItem(atPath: "\(root)/\(folder)/report.pdf")
            try Data("x".utf8).write(to: URL(filePath: "\(root)/\(folder)/report.csv"))
            let broken = try await errand("report", "verify", "-ojson", environment: environment)
            broken.expect(7)
            #expect(
                Set(try broken.records.compactMap { $0["result"].text }) == ["changed", "missing"])
        }

        @Test func `what is no longer kept is refused, and few who differ are said`()
            async throws
        {
            let environment = try await ground()
            let root = try #require(environment["ERRAND_REPORTS_DIR"])
            defer { try? FileManager.default.removeItem(atPath: root) }
            try await change(
                """
                INSERT INTO people.people (id, birth_date, age_verified_at)
                VALUES (1, '1990-01-01', now());
                SELECT people.record_consent(1, 'sharing', '1');
                INSERT INTO surveys.completions (invitation_id, survey_id, version,
                    establishment_id, person_id, completed_at, seconds_spent, answers)
                VALUES (1, 12, 1, 7, 1, '2026-09-30 12:00Z', 60, '{"1": 4}')
                """)
            let make = [
                "report", "make", "--establishment", "7", "--week", "2026-W40", "--yes", "-ojson",
            ]
            #expect(
                try await errand(make, environment: environment).record["result"] == "made")
            try await change("SELECT people.withdraw_consent(1, 'sharing')")
            #expect(
                try await errand(make, environment: environment).record["result"] == "stands")
            try await change(
                "UPDATE people.retention_rules SET keep = '1 day' WHERE name = 'surveys.answers'")
            try await errand(make, environment: environment)
                .expect(5, "the retention has begun to remove the answers of 2026-W40")
            try await errand(
                "report", "make", "--establishment", "7", "--week", "2026-W41", "--yes",
                environment: environment
            ).expect(5, "the retention has begun to remove the answers of 2026-W41")
            try await errand("report", "ls", "--period", "2026-W41", "-ojson").expect(0)
        }

        @Test func `mistakes are said`() async throws {
            let environment = try await ground()
            try await errand(
                "report", "make", "--week", "2026-W40", "--establishment", "8", "--yes",
                environment: environment
            ).expect(5, "no time zone")
            try await errand("report", "make", "--week", "2026-W40", "--yes")
                .expect(2, "ERRAND_REPORTS_DIR is not set")
            try await errand("report", "make", "--yes", environment: environment)
                .expect(2, "--week or --month")
            try await errand(
                "report", "make", "--week", "2026-W60", "--establishment", "7", "--yes",
                environment: environment
            ).expect(2, "a week such as")
            try await errand("report", "show", "99").expect(3, "no report 99")
            try await errand("report", "resend", "99", "--yes").expect(3, "no report 99")
            try await errand(
                "report", "verify", environment: ["ERRAND_REPORTS_DIR": "relative"]
            ).expect(2, "an absolute path")
        }

        @Test func `some that fail make it exit 7`() async throws {
            let environment = try await ground()
            try await change(
                """
                SELECT reports.put_settings(8, 'UTC');
                UPDATE reports.settings SET since = '2026-09-01Z'
                """)
            let root = try #require(environment["ERRAND_REPORTS_DIR"])
            for folder in [root, root + "/8"] {
                try FileManager.default.createDirectory(
                    atPath: folder, withIntermediateDirectories: false,
                    attributes: [.posixPermissions: 0o700])
            }
            defer { try? FileManager.default.removeItem(atPath: root) }
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o777], ofItemAtPath: root + "/8")
            let run = try await errand(
                "report", "make", "--week", "2026-W40", "--yes", "-ojson", environment: environment)
            run.expect(7, "1 of 2 reports failed")
            #expect(try run.records.first?["result"] == "made")
        }

        @Test func `doctor says what is late, missing and unpaid`() async throws {
            _ = try await ground()
            try await change(
                """
                SELECT reports.open_report(7, 'weekly', '2026-W40', now());
                SELECT reports.remove_contact(7, 'office@example.org');
                UPDATE ledger.pay_rules SET max_reward_age = '10 years';
                INSERT INTO people.people (id, birth_date, age_verified_at)
                VALUES (1, '1990-01-01', now());
                SELECT ledger.credit_reward(1, 'survey:12', 7, 500, 300,
                    at => now() - interval '40 days')
                """)
            let run = try await errand("doctor", "-ojson")
            let found = try run.records.filter { $0["check"] == "reports" }
                .compactMap { $0["message"].text }
            #expect(found.contains { $0.contains("late by more than 6 hours: 1") })
            #expect(found.contains { $0.contains("notify nobody: 1") })
            #expect(found.contains { $0.contains("for more than 30 days: 1") })
        }
    }
}
