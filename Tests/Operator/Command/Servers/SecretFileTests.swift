import Foundation
import ErrandTestServices
import Testing

extension CommandLine {
    @Suite("Secrets as files") struct SecretFileTests {
        private func file(_ text: String) throws -> String {
            let path = FileManager.default.temporaryDirectory
                .appending(path: "errand-secret-\(UUID().uuidString.prefix(8))").path
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            try setMode(0o600, of: path)
            return path
        }

        private func setMode(_ mode: Int, of path: String) throws {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        }

        @Test(arguments: ["DATABASE_URL_FILE", "REDIS_URL_FILE", "ERRAND_SMTP_URL_FILE"])
        func `a file that all users may read or write is refused`(name: String) async throws {
            let path = try file("smtp://user:sekret@mail.example.com:587?starttls=required\n")
            let url = String(name.dropLast("_FILE".count))
            for mode in [0o644, 0o604, 0o602, 0o666] {
                try setMode(mode, of: path)
                let run = try await errand(
                    "work", "--drain", environment: [url: "", name: path])
                run.expect(
                    2, "\(name): \(path) is accessible to all users of this machine",
                    "chmod o= \(path)")
                #expect(!run.errors.contains("sekret"))
            }
            // A group may read it, as with the key file.
            try setMode(0o640, of: path)
            let run = try await errand("work", "--drain", environment: [url: "", name: path])
            #expect(!run.errors.contains("accessible to all"))
        }

        @Test func `a file's line stands for the variable`() async throws {
            let database = try file("\n  \(try TestDatabase.here().url)  \r\n")
            let redis = try file(try TestDatabase.environment("REDIS_URL") + "\n")
            let files = [
                "DATABASE_URL": "", "DATABASE_URL_FILE": database, "REDIS_URL": "",
                "REDIS_URL_FILE": redis,
            ]
            try await errand("enqueue", "demo.noop", environment: files).expect(0)
            try await errand("work", "--drain", environment: files).expect(0)
            #expect(
                try await number(
                    "SELECT count(*) FROM errand.finished_jobs WHERE kind = 'demo.noop'")
                    == 1)
        }

        @Test func `an option wins, and its file is not even read`() async throws {
            let url = try TestDatabase.here().url
            try await errand(
                "queue", "ls", "--database-url", url,
                environment: ["DATABASE_URL": "", "DATABASE_URL_FILE": "/nonexistent"]
            ).expect(0)
        }

        @Test func `what is wrong with a file is named, and what it holds is not`() async throws {
            let secret = "postgresql://errand:sekret@127.0.0.1:1/errand"
            let cases = [
                ("/nonexistent/url", "DATABASE_URL_FILE: cannot read /nonexistent/url: No such"),
                (try file(" \n\n"), "is empty"),
                (try file("\(secret)\n\(secret)\n"), "has 2 lines"),
                (secret, "DATABASE_URL_FILE: expected the path of a file, not its content"),
                (FileManager.default.temporaryDirectory.path, "is not a text file"),
            ]
            for (path, words) in cases {
                let run = try await errand(
                    "queue", "ls",
                    environment: ["DATABASE_URL": "", "DATABASE_URL_FILE": path])
                run.expect(2, words)
                #expect(!run.errors.contains("sekret"))
            }
            let both = try await errand(
                "queue", "ls",
                environment: ["DATABASE_URL": secret, "DATABASE_URL_FILE": try file(secret)])
            both.expect(2, "DATABASE_URL and DATABASE_URL_FILE are both set", "unset one of them")
            let redis = try await errand(
                "redis", "check",
                environment: ["REDIS_URL": "", "REDIS_URL_FILE": "/nonexistent/redis"])
            redis.expect(2, "REDIS_URL_FILE: cannot read")
        }

        @Test func `the mail server's URL comes from a file, and the doctor hides its password`()
            async throws
        {
            let path = try file("smtp://user:sekret@mail.example.com:587?starttls=required\n")
            let mail = ["ERRAND_SMTP_URL_FILE": path, "ERRAND_MAIL_FROM": "shop@example.com"]
            let run = try await errand("doctor", environment: mail)
            #expect(run.output.contains("mail.example.com:587"))
            #expect(!run.output.contains("sekret") && !run.errors.contains("sekret"))
            let both = try await errand(
                "work", "--drain",
                environment: mail.merging(["ERRAND_SMTP_URL": "smtp://a.example.com"]) { $1 })
            both.expect(2, "ERRAND_SMTP_URL and ERRAND_SMTP_URL_FILE are both set")
        }

        @Test func `a database that is down shows no password of the file`() async throws {
            let path = try file("postgresql://errand:sekret@127.0.0.1:1/errand")
            let environment = ["DATABASE_URL": "", "DATABASE_URL_FILE": path]
            for words in [
                ["doctor"], ["status"], ["queue", "ls"], ["doctor", "--output", "json"],
            ] {
                let run = try await errand(words, environment: environment)
                #expect(run.code != 0)
                #expect(!run.output.contains("sekret") && !run.errors.contains("sekret"))
            }
        }
    }
}
