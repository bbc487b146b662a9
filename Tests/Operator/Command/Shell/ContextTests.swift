import Foundation
import ErrandTestServices
import Testing

extension CommandLine {
    @Suite("Contexts") struct ContextTests {
        /// A folder of settings with one contexts.json in it.
        private struct Settings {
            let folder: URL
            let file: URL

            init(_ text: String, mode: Int = 0o600) throws {
                folder = FileManager.default.temporaryDirectory
                    .appending(path: "errand-settings-\(UUID().uuidString)")
                let inner = folder.appending(path: "errand")
                try FileManager.default.createDirectory(
                    at: inner, withIntermediateDirectories: true)
                file = inner.appending(path: "contexts.json")
                try text.write(to: file, atomically: true, encoding: .utf8)
                try FileManager.default.setAttributes(
                    [.posixPermissions: mode], ofItemAtPath: file.path)
            }

            func remove() { try? FileManager.default.removeItem(at: folder) }

            var environment: [String: String] { ["XDG_CONFIG_HOME": folder.path] }
            func with(_ more: [String: String]) -> [String: String] {
                environment.merging(more) { $1 }
            }
        }

        private static let nowhere = "postgresql://127.0.0.1:1/none"

        private static func settings(production: Bool = true) throws -> Settings {
            let url = try TestDatabase.here().url
            return try Settings(
                """
                {
                  "contexts": {
                    "here": {"database_url": "\(url)", "operator": "night"},
                    "prod": {"database_url": "\(url)", "production": \(production)},
                    "closed": {"database_url": "\(url)", "read_only": true},
                    "secret": {
                      "database_url": "postgresql://u:geheim@127.0.0.1:1/x",
                      "redis_url": "redis://:geheim@127.0.0.1:1"
                    }
                  }
                }
                """)
        }

        @Test func `a context names the servers, and wins when an option names it`() async throws {
            let settings = try Self.settings()
            defer { settings.remove() }
            let environment = settings.with(["DATABASE_URL": Self.nowhere])
            try await errand("queue", "ls", "--context", "here", environment: environment).expect(0)
            try await errand("--context=here", "queue", "ls", environment: environment).expect(0)
            // The environment wins over a context that the environment names.
            let named = settings.with(["DATABASE_URL": Self.nowhere, "ERRAND_CONTEXT": "here"])
            try await errand("queue", "ls", environment: named).expect(6)
            let alone = settings.with(["DATABASE_URL": "", "ERRAND_CONTEXT": "here"])
            try await errand("queue", "ls", environment: alone).expect(0)
            try await errand(
                "queue", "ls", "--context", "here", "--database-url", Self.nowhere,
                environment: environment
            ).expect(6)
        }

        /// The changes in the record, without those by which a test makes its jobs.
        private static func changes() async throws -> Int {
            try await number("SELECT count(*) FROM errand.audit WHERE action <> 'enqueue'")
        }

        @Test func `the operator of a context stands in the record`() async throws {
            let settings = try Self.settings()
            defer { settings.remove() }
            let environment = settings.with(["ERRAND_OPERATOR": ""])
            try await made("enqueue", "demo.noop")
            try await errand(
                "queue", "pause", "default", "--context", "here", environment: environment
            ).expect(0)
            let audit = try await errand("audit", "ls", "--action", "queue", "-ojson")
            #expect(try audit.record["operator"] == "night")
        }

        @Test func `a wrong context is named with the others`() async throws {
            let settings = try Self.settings()
            defer { settings.remove() }
            try await errand(
                "queue", "ls", "--context", "hre", environment: settings.environment
            ).expect(2, "there is no context 'hre'", "did you mean 'here'?", "prod, closed, secret")
            try await errand("queue", "ls", "--context", "x").expect(2, "there is no context 'x'")
            try await errand(
                "context", "show", "hre", environment: settings.environment
            ).expect(3, "did you mean 'here'?")
            try await errand("context", "show", environment: settings.environment).expect(
                3, "no context is in use")
        }

