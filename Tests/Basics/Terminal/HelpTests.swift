import ErrandTerminal
import Testing

@Suite("Help") struct HelpTests {
    @Test func `the version stands on one line`() async throws {
        let printed = try await Printed("--version")
        #expect(printed.output == "errand 1.2.3\n")
        #expect(printed.exit == .done)
    }

    @Test(
        "the overview lists every noun with what it is about", arguments: ["--help", "help", "-h"])
    func overview(line: String) async throws {
        let lines = try await Printed(line).output.split(separator: "\n").map(String.init)
        #expect(lines.first == "errand: runs jobs")
        #expect(lines.contains("  job      Look at jobs and change them"))
        #expect(lines.contains("  enqueue  Add a job"))
        #expect(lines.contains("  migrate  Bring the schema up to date"))
        #expect(lines.count { $0.hasPrefix("  job ") } == 1)
    }

    @Test("a noun's help lists its verbs", arguments: ["job --help", "help job", "--help job"])
    func verbs(line: String) async throws {
        let printed = try await Printed(line)
        #expect(printed.output.contains("  job ls    List jobs, the next to run first\n"))
        #expect(printed.output.contains("  job move  Move jobs\n"))
        #expect(!printed.output.contains("enqueue"))
        #expect(printed.exit == .done)
    }

    @Test(
        "a command's help shows usage, discussion, options and examples",
        arguments: ["job ls --help", "help job ls", "job ls --limit x --help", "-h job ls"])
    func command(line: String) async throws {
        let printed = try await Printed(line)
        let parts = [
            "List jobs, the next to run first\n\nusage: errand job ls [options]\n\n",
            "Live jobs only.\n\nFinished jobs have states of their own.\n\n",
            "Options:\n",
            "  -n, --limit N     Show at most N jobs (default: 50; environment: ERRAND_LIMIT)\n",
            "      --queue NAME  Only these queues (repeatable)\n",
            "      --state available|running|dead\n                    Only this state\n",
            "      --grace TIME  Time to end (default: 20s)\n",
            "Options of every command:\n  -o, --output table|wide|json|csv|name",
            "Examples:\n  # What has waited for long\n  errand job ls --older 5m\n",
        ]
        var rest = Substring(printed.output)
        for part in parts {
            let found = try #require(rest.firstRange(of: part), "'\(part)' in \(rest)")
            rest = rest[found.upperBound...]
        }
        #expect(rest == "")
        #expect(printed.exit == .done)
    }

    @Test func `required options and arguments stand in the usage line`() async throws {
        let move = try await Printed("help job move")
        #expect(move.output.contains("usage: errand job move --to QUEUE [options] ID...\n"))
        #expect(move.output.contains("  ID...  The jobs\n"))
        #expect(move.output.contains("--to QUEUE  The new queue (required)\n"))
        let enqueue = try await Printed("help enqueue")
        #expect(enqueue.output.contains("usage: errand enqueue [options] KIND [ARGS]\n"))
    }

    @Test func `a command that has verbs names them`() async throws {
        let printed = try await Printed("migrate --help")
        #expect(printed.output.hasSuffix("See also:\n  errand migrate status  List migrations\n"))
    }

    @Test func `no line of help is wider than 80 columns off a terminal`() async throws {
        for line in ["--help", "help job", "help job ls", "help migrate"] {
            let widths = try await Printed(line).output.split(separator: "\n").map {
                DisplayWidth.of(String($0))
            }
            #expect(try #require(widths.max()) <= 80, "\(line)")
        }
    }

    @Test func `help about nothing known suggests what is`() async throws {
        let printed = try await Printed("help job shwo")
        #expect(printed.exit == .usage)
        #expect(printed.error.hasSuffix("did you mean 'errand job show'?\n"))
    }
}
