import ErrandTerminal
import Testing

@Suite("Usage errors") struct UsageErrorTests {
    private static let jobList = "usage: errand job ls [options]"
    private static let duration = "such as 250ms, 30s, 5m, 2h or 1d"

    static let wrong: [(line: String, message: String, hint: String?)] = [
        ("", "the command is missing", "'errand --help' lists the commands"),
        ("jbo ls", "there is no command 'jbo'", "did you mean 'errand job'?"),
        ("enqeue", "there is no command 'enqeue'", "did you mean 'errand enqueue'?"),
        ("hlep", "there is no command 'hlep'", "did you mean 'errand help'?"),
        ("xyzzy", "there is no command 'xyzzy'", "'errand --help' lists the commands"),
        ("job", "'job' needs a verb: ls, show, move", "'errand job --help' explains them"),
        ("job sl", "there is no command 'job sl'", "did you mean 'errand job ls'?"),
        ("job sho 5", "there is no command 'job sho'", "did you mean 'errand job show'?"),
        ("job paint", "there is no command 'job paint'", "'errand job --help' lists the commands"),
        (
            "migrate statsu", "there is no command 'migrate statsu'",
            "did you mean 'errand migrate status'?"
        ),
        ("job ls --limti 3", "there is no option '--limti'", "did you mean '--limit'?"),
        ("job ls --lim 3", "there is no option '--lim'", "did you mean '--limit'?"),
        (
            "job ls --colour red", "there is no option '--colour'", "did you mean '--color'?"
        ),
        (
            "job ls --frob", "there is no option '--frob'",
            "'errand job ls --help' lists the options"
        ),
        ("job ls -x", "there is no option '-x'", "'errand job ls --help' lists the options"),
        ("job ls -wx", "there is no option '-x'", "'errand job ls --help' lists the options"),
        (
            "--limit 3 job ls", "there is no option '--limit' before the command",
            "options of a command follow the command: 'errand COMMAND --limit …'"
        ),
        (
            "--outptu=json job ls", "there is no option '--outptu' before the command",
            "did you mean '--output'?"
        ),
        ("job ls --limit", "--limit needs a value: --limit N", nil),
        ("job ls -n", "--limit needs a value: --limit N", nil),
        (
            "job ls --queue --limit 3", "--queue needs a value, and '--limit' looks like an option",
            "if it is the value, write --queue=--limit"
        ),
        ("job ls --wide=yes", "--wide takes no value", nil),
        ("job ls --limit 3 -n 4", "--limit is given twice", nil),
        ("job ls --limit many", "--limit many: expected a whole number from 1 to 10000", jobList),
        ("job ls --limit=", "--limit '': expected a whole number from 1 to 10000", jobList),
        ("job ls --limit 0", "--limit 0: expected a whole number from 1 to 10000", jobList),
        ("job ls --limit 10001", "--limit 10001: expected a whole number from 1 to 10000", jobList),
        ("job ls --limit 1.5", "--limit 1.5: expected a whole number from 1 to 10000", jobList),
        ("job ls --limit _1", "--limit _1: expected a whole number from 1 to 10000", jobList),
        (
            "job ls --limit 99999999999999999999",
            "--limit 99999999999999999999: expected a whole number from 1 to 10000", jobList
        ),
        (
            "job ls --limit " + String(repeating: "9", count: 5_000),
            "--limit " + String(repeating: "9", count: 100)
                + "…: expected a whole number from 1 to 10000", jobList
        ),
        ("job ls --queue a,,b", "--queue '': expected a non-empty text", jobList),
        (
            "job ls --state ded", "--state ded: expected available, running or dead",
            "did you mean 'dead'?"
        ),
        ("job ls --older 30", "--older 30: expected a duration, \(duration)", jobList),
        ("job ls --older m", "--older m: expected a duration, \(duration)", jobList),
        ("job ls --older 5m3", "--older 5m3: expected a duration, \(duration)", jobList),
        ("job ls --older 5 m", "--older 5: expected a duration, \(duration)", jobList),
        (
            "job ls --grace 2h", "--grace 2h: expected a duration from 1s to 1h, \(duration)",
            jobList
        ),
        (
            "job ls --older 99999999999999999d",
            "--older 99999999999999999d: expected a duration, \(duration)", jobList
        ),
        ("job ls --color blue", "--color blue: expected auto, always or never", jobList),
        ("job ls 5", "'job ls' takes no argument; unexpected '5'", jobList),
        ("job show", "'job show' needs ID", "usage: errand job show [options] ID"),
        (
            "job show 1 2", "'job show' takes one argument; unexpected '2'",
            "usage: errand job show [options] ID"
        ),
        (
            "job show 0", "ID '0': expected a whole number of at least 1",
            "usage: errand job show [options] ID"
        ),
        (
            "enqueue a b c", "'enqueue' takes 2 arguments; unexpected 'c'",
            "usage: errand enqueue [options] KIND [ARGS]"
        ),
        (
            "job move 5", "--to QUEUE is required",
            "usage: errand job move --to QUEUE [options] ID..."
        ),
        (
            "job move --to x", "'job move' needs ID",
            "usage: errand job move --to QUEUE [options] ID..."
        ),
        (
            "migrate", "the URL of PostgreSQL is missing",
            "pass --database-url URL, or set DATABASE_URL"
        ),
    ]

    @Test("a wrong command line exits with 2 and says what was expected", arguments: wrong)
    func message(line: String, message: String, hint: String?) async throws {
        let printed = try await Printed(line)
        let hintLine = hint.map { "  \($0)\n" } ?? ""
        #expect(printed.error == "errand: \(message)\n\(hintLine)")
        #expect(printed.output == "")
        #expect(printed.exit == .usage)
    }

    @Test func `a wrong environment variable is named with its value`() async throws {
        let limit = try await Printed("job ls", environment: ["ERRAND_LIMIT": "many"])
        #expect(
            limit.error
                == "errand: ERRAND_LIMIT=many: expected a whole number from 1 to 10000\n"
                + "  usage: errand job ls [options]\n")
        #expect(limit.exit == .usage)
        let wide = try await Printed("job ls", environment: ["ERRAND_WIDE": "maybe"])
        #expect(wide.error.hasPrefix("errand: ERRAND_WIDE=maybe: expected 1, 0, true or false\n"))
    }
}

@Suite("Suggestions") struct SuggestionTests {
    @Test(
        "the distance counts insertions, deletions, replacements and swaps",
        arguments: [
            ("", "", 0), ("a", "", 1), ("", "abc", 3), ("ls", "sl", 1), ("show", "shwo", 1),
            ("limit", "limt", 1), ("queue", "qeueu", 2), ("kitten", "sitting", 3),
            ("ca", "abc", 3), ("pause", "resume", 4),
        ])
    func distance(first: String, second: String, expected: Int) {
        #expect(editDistance(first, second) == expected)
        #expect(editDistance(second, first) == expected)
    }

    @Test(
        "the nearest is suggested only when it is near",
        arguments: [
            ("retyr", "retry"), ("re", "retry"), ("canel", "cancel"), ("shw", "show"),
            ("x", nil), ("database", nil), ("lst", "ls"),
        ] as [(String, String?)])
    func suggestion(word: String, expected: String?) {
        #expect(nearest(to: word, among: ["ls", "show", "retry", "cancel"]) == expected)
    }
}
