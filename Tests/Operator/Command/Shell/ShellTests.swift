import Foundation
import ErrandTestServices
import Testing

extension CommandLine {
    @Suite("Completions and manual") struct ShellTests {
        /// What bash offers for the last of the words.
        private static func offered(_ words: String...) async throws -> Set<String> {
            let script = """
                PATH="$(dirname "$1"):$PATH"; source <("$1" completion bash); shift
                COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _errand
                printf '%s\\n' "${COMPREPLY[@]}"
                """
            let binary = URL(filePath: Program.errand).path
            let program = try start(
                [], through: ["/usr/bin/env", "bash", "-c", script, "bash", binary] + words)
            let run = try await finish(program)
            run.expect(0)
            #expect(run.errors == "")
            return Set(run.output.split(separator: "\n").map(String.init))
        }

        @Test(arguments: ["bash", "zsh", "fish"])
        func `the shell finds no fault with its script`(shell: String) async throws {
            let script = try await errand("completion", shell)
            script.expect(0)
            let words = ["/usr/bin/env", shell, "-n"]
            let look = try start([], through: ["/bin/sh", "-c", "command -v \(shell)"])
            try #require(try await look.end(within: .seconds(20)) == .exited(0), "not installed")
            let file = FileManager.default.temporaryDirectory
                .appending(path: "completion-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: file) }
            try script.output.write(to: file, atomically: true, encoding: .utf8)
            let check = try await finish(try start([], through: words + [file.path]))
            check.expect(0)
            #expect(check.errors == "")
        }

        @Test func `bash completes nouns, verbs, options and choices`() async throws {
            #expect(try await Self.offered("errand", "q") == ["queue"])
            #expect(try await Self.offered("errand", "queue", "pa") == ["pause"])
            #expect(try await Self.offered("errand", "-o", "json", "queue", "pa") == ["pause"])
            #expect(
                try await Self.offered("errand", "queue", "pause", "--re")
                    == ["--reason", "--redis-url", "--read-only"])
            #expect(try await Self.offered("errand", "queue", "ls", "--wa") == ["--watch"])
            #expect(try await Self.offered("errand", "queue", "pause", "--wa") == [])
            #expect(
                try await Self.offered("errand", "job", "ls", "--output", "")
                    == ["table", "wide", "json", "csv", "name"])
            // bash takes --output=j apart.
            #expect(
                try await Self.offered("errand", "job", "ls", "--output", "=", "j") == ["json"])
            #expect(try await Self.offered("errand", "completion", "") == ["bash", "zsh", "fish"])
            #expect(try await Self.offered("errand", "migrate", "") == ["status"])
            #expect(
                try await Self.offered("errand", "schedule", "add", "--overlap", "c") == ["cancel"])
        }

        @Test
        func `bash completes the names of queues and schedules, and is silent without servers`()
            async throws
        {
            try await made("enqueue", "demo.noop", "--queue", "mail")
            try await made("schedule", "add", "shop.day", "@daily", "--kind", "demo.noop")
            #expect(try await Self.offered("errand", "queue", "show", "m") == ["mail"])
            #expect(try await Self.offered("errand", "job", "ls", "--queue", "m") == ["mail"])
            #expect(try await Self.offered("errand", "schedule", "show", "") == ["shop.day"])
        }

        @Test func `the manual has pages without faults, and each example is one`() async throws {
            let folder = FileManager.default.temporaryDirectory
                .appending(path: "manual-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }
            // It writes nothing when a command has no example, or one that is no call of it.
            let run = try await errand("manual", folder.path, "-o", "name")
            run.expect(0)
            let names = run.lines.filter { !$0.isEmpty }.map { String($0) }
            #expect(names.first == folder.path + "/errand.1")
            #expect(names.contains(folder.path + "/errand-queue.1"))
            let page = try String(contentsOfFile: folder.path + "/errand-queue.1", encoding: .utf8)
            for part in [
                ".SH \"NAME\"\nerrand\\-queue \\- ", ".SH \"SYNOPSIS\"", "errand queue pause",
                ".SH \"EXIT STATUS\"", ".SH \"EXAMPLES\"", "\\-\\-for TIME",
            ] {
                #expect(page.contains(part), "\(part)")
            }
            let main = try String(contentsOfFile: folder.path + "/errand.1", encoding: .utf8)
            for variable in [
                "DATABASE_URL", "ERRAND_MODULES", "ERRAND_DEMO_EXIT", "ERRAND_KEYS_FILE",
                "ERRAND_NOTICES", "ERRAND_PAYOUTS_FILE", "ERRAND_SMTP_URL_FILE",
            ] {
                #expect(main.contains(variable), "\(variable)")
            }
            let look = try start([], through: ["/bin/sh", "-c", "command -v groff"])
            try #require(try await look.end(within: .seconds(20)) == .exited(0), "not installed")
            let check = try await finish(
                try start(
                    [], through: ["/usr/bin/env", "groff", "-man", "-Tutf8", "-ww", "-z"] + names))
            check.expect(0)
            #expect(check.errors == "")
        }

        @Test func `a manual cannot be written where a file stands`() async throws {
            try await errand("manual", "/dev/null/x").expect(
                1, "cannot create the folder /dev/null/x")
            try await errand("manual").expect(2, "needs FOLDER")
            try await errand("completion", "tcsh").expect(2, "expected bash, zsh or fish")
        }
    }
}
