import ErrandTerminal
import Testing

@Suite("What is made from declarations") struct DeclarationTests {
    private static func flaws(_ examples: Command.Example...) -> [String] {
        let option = Option.integer("limit", default: 5, range: 1...10, help: "At most")
        let command = Command(
            "job", "ls", effect: .read, summary: "List", examples: examples, options: [option]
        ) { _ in .done }
        let other = Command(
            "job", "rm", effect: .write, summary: "Forget",
            examples: [.init("errand job rm", "")]
        ) { _ in .done }
        return Program(
            name: "errand", version: "1", summary: "", commands: [command, other]
        ).flaws
    }

    @Test func `examples must call their command as it is declared`() {
        #expect(Self.flaws() == ["'job ls' has no example"])
        #expect(Self.flaws(.init("errand job ls --limit 3", "")) == [])
        #expect(Self.flaws(.init("cat ids | errand job ls --limit '3' > file && x", "")) == [])
        #expect(
            Self.flaws(.init("errand job ls --limti 3", ""))
                == ["'errand job ls --limti 3': there is no option '--limti'"])
        #expect(Self.flaws(.init("errand job ls --limit 30", "")).count == 1)
        #expect(
            Self.flaws(.init("errand job rm", "")) == ["'errand job rm' calls 'job rm'"])
        #expect(Self.flaws(.init("ls job", "")) == ["'ls job' does not call errand"])
    }

    @Test func `manual pages have their sections, and nothing that roff would take for its own`() {
        var notes = ManualNotes()
        notes.environment = [("DATABASE_URL", "Where it is.")]
        notes.files = [("~/.config/errand", "Things.")]
        notes.exitCodes = [(.done, "Done.")]
        let pages = Manual(of: Sample.program, notes: notes).pages
        #expect(pages.map(\.file).prefix(3) == ["errand.1", "errand-job.1", "errand-enqueue.1"])
        let (main, job) = (pages[0].text, pages[1].text)
        for section in [
            "NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES",
        ] {
            #expect(main.contains("\n.SH \"\(section)\"\n"))
        }
        #expect(job.hasPrefix(".TH \"ERRAND\\-JOB\" \"1\""))
        #expect(job.contains(".B \\-n, \\-\\-limit N\n"))
        #expect(job.contains("errand job ls \\-\\-older 5m\n"))
    }

    @Test(arguments: Shell.allCases)
    func `each shell learns verbs, options and choices`(shell: Shell) {
        let script = Sample.program.completion(for: shell)
        for words in ["enqueue", "limit", "available running dead", "table wide json csv name"] {
            // bash and zsh get each as a word of its own.
            let quoted = words.split(separator: " ").map { "'\($0)'" }.joined(separator: " ")
            #expect(script.contains(words) || script.contains(quoted), "\(words)")
        }
    }

    @Test func `options that mean nothing to a command are not shown with it`() async throws {
        let looks = try await Printed("help job ls")
        #expect(looks.output.contains("--watch"))
        #expect(!looks.output.contains("--yes"))
        let changes = try await Printed("help job move")
        #expect(!changes.output.contains("--watch"))
        #expect(changes.output.contains("-y, --yes"))
    }

    @Test(
        "what changes something is refused read-only, whoever says so",
        arguments: [
            ("job move --to x 1 --yes --read-only", [:]),
            ("job move --to x 1 --yes", ["ERRAND_READ_ONLY": "1"]),
        ])
    func readOnly(line: String, environment: [String: String]) async throws {
        let printed = try await Printed(line, environment: environment)
        #expect(printed.exit == .refused)
        #expect(printed.output == "")
        #expect(printed.error.hasPrefix("errand: read-only mode: 'job move' makes changes"))
    }

    @Test func `only what looks can be watched`() async throws {
        for line in ["job move --to x 1 --watch 2", "--watch 2 enqueue mail"] {
            let printed = try await Printed(line)
            #expect(printed.exit == .usage)
            #expect(printed.error.contains("--watch repeats read-only commands"))
        }
        #expect(try await Printed("job ls --watch 0.1").exit == .usage)
    }

    @Test func `a long example is broken as a shell takes it`() async throws {
        let printed = try await Printed("help job show")
        let start = try #require(printed.output.firstRange(of: "Examples:\n"))
        #expect(
            printed.output[start.upperBound...]
                == """
                  # With all that there is
                  errand job show 5 --output json --database-url postgresql://app@db.example \\
                      --redis-url redis://cache.example:6379

                """)
    }
}
