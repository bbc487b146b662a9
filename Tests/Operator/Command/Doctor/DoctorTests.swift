import Foundation
import Glibc
import ErrandTestServices
import Testing

extension CommandLine {
    @Suite("errand doctor") struct DoctorTests {
        /// The findings by what was looked at.
        private func findings(
            _ code: Int32, environment: [String: String] = [:],
            at place: SourceLocation = #_sourceLocation
        ) async throws -> [String: JSON] {
            let run = try await errand("doctor", "-ojson", environment: environment)
            run.expect(code, at: place)
            var findings: [String: JSON] = [:]
            for record in try run.records {
                #expect(record.names == ["check", "severity", "message", "remedy"])
                // Every problem has a remedy.
                #expect((record["severity"] == "ok") == (record["remedy"] == nil))
                findings[record["check"].text ?? ""] = record
            }
            return findings
        }

        private func expect(
            _ finding: JSON?, _ result: JSON, _ found: String, remedy: String,
            at place: SourceLocation = #_sourceLocation
        ) {
            #expect(finding?["severity"] == result, sourceLocation: place)
            let texts = (finding?["message"].text ?? "", finding?["remedy"].text ?? "")
            #expect(texts.0.contains(found), "\(texts.0)", sourceLocation: place)
            #expect(texts.1.contains(remedy), "\(texts.1)", sourceLocation: place)
        }

        @Test func `all is well`() async throws {
            let found = try await findings(0)
            #expect(
                Set(found.keys).isSuperset(of: [
                    "postgresql", "clock", "durability", "extensions", "migrations",
                    "permissions", "transaction", "redis", "redis memory", "redis keys",
                    "time zones", "schedules", "encryption",
                ]))
            let table = try await errand("doctor")
            table.expect(0)
            #expect(table.lines[0].hasPrefix("CHECK"))
        }

        @Test func `a database that is not there`() async throws {
            let url = try TestDatabase.url(of: "no_such_database")
            let found = try await findings(11, environment: ["DATABASE_URL": url])
            expect(
                found["postgresql"], "critical", "no_such_database",
                remedy: "check --database-url (DATABASE_URL)")
            // The other server is looked at all the same.
            #expect(found["redis"]?["severity"] == "ok")
        }

        @Test func `a port where nobody listens`() async throws {
            let found = try await findings(
                11,
                environment: [
                    "DATABASE_URL": "postgresql://errand:sekret@127.0.0.1:1/errand",
                    "REDIS_URL": "redis://:sekret@127.0.0.1:1",
                ])
            expect(
                found["postgresql"], "critical", "PostgreSQL cannot be reached",
                remedy: "--database-url")
            expect(found["redis"], "critical", "127.0.0.1:1", remedy: "--redis-url (REDIS_URL)")
            #expect(!"\(found)".contains("sekret"))
            // For people each remedy stands below the table, however narrow the terminal.
            let table = try await errand(
                "doctor", environment: ["DATABASE_URL": "postgresql://127.0.0.1:1/errand"])
            table.expect(11)
            #expect(table.output.contains("\n  check --database-url (DATABASE_URL)"))
        }

        @Test(arguments: [":sekret@", "somebody:sekret@"])
        func `a Redis password that is wrong`(credentials: String) async throws {
            let url = try TestDatabase.environment("REDIS_URL")
            let wrong = url.replacingOccurrences(of: "unix://", with: "unix://\(credentials)")
            let found = try await findings(11, environment: ["REDIS_URL": wrong])
            expect(found["redis"], "critical", "refuses access", remedy: "--redis-url")
            #expect(!"\(found)".contains("sekret"))
            #expect(found["postgresql"]?["severity"] == "ok")
        }

        @Test func `a setting that is missing`() async throws {
            let found = try await findings(11, environment: ["DATABASE_URL": "", "REDIS_URL": ""])
            expect(
                found["postgresql"], "critical", "the URL of PostgreSQL is missing",
                remedy: "set DATABASE_URL")
            expect(
                found["redis"], "critical", "the URL of Redis is missing", remedy: "set REDIS_URL")
        }

        @Test func `a setting that is nonsense`() async throws {
            let nonsense = ["DATABASE_URL": "http://h/db", "REDIS_URL": "rediss://h"]
            let found = try await findings(11, environment: nonsense)
            expect(found["postgresql"], "critical", "URL is malformed", remedy: "--database-url")
            expect(found["redis"], "critical", "rediss:// is not supported", remedy: "--redis-url")
        }

        @Test func `a migration that is pending`() async throws {
            try await change(
                "DELETE FROM errand.migrations WHERE file = 'routines/live_jobs.sql'")
            let found = try await findings(11)
            expect(found["migrations"], "critical", "1 pending in engine", remedy: "errand migrate")
        }

        @Test func `a migration that is not ours`() async throws {
            try await change(
                "UPDATE errand.migrations SET checksum = '0' WHERE file = 'tables/001_jobs.sql'")
            let found = try await findings(11)
            expect(
                found["migrations"], "critical", "engine: tables/001_jobs.sql is changed",
                remedy: "errand migrate status")
        }

