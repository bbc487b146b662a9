import Foundation
import ErrandPostgres
import Synchronization
import ErrandTestServices
import Testing

extension CommandLine {
    @Suite("errand migrate") struct MigrateTests {
        private static let count = Atomic<Int>(0)

        /// A database in which nothing is; what it says goes by this environment.
        private func emptyDatabase() async throws -> [String: String] {
            let number = Self.count.add(1, ordering: .relaxed).newValue
            let name = "empty_\(ProcessInfo.processInfo.processIdentifier)_\(number)"
            let admin = Session(
                SessionSettings(try TestDatabase.url(of: "postgres"), name: "errand-test"))
            try await admin.script("CREATE DATABASE \(name)")
            await admin.close()
            return ["DATABASE_URL": try TestDatabase.url(of: name)]
        }

        private func states(_ run: Run) throws -> Set<String> {
            Set(try run.records.compactMap { $0["state"].text })
        }

        @Test func `an empty database gets every migration, once`() async throws {
            let empty = try await emptyDatabase()
            let before = try await errand("migrate", "status", "-ojson", environment: empty)
            before.expect(0)
            #expect(try states(before) == ["pending"])
            let first = try await errand("migrate", "-ojson", environment: empty)
            first.expect(0)
            #expect(try first.records.map { $0["number"] } == before.records.map { $0["number"] })
            #expect(try states(first) == ["applied"])
            let second = try await errand("migrate", environment: empty)
            second.expect(0, "nothing to do: the schema is up to date")
            #expect(second.output.isEmpty)
            let after = try await errand("migrate", "status", "-ojson", environment: empty)
            #expect(try states(after) == ["applied"])
            #expect(try after.records.allSatisfy { $0["applied_at"].text?.hasSuffix("Z") == true })
            // What the program knows of its kinds is there before any worker ran.
            try await errand("enqueue", "demo.noop", environment: empty).expect(0)
        }

        private func schedules(_ environment: [String: String]) async throws -> Set<String> {
            let list = try await errand("schedule", "ls", "-ojson", environment: environment)
            list.expect(0)
            return Set(try list.records.compactMap { $0["queue"].text })
        }

        @Test func `schedules come with the workers of their queues, or when asked for`()
            async throws
        {
            let empty = try await emptyDatabase()
            try await errand("migrate", environment: empty).expect(0)
            #expect(try await schedules(empty) == [])
            try await errand("work", "--queues", "ledger", "--drain", environment: empty).expect(0)
            #expect(try await schedules(empty) == ["ledger"])
            try await errand("migrate", "--schedules", "missions,payouts", environment: empty)
                .expect(0)
            #expect(try await schedules(empty) == ["ledger", "missions", "payouts"])
        }

        @Test func `a queue without schedules is refused before anything is done`() async throws {
            let empty = try await emptyDatabase()
            try await errand("migrate", "--schedules", "payouts,vote", environment: empty).expect(
                2, "no schedule makes jobs of the queue vote", "queues with schedules: coupons, ",
                "votes too, where ERRAND_KEYS")
            let status = try await errand("migrate", "status", "-ojson", environment: empty)
            #expect(try states(status) == ["pending"])
        }

        @Test func `the table names each migration and where it stands`() async throws {
            let run = try await errand("migrate", "status")
            run.expect(0)
            #expect(run.lines[0].hasPrefix("NUMBER  NAME"))
            #expect(run.lines[1].contains("jobs"))
            #expect(run.lines[1].contains("applied"))
        }

        @Test func `ten at once share the work`() async throws {
            let empty = try await emptyDatabase()
            let runs = try await withThrowingTaskGroup(of: Run.self) { group in
                for _ in 0..<10 {
                    group.addTask { try await errand("migrate", "-ojson", environment: empty) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for run in runs { run.expect(0) }
            let applied = try runs.flatMap { try $0.records.map { $0["number"].id } }
            let status = try await errand("migrate", "status", "-ojson", environment: empty)
            #expect(applied.sorted() == (try status.records.map { $0["number"].id }.sorted()))
            #expect(try states(status) == ["applied"])
        }

        @Test func `a migration that was changed after it was applied is refused`() async throws {
            try await change("UPDATE public.errand_migrations SET checksum = '0' WHERE number = 2")
            for verb in [[], ["status"]] {
                let run = try await errand(["migrate"] + verb)
                run.expect(4, "errand: migration 2 (enqueue) was changed", "new migration")
                #expect(run.output.contains("changed") == !verb.isEmpty)
            }
        }

        @Test func `a database that is newer than the program is refused`() async throws {
            try await change(
                """
                INSERT INTO public.errand_migrations (number, name, checksum)
                VALUES (900, 'future', '0')
                """)
            for verb in [[], ["status"]] {
                let run = try await errand(["migrate", "--output", "json"] + verb)
                run.expect(4)
                let failure = try run.failure
                #expect(failure["code"] == "conflict")
                #expect(failure["exit"] == 4)
                #expect(failure["error"].text?.contains("a newer version; use that one") == true)
            }
        }

        @Test func `a migration that fails leaves nothing and can be run again`() async throws {
            let empty = try await emptyDatabase()
            let session = Session(
                SessionSettings(try #require(empty["DATABASE_URL"]), name: "errand-test"))
            try await session.script("CREATE SCHEMA errand")
            let failed = try await errand("migrate", environment: empty)
            failed.expect(
                1, "migration 1 (jobs) failed and was rolled back", "already exists",
                "run 'errand migrate' again")
            let status = try await errand("migrate", "status", "-ojson", environment: empty)
            #expect(try states(status) == ["pending"])
            try await session.script("DROP SCHEMA errand")
            try await errand("migrate", environment: empty).expect(0)
        }

        @Test func `a database that can only be read is refused`() async throws {
            let url = try TestDatabase.here().url
            let readOnly = url + "&options=-c%20default_transaction_read_only%3Don"
            try await errand("migrate", "--database-url", readOnly)
                .expect(5, "can only be read", "name the primary")
        }

        @Test func `a user without the rights is told which`() async throws {
            let number = Self.count.add(1, ordering: .relaxed).newValue
            let role = "weak_\(ProcessInfo.processInfo.processIdentifier)_\(number)"
            try await change("CREATE ROLE \(role) LOGIN")
            let url = try TestDatabase.here().url.replacingOccurrences(
                of: "errand@", with: "\(role)@")
            try await errand("migrate", "--database-url", url)
                .expect(5, "permission denied for schema public", "GRANT it")
            try await errand("job", "ls", "--database-url", url)
                .expect(5, "permission denied for schema errand", "'errand doctor'")
        }
    }
}
