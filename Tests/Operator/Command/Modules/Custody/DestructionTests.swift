import Foundation
import Glibc
import ErrandPostgres
import ErrandTestServices
import Testing

extension AppCommands {
    @Suite("errand destruction") struct DestructionTests {
        private static let accepted = ["--accept", "unpaid_balances"]

        private func plan(_ more: String...) async throws -> Run {
            try await errand(
                ["destruction", "plan", "--notified-on", CustodyGround.day, "--yes", "-ojson"]
                    + Self.accepted + more, environment: CustodyGround.by("ann"))
        }

        /// Plans and approves with two logins.
        private func approved(_ more: String...) async throws {
            try await CustodyGround.approve(more)
        }

        /// Rows in tables that must be empty in the end, counted here and not by the command.
        private func rowsLeft(keeping schemas: [String] = []) async throws -> [String] {
            let session = try TestDatabase.here().session()
            let tables = try await session.query(
                """
                SELECT format('%I.%I', n.nspname, c.relname) AS name
                FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                JOIN errand.modules m ON n.nspname = replace(m.name, 'engine', 'errand')
                WHERE c.relkind = 'r' AND n.nspname <> ALL ($1)
                  AND format('%I.%I', n.nspname, c.relname) NOT IN ('errand.instance',
                    'errand.modules', 'errand.migrations', 'errand.audit')
                  AND (n.nspname <> 'custody' OR c.relname = 'objections')
                """, [.textArray(schemas)])
            var left: [String] = []
            for row in tables {
                let name = try row.text("name")
                let count = try await session.query("SELECT count(*) FROM \(name)")[0].int64(0)
                if count > 0 { left.append("\(name): \(count)") }
            }
            await session.close()
            return left
        }

        // "destroy the customer data if shut down"
        @Test func `two people with two logins are needed`() async throws {
            let ground = try await CustodyGround()
            defer { ground.remove() }
            try await errand("destruction", "status").expect(3, "no destruction is planned")
            try await errand("destruction", "plan", "--notified-on", "2999-01-01", "--yes")
                .expect(2, "notified_on: expected the day on which people were notified")
            try await errand("destruction", "plan", "--notified-on", CustodyGround.day)
                .expect(5, "not confirmed")
            let planned = try await plan("--reason", "end of service")
            planned.expect(0)
            #expect(try planned.record["state"] == "planned")
            #expect(try planned.record["planned_by"] == "ann")
            try await plan().expect(4, "destruction 1 is planned")
            try await errand("destruction", "start", "--yes")
                .expect(4, "another operator must approve it first")
            try await errand(
                "destruction", "approve", "--yes", environment: CustodyGround.by(" ANN ")
            ).expect(5, "another person must approve it", "--allow-same on")
            try await errand(
                "destruction", "approve", "--yes", environment: CustodyGround.by("bob")
            ).expect(5, "planned by the login errand: another login", "--allow-shared-login on")
            let (session, login) = try await TestDatabase.here().login(as: "errand")
            await session.close()
            let url = try TestDatabase.here().url.replacing("//errand@", with: "//\(login)@")
            let approved = try await errand(
                "destruction", "approve", "--yes", "-ojson",
                environment: CustodyGround.by("bob").merging(["DATABASE_URL": url]) { $1 })
            approved.expect(0)
            #expect(try approved.record["state"] == "approved")
            let audited = try await number(
                "SELECT count(*) FROM errand.audit WHERE action LIKE 'destruction %'")
            #expect(audited == 2)
            #expect(try await number("SELECT count(*) FROM people.people") == 300)
        }

        @Test func `what is not settled prevents the start unless both accept it`() async throws {
            let ground = try await CustodyGround()
            defer { ground.remove() }
            try await change("UPDATE custody.rules SET allows_shared_login = true")
            try await errand(
                "destruction", "plan", "--notified-on", CustodyGround.day, "--accept", "rain",
                "--yes"
            ).expect(2, "no such matter is open", "unpaid_balances")
            try await errand(
                "destruction", "plan", "--notified-on", CustodyGround.day, "--yes",
                environment: CustodyGround.by("ann")
            ).expect(0, "open: unpaid_balances: 100 reward balances are not paid")
            try await errand(
                "destruction", "approve", "--yes", environment: CustodyGround.by("bob")
            ).expect(0)
            try await errand("destruction", "start", "--yes")
                .expect(5, "unpaid_balances", "--accept unpaid_balances")
            try await errand("destruction", "cancel", "--yes").expect(0)
            // People must have been notified 30 days before.
            let today = String(Date().ISO8601Format().prefix(10))
            try await errand(
                ["destruction", "plan", "--notified-on", today, "--yes"] + Self.accepted,
                environment: CustodyGround.by("ann")
            ).expect(0)
            try await errand(
                "destruction", "approve", "--yes", environment: CustodyGround.by("bob")
            ).expect(0)
            try await errand("destruction", "start", "--yes").expect(5, "people were notified on")
            #expect(try await number("SELECT count(*) FROM people.people") == 300)
        }

