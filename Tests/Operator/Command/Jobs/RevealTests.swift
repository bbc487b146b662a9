import Glibc
import ErrandPostgres
import ErrandTestServices
import Testing

extension JobCommands {
    @Suite("Sensitive arguments: redacted, and revealed") struct RevealTests {
        private static let address = "Kim@Example.com"

        /// A living and a dead job of a kind that calls the address sensitive.
        private func ground() async throws {
            try await change(
                """
                INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts,
                    sensitive)
                VALUES ('mail.send', 1, 'default', 2, 3, '{email}');
                INSERT INTO errand.jobs (kind, queue, args, tags, unique_key, errors)
                VALUES ('mail.send', 'default', '{"to": [{"email": "\(Self.address)"}], "n": 7}',
                    '{to-\(Self.address)}', 'k:\(Self.address)',
                    '[{"attempt": 1, "error": "no mailbox kim@example.com here"}]');
                """)
            try await bury(
                1, kind: "mail.send", args: #"{"email": "\#(Self.address)"}"#,
                error: "<\(Self.address)> \"quoted\" refused")
        }

        private static let looks = [
            ["job", "ls"], ["job", "show", "1"], ["job", "show", "2"], ["dead", "ls"],
            ["dead", "show", "2"], ["dead", "group"], ["dead", "export"], ["job", "why", "2"],
            ["job", "cancel", "--all", "--dry-run"], ["dead", "redrive", "--all", "--dry-run"],
        ]

        @Test func `no output shows what is sensitive`() async throws {
            try await ground()
            for words in Self.looks {
                for more in [[], ["-ojson"]] {
                    let run = try await errand(words + more)
                    run.expect(0)
                    let text = (run.output + run.errors).lowercased()
                    #expect(!text.contains("example.com"), "\(words)")
                    #expect(text.contains("[redacted]"), "\(words)")
                }
            }
            let job = try await made("job", "show", "1")
            #expect(job["args"]["to"].elements[0]["email"] == "[redacted]")
            #expect(job["args"]["n"] == 7)
            #expect(job["tags"] == ["to-[redacted]"])
            #expect(job["unique_key"] == "k:[redacted]")
            #expect(job["last_error"] == "no mailbox [redacted] here")
            #expect(job["errors"].elements[0]["error"] == "no mailbox [redacted] here")
            let found = try await made("dead", "ls", "--arg", "email=\(Self.address)")
            #expect(found["args"]["email"] == "[redacted]")
            #expect(found["last_error"] == "<[redacted]> \"quoted\" refused")
        }

        @Test func `--reveal shows it, and is recorded`() async throws {
            try await ground()
            for words in [
                ["job", "ls"], ["job", "show", "1"], ["dead", "ls"], ["dead", "show", "2"],
                ["dead", "group"], ["dead", "export"],
            ] {
                let run = try await errand(words + ["--reveal", "--reason", "ticket 8", "-ojson"])
                run.expect(0)
                #expect(run.output.lowercased().contains("kim@example.com"), "\(words)")
                let line = try await made("audit", "ls", "--limit", "1")
                #expect(line["action"].text == "\(words[0]) \(words[1]) --reveal")
                #expect(line["operator"] == "tester")
                #expect(line["reason"] == "ticket 8")
            }
            try await errand("job", "ls", "--reason", "x").expect(2, "--reason requires --reveal")
            try await errand(
                "dead", "ls", "--reveal", "--arg", "email=\(Self.address)"
            ).expect(0)
            let line = try await made("audit", "ls", "--limit", "1")
            #expect(line["change"]["arguments"].elements[0]["value"] == "[redacted]")
        }

        @Test func `what cannot be recorded is not shown`() async throws {
            try await ground()
            try await change("ALTER TABLE errand.audit ADD CHECK (action NOT LIKE '%reveal') ")
            for words in [["job", "ls"], ["job", "show", "1"], ["dead", "export"]] {
                let run = try await errand(words + ["--reveal"])
                #expect(run.code == 1)
                #expect(run.output.isEmpty, "\(words)")
            }
            let database = try TestDatabase.here().url
            let only = database + "&options=-c%20default_transaction_read_only%3Don"
            let run = try await errand("job", "show", "1", "--reveal", "--database-url", only)
            run.expect(5, "read-only")
            #expect(run.output.isEmpty)
        }

        @Test func `operations and the audit do not tell it either`() async throws {
            try await ground()
            let words = ["--arg", "email=\(Self.address)", "--state", "dead", "--yes", "-ojson"]
            let run = try await errand(["job", "retry"] + words)
            run.expect(0)
            #expect(try run.record["done"] == 1)
            let args = #"{"email": "new@example.com"}"#
            try await errand("job", "edit", "--kind", "mail.send", "--args", args, "--yes")
                .expect(0)
            try await errand("job", "edit", "1", "--args", args).expect(0)
            #expect(try await number("\(liveCount) WHERE args @> '\(args)'") == 2)
            for words in [
                ["op", "ls"], ["op", "show", "1"], ["op", "show", "2"], ["audit", "ls"],
            ] {
                let run = try await errand(words + ["-ojson"])
                run.expect(0)
                #expect(!run.output.contains("example.com"), "\(words)")
                #expect(run.output.contains("[redacted]"), "\(words)")
            }
        }

        @Test func `the kinds of this program declare what is sensitive`() async throws {
            try await errand("migrate").expect(0)
            try await made(
                "enqueue", "coupons.position",
                #"{"person_id": 4, "longitude": -73.56789, "latitude": 45.5017}"#)
            let job = try await made("job", "show", "1")
            #expect(job["args"]["latitude"] == "[redacted]")
            #expect(job["args"]["longitude"] == "[redacted]")
            #expect(job["args"]["person_id"] == 4)
            #expect(try await made("job", "ls", "--arg", "latitude=45.5017")["id"] == 1)
        }

        @Test func `the log of a worker has no arguments in it`() async throws {
            try await change(
                """
                INSERT INTO errand.jobs (kind, queue, args, max_attempts) VALUES
                    ('demo.sleep', 'default', '{"ms": "secret-value"}', 1),
                    ('demo.sleep', 'default', '{"ms": 1, "x": "secret-value"}', 1),
                    ('demo.fail', 'default', '{"times": 9, "x": "secret-value"}', 1)
                """)
            let run = try await errand("work", "--drain", environment: ["ERRAND_LOG": "debug"])
            run.expect(0)
            #expect(try await number(deadCount) == 2)
            #expect(!run.errors.contains("secret-value"))
        }
    }
}