        @Test func `ls and show never print passwords`() async throws {
            let settings = try Self.settings()
            defer { settings.remove() }
            for form in ["table", "wide", "json", "csv"] {
                for arguments in [["context", "ls"], ["context", "show", "secret"]] {
                    let run = try await errand(
                        arguments + ["-o", form], environment: settings.environment)
                    run.expect(0)
                    #expect(!(run.output + run.errors).contains("geheim"))
                    if form == "json" { #expect(run.output.contains("u:***@127.0.0.1")) }
                }
            }
            let names = try await errand(
                "context", "ls", "-oname", environment: settings.environment)
            #expect(names.output == "here\nprod\nclosed\nsecret\n")
            try await errand("context", "ls").expect(0, "no contexts", "contexts.json")
        }

        @Test func `use writes the current context and nothing else`() async throws {
            let settings = try Self.settings()
            defer { settings.remove() }
            let before = try String(contentsOf: settings.file, encoding: .utf8)
            func current(_ name: String) -> String { "{\n  \"current\": \"\(name)\"," }
            try await errand("context", "use", "here", environment: settings.environment).expect(0)
            var after = try String(contentsOf: settings.file, encoding: .utf8)
            #expect(after == current("here") + before.dropFirst())
            try await errand("context", "use", "prod", environment: settings.environment).expect(0)
            after = try String(contentsOf: settings.file, encoding: .utf8)
            #expect(after == current("prod") + before.dropFirst())
            let mode = try FileManager.default.attributesOfItem(atPath: settings.file.path)
            #expect(mode[.posixPermissions] as? Int == 0o600)
            let inUse = settings.with(["DATABASE_URL": ""])
            try await errand("queue", "ls", environment: inUse).expect(0)
            let shown = try await errand("context", "show", "-ojson", environment: inUse)
            #expect(try shown.record["name"] == "prod")
            #expect(try shown.record["current"] == true)
            try await errand("context", "use", "hre", environment: inUse).expect(3)
        }

        @Test func `a change says when the environment wins over the context`() async throws {
            let settings = try Self.settings()
            defer { settings.remove() }
            try await made("enqueue", "demo.noop")
            let url = try TestDatabase.here().url + "&application_name=elsewhere"
            let environment = settings.with(["ERRAND_CONTEXT": "here", "DATABASE_URL": url])
            let pause = ["queue", "pause", "default"]
            let run = try await errand(pause, environment: environment)
            run.expect(0, "DATABASE_URL (", "in the environment overrides the context here")
            #expect(run.errors.split(separator: "\n").count == 1)
            let shown = try await errand("context", "show", "-ojson", environment: environment)
            #expect(try shown.record["database_from"] == "environment")
            #expect(try shown.record["database_in_use"].text == url)
            #expect(try shown.record["database_url"].text != url)
            for silent in [
                pause + ["-q"], ["queue", "ls"], pause + ["--context", "here"],
                pause + ["--database-url", url],
            ] {
                let run = try await errand(silent, environment: environment)
                run.expect(0)
                #expect(run.errors == "", "\(silent)")
            }
            let own = try await errand(
                "context", "show", "--context", "secret", "-ojson", environment: environment)
            #expect(try own.record["database_from"] == "context")
            try await errand("context", "use", "prod", environment: environment)
                .expect(0, "in the environment overrides it, unless '--context prod'")
        }

        @Test func `production refuses off a terminal, unless told yes`() async throws {
            let settings = try Self.settings()
            defer { settings.remove() }
            let environment = settings.environment
            try await made("enqueue", "demo.noop")
            let pause = ["queue", "pause", "default", "--context", "prod"]
            try await errand(pause, environment: environment).expect(
                5, "'queue pause' makes changes in prod (", "/errand",
                "), a production context",
                "--yes")
            #expect(try await Self.changes() == 0)
            try await errand(pause + ["--yes"], environment: environment).expect(0)
            try await errand("queue", "ls", "--context", "prod", environment: environment).expect(0)
            try await errand(
                "dead", "redrive", "--all", "--dry-run", "--context", "prod",
                environment: environment
            ).expect(0)
            try await errand("work", "--drain", "--context", "prod", environment: environment)
                .expect(5, "a production context")
        }

        @Test func `production asks for its name on a terminal`() async throws {
            let settings = try Self.settings()
            defer { settings.remove() }
            let environment = settings.environment
            try await made("enqueue", "demo.noop")
            let wrong = try await onTerminal(
                "queue", "pause", "default", "--context", "prod",
                steps: [.wait("Type the context's name to continue: "), .send("yes\r")],
                environment: environment)
            #expect(wrong.code == 5)
            #expect(wrong.text.contains("not confirmed"))
            #expect(try await Self.changes() == 0)
            let right = try await onTerminal(
                "queue", "pause", "default", "--context", "prod",
                steps: [.wait("Type the context's name to continue: "), .send("prod\r")],
                environment: environment)
            #expect(right.code == 0)
            #expect(try await Self.changes() == 1)
        }

        @Test func `top asks for the name of a context in production, and keeps to read-only`()
            async throws
        {
            let settings = try Self.settings()
            defer { settings.remove() }
            try await made("enqueue", "demo.noop")
            _ = try await onFullScreen(
                80, 24, ["top", "--context", "prod"], environment: settings.environment,
                .wait("^> default"), .press("P\r"), .wait("pause queue default\\? type prod:"),
                .press("yes\r"), .wait("the text is not prod"), .press("P\rprod\r"),
                .wait("queue default is paused"), .press("q"), .end(nil))
            _ = try await onFullScreen(
                80, 24, ["top", "--context", "closed"], environment: settings.environment,
                .wait("^> default"), .press("Uy"), .wait("read-only mode"), .press("q"),
                .end(nil))
            #expect(try await Self.changes() == 1)
        }

        @Test func `a read-only context refuses changes`() async throws {
            let settings = try Self.settings()
            defer { settings.remove() }
            let environment = settings.environment
            try await errand(
                "queue", "pause", "x", "--context", "closed", "--yes", environment: environment
            ).expect(5, "read-only")
            try await errand("queue", "ls", "--context", "closed", environment: environment)
                .expect(0)
        }

        @Test func `what the file must not say is refused with its line`() async throws {
            let settings = try Settings("{\"contexts\": {\"a\": {\n\n\"produktion\": true}}}")
            defer { settings.remove() }
            try await errand("queue", "ls", environment: settings.environment).expect(
                2, "contexts.json:3: \"produktion\" is unknown",
                "did you mean \"production\"?")
            try await errand("queue", "ls", "--help", environment: settings.environment).expect(0)
        }

        @Test func `an old contexts.toml is refused until its settings are moved`() async throws {
            let settings = try Settings("{}")
            defer { settings.remove() }
            let old = settings.file.deletingLastPathComponent().appending(path: "contexts.toml")
            try FileManager.default.moveItem(at: settings.file, to: old)
            try await errand("queue", "ls", environment: settings.environment).expect(
                2, "\(old.path) is no longer supported", "contexts.json", "errand help context ls")
            let help = try await errand(
                "help", "context", "ls", environment: settings.environment)
            help.expect(0)
            #expect(help.output.contains(#"{"current": "staging", "contexts": "#))
            try "{}".write(to: settings.file, atomically: true, encoding: .utf8)
            try await errand("queue", "ls", environment: settings.environment).expect(0)
        }

        @Test func `a password that others can read is warned of`() async throws {
            let text = #"{"contexts":{"a":{"database_url":"postgresql://u:geheim@127.0.0.1/x"}}}"#
            let open = try Settings(text, mode: 0o644)
            defer { open.remove() }
            let run = try await errand("queue", "ls", environment: open.environment)
            run.expect(0, "warning:", "chmod 600")
            #expect(!run.errors.contains("geheim"))
            let closed = try Settings(text)
            defer { closed.remove() }
            #expect(try await errand("queue", "ls", environment: closed.environment).errors == "")
            let harmless = try Settings(
                "{\"contexts\": {\"a\": {\"operator\": \"x\"}}}", mode: 0o644)
            defer { harmless.remove() }
            #expect(try await errand("queue", "ls", environment: harmless.environment).errors == "")
        }
    }
}
