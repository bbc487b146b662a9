import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

extension CommandLine {
    /// Servers that are not there, or not as they should be: code 6 (or what fits better), the
    /// setting to look at, and no password.
    @Suite("Errors of the servers") struct ServerErrorTests {
        static let commands = [
            ["work", "--drain"], ["enqueue", "demo.noop"], ["enqueue", "--bulk", "/dev/null"],
            ["migrate"], ["migrate", "status"], ["job", "ls"], ["job", "show", "1"],
            ["job", "retry", "1"], ["job", "cancel", "1"], ["queue", "ls"],
            ["queue", "show", "default"], ["queue", "pause", "default"],
            ["queue", "resume", "default"], ["worker", "ls"], ["status"],
        ]

        @Test func `PostgreSQL cannot be reached`() async throws {
            for command in Self.commands {
                let environment = ["DATABASE_URL": "postgresql://errand:sekret@127.0.0.1:1/errand"]
                for format in ["table", "json"] {
                    let run = try await errand(
                        command + ["--output", format], environment: environment)
                    run.expect(
                        6, "PostgreSQL cannot be reached", "check --database-url (DATABASE_URL)")
                    #expect(run.output.isEmpty)
                    #expect(!run.errors.contains("sekret"))
                }
            }
        }

        @Test func `the database is not there`() async throws {
            for command in Self.commands {
                let url = try TestDatabase.url(of: "no_such_database")
                try await errand(command, environment: ["DATABASE_URL": url])
                    .expect(6, "no_such_database", "check --database-url")
            }
        }

        @Test func `a login has no connection left`() async throws {
            let login = try await TestDatabase.here().login(as: "errand_worker")
            try await change("ALTER ROLE \(login.name) CONNECTION LIMIT 0")
            let url = try TestDatabase.here().url.replacing("//errand@", with: "//\(login.name)@")
            for command in Self.commands where command.first != "migrate" {
                let run = try await errand(command, environment: ["DATABASE_URL": url])
                run.expect(
                    6, "PostgreSQL accepts no more connections", "CONNECTION LIMIT",
                    "a worker needs 1 connection", "'errand db status'")
                #expect(!run.errors.contains("--database-url"))
            }
        }

        @Test func `the database is empty`() async throws {
            for command in Self.commands where command.first != "migrate" {
                let url = try TestDatabase.url(of: "template1")
                try await errand(command, environment: ["DATABASE_URL": url])
                    .expect(
                        5, "schema", "run 'errand migrate' first")
            }
        }

        @Test func `no database is named`() async throws {
            for command in Self.commands {
                try await errand(command, environment: ["DATABASE_URL": ""])
                    .expect(
                        2, "the URL of PostgreSQL is missing",
                        "pass --database-url URL, or set DATABASE_URL")
            }
        }

        @Test func `the database's name is nonsense`() async throws {
            for url in ["http://h/db", "host=h nonsense=1"] {
                try await errand("status", "--database-url", url)
                    .expect(2, "errand: ", "check --database-url")
            }
            try await errand("status", "--database-url", "postgresql://h:port/db")
                .expect(6, "\"port\"", "check --database-url")
        }

        @Test func `the user or the password is wrong`() async throws {
            let url = try TestDatabase.here().url
            let nobody = url.replacingOccurrences(of: "errand@", with: "nobody_here@")
            try await errand("status", environment: ["DATABASE_URL": nobody])
                .expect(6, "nobody_here", "check --database-url")
            let port = try #require(url.firstMatch(of: /port=(\d+)/)?.1)
            let wrong = "postgresql://errand:sekret@127.0.0.1:\(port)/errand"
            let run = try await errand("status", environment: ["DATABASE_URL": wrong])
            run.expect(6, "password authentication failed", "check --database-url")
            #expect(!run.errors.contains("sekret"))
        }

        @Test func `a flag wins over the environment`() async throws {
            let url = try TestDatabase.here().url
            let environment = ["DATABASE_URL": "postgresql://127.0.0.1:1/errand"]
            try await errand("status", "--database-url", url, environment: environment).expect(0)
        }

        @Test func `a worker needs Redis at its start`() async throws {
            for url in ["redis://:sekret@127.0.0.1:1", "unix:///nowhere/redis.sock"] {
                let run = try await errand("work", environment: ["REDIS_URL": url])
                run.expect(6, "Redis is not available", "check --redis-url (REDIS_URL)")
                #expect(!run.errors.contains("sekret"))
            }
            let url = try TestDatabase.environment("REDIS_URL")
            let wrong = url.replacingOccurrences(of: "unix://", with: "unix://:sekret@")
            let refused = try await errand("work", environment: ["REDIS_URL": wrong])
            refused.expect(6, "refuses access", "check --redis-url")
            #expect(!refused.errors.contains("sekret"))
            #expect(try await number("SELECT count(*) FROM errand.workers") == 0)
        }

        @Test func `Redis is not named, or is nonsense`() async throws {
            for command in [["work"], ["enqueue", "demo.noop"]] {
                try await errand(command, environment: ["REDIS_URL": ""])
                    .expect(
                        2, "the URL of Redis is missing", "pass --redis-url URL, or set REDIS_URL")
                try await errand(command, environment: ["REDIS_URL": "localhost"])
                    .expect(2, "expected redis://host:6379/0 or unix:///path/to.sock")
            }
        }

        @Test func `a statement that waits too long ends with 8`() async throws {
            let other = try TestDatabase.here().session()
            try await other.script("BEGIN; LOCK TABLE errand.queues")
            let url = try TestDatabase.here().url + "&options=-c%20lock_timeout%3D200ms"
            try await errand("queue", "ls", "--database-url", url)
                .expect(8, "PostgreSQL timed out", "'errand doctor'")
            await other.close()
        }
    }
}
