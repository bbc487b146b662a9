import Foundation
import ErrandTestServices
import Testing

extension CommandLine {
    /// The scripts in the shells themselves, with names that are no good to run.
    @Suite("Completions in their shells") struct CompletionTests {
        /// A folder with a program `errand` that prints names and notes how it was called.
        private struct Stage {
            let folder: URL

            init(names: [String]) throws {
                folder = FileManager.default.temporaryDirectory
                    .appending(path: "completion-\(UUID().uuidString)")
                try FileManager.default.createDirectory(
                    at: folder, withIntermediateDirectories: true)
                try write(
                    "errand",
                    """
                    #!/bin/sh
                    printf '%s\\n' "$@" > '\(folder.path)/call'
                    cat '\(folder.path)/names'

                    """)
                try FileManager.default.setAttributes(
                    [.posixPermissions: 0o700], ofItemAtPath: path("errand"))
                try write("names", names.joined(separator: "\n") + "\n")
            }

            func path(_ name: String) -> String { folder.appending(path: name).path }
            func write(_ name: String, _ text: String) throws {
                try text.write(toFile: path(name), atomically: true, encoding: .utf8)
            }
            func has(_ name: String) -> Bool { FileManager.default.fileExists(atPath: path(name)) }
            func remove() { try? FileManager.default.removeItem(at: folder) }

            /// How the script has called the program.
            var call: [String] {
                get throws {
                    try String(contentsOfFile: path("call"), encoding: .utf8)
                        .split(separator: "\n").map(String.init)
                }
            }

            /// What a shell offers for the last of the words; nil where there is no such shell.
            func offered(
                _ shell: String, _ words: [String], line: String? = nil
            ) async throws -> [String]? {
                let look = try start([], through: ["/bin/sh", "-c", "command -v \(shell)"])
                guard try await look.end(within: .seconds(20)) == .exited(0) else { return nil }
                try write("script", try await errand("completion", shell).output)
                let driver =
                    switch shell {
                    case "bash":
                        """
                        cd "$1"; PATH="$1:$PATH"; source "$1/script"; COMP_LINE="$2"; shift 2
                        COMP_POINT=${#COMP_LINE}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
                        _errand; printf '%s\\n' "${COMPREPLY[@]}"
                        """
                    case "zsh":
                        """
                        cd "$1"; PATH="$1:$PATH"; compdef() { }; compset() { }
                        compadd() { print -rl -- "${answers[@]}" }
                        source "$1/script"; shift 2; words=("$@"); CURRENT=$#; _errand
                        """
                    default:
                        """
                        cd $argv[1]; set -x PATH $argv[1] $PATH; source script
                        complete -C $argv[2]
                        """
                    }
                let words = ["errand"] + words
                let name = shell == "fish" ? [] : [shell]
                let program = try start(
                    [],
                    through: ["/usr/bin/env", shell, "-c", driver] + name
                        + [folder.path, line ?? words.joined(separator: " ")] + words)
                let run = try await finish(program)
                run.expect(0)
                #expect(run.errors == "", "\(shell)")
                return run.output.split(separator: "\n").map {
                    String($0.prefix { $0 != "\t" })
                }
            }
        }

        @Test(arguments: ["bash", "zsh", "fish"])
        func `names are data, whatever stands in them`(shell: String) async throws {
            let names = ["$(touch made)", "`touch made`", "two words", "it's", "mail"]
            let stage = try Stage(names: names)
            defer { stage.remove() }
            for words in [["queue", "show", ""], ["job", "ls", "--queue", ""]] {
                guard let offered = try await stage.offered(shell, words) else { return }
                #expect(offered.contains("mail"))
                #expect(!stage.has("made"), "\(shell) ran a name")
                // bash gets them as they are to be typed; the others quote by themselves.
                let whole =
                    shell == "bash"
                    ? [#"\$\(touch\ made\)"#, #"\`touch\ made\`"#, #"two\ words"#, #"it\'s"#]
                    : Array(names.dropLast())
                for name in whole { #expect(offered.contains(name), "\(shell): \(offered)") }
            }
            guard shell == "bash" else { return }
            #expect(
                try await stage.offered("bash", ["queue", "show", "two\\ w"]) == ["two\\ words"])
        }

        @Test(arguments: ["bash", "zsh", "fish"])
        func `names are asked of the servers that the line means`(shell: String) async throws {
            let stage = try Stage(names: ["mail"])
            defer { stage.remove() }
            let url = "postgresql://u@h/d?a=1"
            // bash takes the URL apart; what it was stands in the line.
            let offered = try await stage.offered(
                shell,
                ["--context", "night", "--database-url", "'\(url)'", "queue", "show", ""],
                line: "errand --context night --database-url '\(url)' queue show ")
            guard let offered else { return }
            #expect(offered == ["mail"])
            let call = try stage.call.joined(separator: " ")
            #expect(call.contains("--context night --database-url \(url)"))
            _ = try await stage.offered(shell, ["--redis-url=redis://r", "queue", "show", ""])
            #expect(try stage.call.joined(separator: " ").contains("redis://r"))
        }

        @Test func `bash keeps file names with spaces whole`() async throws {
            let stage = try Stage(names: [])
            defer { stage.remove() }
            try stage.write("my jobs.jsonl", "")
            #expect(
                try await stage.offered("bash", ["enqueue", "--bulk", "my"]) == ["my jobs.jsonl"])
        }
    }
}
