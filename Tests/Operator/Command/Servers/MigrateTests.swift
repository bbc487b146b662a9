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

        /// Whether the session of a database finds exactly these schemas, and these extensions.
        private func found(_ environment: [String: String]) async throws -> (
            schemas: [String], extensions: [String]
        ) {
            let session = Session(
                SessionSettings(try #require(environment["DATABASE_URL"]), name: "errand-test"))
            let row = try await session.query(
                """
                SELECT array(SELECT nspname::text FROM pg_namespace
                        WHERE nspname !~ '^(pg_|information_schema|public)' ORDER BY 1),
                    array(SELECT extname::text FROM pg_extension WHERE extname <> 'plpgsql')
                """)
            await session.close()
            return (try row.textArray(0, 0), try row.textArray(0, 1))
        }

        @Test func `an empty database gets the engine, and nothing else`() async throws {
            let empty = try await emptyDatabase()
            let before = try await errand("migrate", "status", "-ojson", environment: empty)
            before.expect(0)
            #expect(try states(before) == ["not installed"])
            let first = try await errand("migrate", "-ojson", environment: empty)
            first.expect(0)
            #expect(try states(first) == ["applied"])
            #expect(try Set(first.records.map { $0["module"].text }) == ["engine"])
            let second = try await errand("migrate", environment: empty)
            second.expect(0, "nothing to do: the schema is up to date")
            #expect(second.output.isEmpty)
            let after = try await errand("migrate", "status", "-ojson", environment: empty)
            #expect(try states(after) == ["applied", "not installed"])
            let found = try await found(empty)
            #expect(found.schemas == ["errand"])
            #expect(found.extensions == [])
        }

        @Test func `the engine alone works, and speaks of no app`() async throws {
            let empty = try await emptyDatabase()
            try await errand("migrate", environment: empty).expect(0)
            // What the program knows of its kinds is there before any worker ran.
            try await errand("enqueue", "demo.noop", "--count", "3", environment: empty).expect(0)
            try await errand("enqueue", "demo.fail", "{\"times\": 9}", environment: empty)
                .expect(0)
            try await errand("work", "--drain", environment: empty).expect(0)
            let done = try await errand(
                "job", "ls", "--state", "completed", "-ojson", environment: empty)
            #expect(try done.records.map { $0["kind"] } == ["demo.noop", "demo.noop", "demo.noop"])
            try await errand("dead", "ls", environment: empty).expect(0)
            try await errand("status", environment: empty).expect(0)
            let kinds = try await errand("kind", "ls", "-ojson", environment: empty)
            kinds.expect(0)
            #expect(
                try kinds.records.compactMap { $0["kind"].text }.allSatisfy {
                    $0.hasPrefix("demo.")
                })
            let doctor = try await errand("doctor", "-ojson", environment: empty)
            let checks = try Set(doctor.records.compactMap { $0["check"].text })
            #expect(
                checks.isDisjoint(with: [
                    "channels", "deliveries", "codes", "webhooks", "ledger", "payouts", "votes",
                    "households", "extensions",
                ]))
            try await errand("enqueue", "votes.count", "{\"vote_id\": 1}", environment: empty)
                .expect(3, "no program has declared the kind votes.count")
        }

        @Test func `a module brings what it needs`() async throws {
            let empty = try await emptyDatabase()
            let run = try await errand(
                "migrate", "--modules", "coupons", "-ojson", environment: empty)
            run.expect(0)
            var order: [String] = []
            for module in try run.records.compactMap({ $0["module"].text })
            where order.last != module { order.append(module) }
            #expect(order.first == "engine")
            #expect(order.last == "coupons")
            #expect(
                Set(order) == [
                    "engine", "people", "notification", "ledger", "establishments", "badges",
                    "coupons",
                ])
            #expect(order.count == 7, "each is applied as a whole")
            let found = try await found(empty)
            #expect(!found.schemas.contains("votes") && found.schemas.contains("coupons"))
            // The rest, by the environment.
            try await errand(
                "migrate", environment: empty.merging(["ERRAND_MODULES": "all"]) { $1 }
            ).expect(0)
            let after = try await errand("migrate", "status", "-ojson", environment: empty)
            #expect(try states(after) == ["applied"])
        }

        @Test func `what a command needs and is not installed is named`() async throws {
            let empty = try await emptyDatabase()
            try await errand("migrate", environment: empty).expect(0)
            for (module, command) in [
                ("votes", ["vote", "ls"]), ("coupons", ["coupon", "ls"]),
                ("household", ["household", "ls"]), ("ledger", ["ledger", "balance"]),
                ("payouts", ["payout", "ls"]), ("missions", ["mission", "ls"]),
                ("badges", ["badge", "kinds"]),
                ("notification", ["notification", "ls"]), ("notification", ["webhook", "ls"]),
            ] {
                try await errand(command, environment: empty).expect(
                    5, "the module \(module) is not installed in this database",
                    "errand migrate --modules \(module)")
            }
        }

        @Test func `a worker of a queue whose module is missing says so`() async throws {
            let empty = try await emptyDatabase()
            try await errand("migrate", environment: empty).expect(0)
            let worker = try await errand(
                "work", "--queues", "votes", "--drain", environment: empty)
            worker.expect(0, "this worker runs no jobs of votes", "migrate --modules votes")
            let other = try await errand("work", "--drain", environment: empty)
            other.expect(0)
            #expect(!other.errors.contains("this worker runs no jobs"))
        }

        @Test func `a module whose need is not installed is named, with the remedy`()
            async throws
        {
            let url = ["DATABASE_URL": try await TestDatabase.url(with: ["notification"])]
            // As if this version of the module were the first that needs the other.
            let session = Session(
                SessionSettings(try #require(url["DATABASE_URL"]), name: "errand-test"))
            try await session.script(
                """
                DELETE FROM errand.migrations WHERE module = 'people';
                DELETE FROM errand.modules WHERE name = 'people';
                """)
            await session.close()
            try await errand("work", "--drain", environment: url).expect(
                5, "the module people is not installed", "errand migrate")
            let doctor = try await errand("doctor", "-ojson", environment: url)
            let finding = try doctor.records.first { $0["check"] == "migrations" }
            #expect(finding?["severity"] == "critical")
            #expect(finding?["message"].text == "notification needs people, which is not installed")
        }

        @Test(
            "what cannot be installed is refused before anything is done",
            arguments: [
                ("vote", "there is no module 'vote'", "did you mean 'votes'? modules: people, "),
                ("coupons,nope", "there is no module 'nope'", "household, custody, all"),
                ("all,nope", "there is no module 'nope'", "modules: "),
                ("", "there is no module ''", "modules: "),
            ])
        func unknown(modules: String, message: String, hint: String) async throws {
            let empty = try await emptyDatabase()
            try await errand("migrate", "--modules", modules, environment: empty)
                .expect(2, message, hint)
            #expect(try await found(empty).schemas == [])
        }

        @Test func `a module that was applied by half is refused whole`() async throws {
            let empty = try await emptyDatabase()
            try await errand("migrate", environment: empty).expect(0)
            let session = Session(
                SessionSettings(try #require(empty["DATABASE_URL"]), name: "errand-test"))
            // Somebody's own schema of the name, or what a restore has left.
            try await session.script("CREATE SCHEMA household")
            try await errand("migrate", "--modules", "household", environment: empty).expect(
                1, "household: tables/001_", "already exists", "everything was rolled back")
            #expect(try await found(empty).schemas == ["errand", "household"])
            let status = try await errand("migrate", "status", "-ojson", environment: empty)
            #expect(
                try status.records.filter { $0["module"].text != "engine" }
                    .allSatisfy { $0["state"].text == "not installed" })
            await session.close()
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
            try await errand(
                "migrate", "--modules", "ledger,missions,payouts", environment: empty
            ).expect(0)
            #expect(try await schedules(empty) == [])
            try await errand("work", "--queues", "ledger", "--drain", environment: empty).expect(0)
            #expect(try await schedules(empty) == ["ledger"])
            try await errand("migrate", "--schedules", "missions,payouts", environment: empty)
                .expect(0)
            #expect(try await schedules(empty) == ["ledger", "missions", "payouts"])
        }

        @Test func `a queue without schedules is refused before anything is done`() async throws {
            let empty = try await emptyDatabase()
            try await errand(
                "migrate", "--modules", "payouts", "--schedules", "payouts,vote",
                environment: empty
            ).expect(
                2, "no schedule creates jobs in the queue vote", "queues with schedules: ledger, ")
            #expect(try await found(empty).schemas == [])
        }

        @Test func `the table names each migration and where it stands`() async throws {
            let run = try await errand("migrate", "status")
            run.expect(0)
            #expect(run.lines[0].hasPrefix("MODULE"))
            #expect(run.lines[1].contains("tables/001_jobs.sql"))
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
            let applied = try runs.map { try $0.records.compactMap { $0["file"].text } }
            #expect(applied.count { !$0.isEmpty } == 1, "one applies, the others wait for it")
            let status = try await errand("migrate", "status", "-ojson", environment: empty)
            let files = try status.records.filter { $0["module"].text == "engine" }
                .compactMap { $0["file"].text }
            #expect(applied.flatMap { $0 }.sorted() == files.sorted())
        }

        @Test func `a migration that was changed after it was applied is refused`() async throws {
            try await change(
                """
                UPDATE errand.migrations SET checksum = '0'
                WHERE file = 'tables/002_finished_jobs.sql'
                """
            )
            for verb in [[], ["status"]] {
                let run = try await errand(["migrate"] + verb)
                run.expect(
                    4, "errand: engine: tables/002_finished_jobs.sql was changed", "new step")
                #expect(run.output.contains("changed") == !verb.isEmpty)
            }
        }

        @Test func `a database that is newer than the program is refused`() async throws {
            try await change(
                """
                INSERT INTO errand.migrations (module, file, checksum)
                VALUES ('engine', 'tables/900_future.sql', '0')
                """)
            for verb in [[], ["status"]] {
                let run = try await errand(["migrate", "--output", "json"] + verb)
                run.expect(4)
                let failure = try run.failure
                #expect(failure["code"] == "conflict")
                #expect(failure["exit"] == 4)
                #expect(failure["error"].text?.contains("use the newer version") == true)
            }
        }

        @Test func `a migration that fails leaves nothing and can be run again`() async throws {
            let empty = try await emptyDatabase()
            let session = Session(
                SessionSettings(try #require(empty["DATABASE_URL"]), name: "errand-test"))
            try await session.script("CREATE SCHEMA errand; CREATE TABLE errand.jobs ()")
            let failed = try await errand("migrate", environment: empty)
            failed.expect(
                1, "engine: tables/001_jobs.sql failed, and everything was rolled back",
                "already exists", "run 'errand migrate' again")
            let status = try await errand("migrate", "status", "-ojson", environment: empty)
            #expect(try states(status) == ["not installed"])
            try await session.script("DROP TABLE errand.jobs")
            try await errand("migrate", environment: empty).expect(0)
            await session.close()
        }

        @Test func `a database of a development version is refused`() async throws {
            let empty = try await emptyDatabase()
            let session = Session(
                SessionSettings(try #require(empty["DATABASE_URL"]), name: "errand-test"))
            try await session.script("CREATE TABLE public.errand_migrations (number int)")
            for command in [["migrate"], ["work"], ["schedule", "run"], ["migrate", "status"]] {
                try await errand(command, environment: empty)
                    .expect(4, "made by a development version of Errand", "use a new database")
            }
            await session.close()
        }

        @Test func `a database that can only be read is refused`() async throws {
            let url = try TestDatabase.here().url
            let readOnly = url + "&options=-c%20default_transaction_read_only%3Don"
            try await errand("migrate", "--database-url", readOnly)
                .expect(5, "the database is read-only", "name the primary")
        }

        @Test func `a user without the rights is told which`() async throws {
            let number = Self.count.add(1, ordering: .relaxed).newValue
            let role = "weak_\(ProcessInfo.processInfo.processIdentifier)_\(number)"
            try await change("CREATE ROLE \(role) LOGIN")
            let url = try TestDatabase.here().url.replacingOccurrences(
                of: "errand@", with: "\(role)@")
            try await errand("migrate", "--database-url", url)
                .expect(5, "permission denied", "GRANT them")
            try await errand("job", "ls", "--database-url", url)
                .expect(5, "permission denied for schema errand", "'errand doctor'")
        }
    }
}