        @Test func `a production context must be named`() async throws {
            let ground = try await CustodyGround()
            defer { ground.remove() }
            let file = ground.folder.appending(path: "errand/contexts.json")
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(
                #"{"current": "live", "contexts": {"live": {"production": true}}}"#.utf8
            ).write(to: file)
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o600], ofItemAtPath: file.path)
            let context = CustodyGround.by("ann")
                .merging(["XDG_CONFIG_HOME": ground.folder.path]) { $1 }
            let words =
                ["destruction", "plan", "--notified-on", CustodyGround.day, "--yes"] + Self.accepted
            try await errand(words, environment: context)
                .expect(5, "live is a production context and must be named", "--production live")
            try await errand(words + ["--production", "life"], environment: context)
                .expect(5, "must be named")
            try await errand(words + ["--production", "live"], environment: context).expect(0)
            try await errand(words + ["--production", "live"]).expect(2, "--production")
        }

        @Test func `a cancelled destruction gives apps their rights back`() async throws {
            let ground = try await CustodyGround()
            defer { ground.remove() }
            try await approved()
            let id = try await number("SELECT custody.begin_destruction(NULL, 'ann')")
            try await change("SELECT custody.stop_intake(\(id))")
            let (app, _) = try await TestDatabase.here().login(as: "errand_app")
            let enqueue = "SELECT errand.enqueue('receipt.send', '{}')"
            await #expect(throws: PostgresError.self) { try await app.query(enqueue) }
            try await errand("destruction", "cancel", "--yes", "--reason", "sold").expect(0)
            _ = try await app.query(enqueue)
            await app.close()
            #expect(
                try await number("SELECT count(*) FROM errand.queues WHERE paused_at IS NOT NULL")
                    == 0)
            try await errand("destruction", "start", "--yes").expect(4, "is cancelled")
        }

        @Test func `it ends without rows, keys and files, and with a certificate`() async throws {
            let ground = try await CustodyGround()
            defer { ground.remove() }
            let keys = try KeyRing([KeyRing.line("mine", 1)])
            defer { keys.remove() }
            let payouts = ground.folder.appending(path: "payouts")
            try FileManager.default.createDirectory(
                at: payouts.appending(path: "2026-Q3"), withIntermediateDirectories: true)
            try Data("x".utf8).write(to: payouts.appending(path: "2026-Q3/file.aft"))
            try await approved("--folder", payouts.path)
            // A worker that runs is stopped.
            let worker = try start(["work", "--queues", "default"])
            try await eventually("a worker") {
                try await number("SELECT count(*) FROM errand.workers") == 1
            }
            let run = try await errand(
                "destruction", "start", "--yes", "-ojson", environment: keys.environment)
            run.expect(0)
            #expect(try await worker.end(within: .seconds(30)) == .exited(0))
            let record = try run.record
            #expect(record["state"] == "done")
            #expect(record["rows_after"] == 0)
            #expect((record["rows_before"].number ?? 0) > 1_000)
            #expect(try await rowsLeft() == [])
            #expect(!FileManager.default.fileExists(atPath: keys.file))
            #expect(try FileManager.default.contentsOfDirectory(atPath: payouts.path) == [])
            // Of the operators' log only the lines about it are left.
            #expect(
                try await number(
                    "SELECT count(*) FROM errand.audit WHERE action NOT LIKE 'destruction %'") == 0)
            #expect(
                try await number(
                    """
                    SELECT count(*) FROM pg_inherits
                    WHERE inhparent = 'errand.finished_jobs'::regclass
                      AND inhrelid::regclass::text ~ 'finished_jobs_[0-9]{8}$'
                    """) == 0)
            let file = ground.path("certificate.json")
            let certificate = try await errand("destruction", "certificate", "--output-file", file)
            certificate.expect(0, "SHA-256: ")
            let sum = try await output("sha256sum", file).prefix(64)
            #expect(certificate.errors.contains(sum))
            let text = try String(contentsOfFile: file, encoding: .utf8)
            for piece in ["people.people", "\"ann\"", "\"bob\"", "backups", "mine", "mail server"] {
                #expect(text.contains(piece), "\(piece)")
            }
            try await errand("destruction", "start", "--yes").expect(4, "destruction 1 is done")
            try await errand("destruction", "cancel", "--yes").expect(4, "is done")
        }

        private func output(_ words: String...) async throws -> String {
            let program = try Program("/usr/bin/env", words)
            _ = try await program.end(within: .seconds(30))
            return program.output
        }

        @Test func `the ledger can stay, without people`() async throws {
            let ground = try await CustodyGround()
            defer { ground.remove() }
            let before = try await number("SELECT count(*) FROM ledger.postings")
            try await approved("--with-ledger")
            try await errand("destruction", "start", "--yes").expect(0)
            #expect(try await rowsLeft(keeping: ["ledger"]) == [])
            #expect(try await number("SELECT count(*) FROM ledger.postings") == before)
            try await errand("ledger", "prove").expect(0)
        }

        @Test(arguments: [1, 2, 3] as [UInt64])
        func `killed at random moments and started again, it ends with no rows`(
            seed: UInt64
        ) async throws {
            let ground = try await CustodyGround()
            defer { ground.remove() }
            let keys = try KeyRing([KeyRing.line("mine", 1)])
            defer { keys.remove() }
            try await approved("--folder", ground.folder.path)
            var random = SplitMix(seed: seed)
            var kills = 0
            while kills < 12 {
                let run = try start(
                    ["destruction", "start", "--yes"], environment: keys.environment)
                // Any moment is as good: the result is the same.
                try await Task.sleep(for: .milliseconds(Int.random(in: 30...500, using: &random)))
                run.signal(SIGKILL)
                guard case .killed = try await run.end(within: .seconds(60)) else { break }
                kills += 1
            }
            let last = try await errand(
                "destruction", "start", "--yes", environment: keys.environment)
            #expect([0, 4].contains(last.code), "\(last.errors)")
            let status = try await errand("destruction", "status", "-ojson")
            #expect(try status.record["state"] == "done", "after \(kills) kills")
            #expect(try await rowsLeft() == [])
            #expect(!FileManager.default.fileExists(atPath: keys.file))
        }

        @Test func `killed amid the tables, it goes on with those that are left`() async throws {
            let ground = try await CustodyGround()
            defer { ground.remove() }
            try await approved()
            let session = try TestDatabase.here().session()
            // Until its end, the tables of people cannot be emptied.
            _ = try await session.query("BEGIN")
            _ = try await session.query("SELECT count(*) FROM people.people")
            let run = try start(["destruction", "start", "--yes"])
            try await eventually("some tables are emptied") {
                try await number(
                    "SELECT count(*) FROM custody.counts WHERE emptied_at IS NOT NULL") > 10
            }
            run.signal(SIGKILL)
            _ = try await run.end(within: .seconds(60))
            #expect(
                try await number(
                    "SELECT count(*) FROM custody.destructions WHERE state = 'done'") == 0)
            _ = try await session.query("ROLLBACK")
            await session.close()
            try await errand("destruction", "start", "--yes").expect(0)
            #expect(try await rowsLeft() == [])
        }

        @Test func `has one run at a time, whatever locks another login holds`() async throws {
            let ground = try await CustodyGround()
            defer { ground.remove() }
            try await approved()
            let first = try TestDatabase.here().session()
            let second = try TestDatabase.here().session()
            _ = try await second.query(
                "SELECT pg_advisory_lock(hashtextextended('custody.destructions', 0))")
            let claim = "SELECT custody.claim_run(max(id)) FROM custody.destructions"
            #expect(try await first.query(claim)[0].bool(0))
            #expect(try await !second.query(claim)[0].bool(0))
            #expect(try await first.query(claim)[0].bool(0))
            await first.close()
            try await errand("destruction", "start", "--yes").expect(0)
            await second.close()
            #expect(try await rowsLeft() == [])
        }
    }
}