        @Test func `rights that are lacking`() async throws {
            let role = "reader_\(ProcessInfo.processInfo.processIdentifier)"
            try await change(
                """
                CREATE ROLE \(role) LOGIN;
                GRANT USAGE ON SCHEMA errand TO \(role);
                GRANT SELECT ON ALL TABLES IN SCHEMA errand, public TO \(role);
                GRANT EXECUTE ON FUNCTION errand.lanes_between, errand.lane_jobs TO \(role)
                """)
            let url = try TestDatabase.here().url.replacingOccurrences(
                of: "errand@", with: "\(role)@")
            let found = try await findings(11, environment: ["DATABASE_URL": url])
            expect(
                found["permissions"], "critical", "no access to functions of schema errand, ",
                remedy: "GRANT errand_worker TO \(role)")
            // Those who may only look can do that, and no more.
            try await errand("queue", "ls", "--database-url", url).expect(0)
            try await errand("status", "--database-url", url).expect(0)
            let queue = try await made("queue", "show", "default", "--database-url", url)
            #expect(queue["rate_in"] == .null && queue["rate_out"] == 0)
            try await errand("queue", "pause", "default", "--database-url", url)
                .expect(5, "permission denied for table queues", "GRANT them")
        }

        @Test func `rights that are lacking in any schema are named, and the remedy grants them`()
            async throws
        {
            let role = "writer_\(ProcessInfo.processInfo.processIdentifier)"
            let schemas =
                "errand, people, notification, accounts, badges, coupons, establishments, ledger, "
                + "payouts, votes, missions, surveys, reports, news, inquiries, custody"
            try await change(
                """
                CREATE ROLE \(role) LOGIN;
                GRANT USAGE ON SCHEMA \(schemas) TO \(role);
                GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \(schemas) TO \(role);
                GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA \(schemas) TO \(role);
                GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA \(schemas) TO \(role);
                REVOKE EXECUTE ON FUNCTION ledger.balance FROM \(role);
                REVOKE INSERT ON people.people FROM \(role);
                REVOKE USAGE ON SEQUENCE errand.jobs_id_seq FROM \(role)
                """)
            let url = try TestDatabase.here().url.replacingOccurrences(
                of: "errand@", with: "\(role)@")
            let found = try await findings(11, environment: ["DATABASE_URL": url])["permissions"]
            #expect(
                found?["message"]
                    == """
                    no access to functions of schema ledger, schema household, \
                    sequence errand.jobs_id_seq, table people.people
                    """)
            // As the owner of the tables, not as the user who lacks them.
            try await Fault(found: "", remedy: found?["remedy"].text ?? "no remedy").mend(
                environment: ["DATABASE_URL": url])
            _ = try await findings(0, environment: ["DATABASE_URL": url])
        }

        @Test func `a server that does not keep what it promised`() async throws {
            let url = try TestDatabase.here().url
            let careless = url + "&options=-c%20synchronous_commit%3Doff"
            let found = try await findings(10, environment: ["DATABASE_URL": careless])
            expect(found["durability"], "warning", "synchronous_commit off", remedy: "set both")
        }

        // MARK: Schedules

        private func schedule(_ name: String, _ columns: String = "") async throws {
            try await made("schedule", "add", name, "@hourly", "--kind", "demo.noop")
            try await made("schedule", "tick")
            if !columns.isEmpty {
                try await change("UPDATE errand.schedules SET \(columns) WHERE name = '\(name)'")
            }
        }

        @Test func `time zones that are too old, and none`() async throws {
            let old = try await findings(10, environment: ["TZDIR": TestZones.outdated()])
            expect(old["time zones"], "warning", "tzdata 2024a in /", remedy: "2026b or later")
            let empty = FileManager.default.temporaryDirectory.path + "/no-such-zones"
            let lost = try await findings(
                try await errand("doctor", environment: ["TZDIR": empty]).code,
                environment: ["TZDIR": empty])
            #expect(lost["time zones"]?["message"].text?.contains("in \(empty)") == false)
        }

        @Test func `schedules that are overdue, and nobody runs them`() async throws {
            try await schedule("a.b", "next_at = now() - interval '2 min'")
            let found = try await findings(10)
            expect(
                found["scheduler"], "warning",
                "no scheduler is running, and the schedule a.b is overdue",
                remedy: "errand schedule tick")
            #expect(found["schedules"]?["message"] == "1 in total, 0 paused, 1 overdue")
            let process = try start(["schedule", "run"])
            try await eventually("the schedule to be caught up") {
                try await number("SELECT count(*) FROM errand.schedules WHERE next_at > now()") == 1
            }
            _ = try await findings(0)
            process.signal(SIGTERM)
            try await finish(process).expect(0)
        }

        @Test func `a new schedule that nobody runs`() async throws {
            try await made("schedule", "add", "a.b", "@hourly", "--kind", "demo.noop")
            _ = try await findings(0)
            try await change("UPDATE errand.schedules SET changed_at = now() - interval '2 min'")
            expect(
                try await findings(10)["scheduler"], "warning", "a.b", remedy: "errand work")
        }

        @Test func `schedules that paused themselves, of kinds that nobody knows`() async throws {
            try await schedule(
                "a.b",
                """
                paused_at = now(), paused_by = 'errand', failures = 3, pause_after = 3, \
                kind = 'no.such'
                """)
            let found = try await findings(10)
            expect(
                found["failed schedules"], "warning", "1 paused", remedy: "schedule resume NAME")
            expect(
                found["schedule kinds"], "warning", "the kind no.such of the schedule a.b",
                remedy: "errand schedule edit a.b --kind KIND")
        }

        @Test func `times that were computed with newer data`() async throws {
            try await schedule("a.b", "planned_with = '2099a'")
            expect(
                try await findings(10)["schedule times"], "warning", "tzdata 2099a",
                remedy: "--only-upgrade tzdata")
        }
    }
}
