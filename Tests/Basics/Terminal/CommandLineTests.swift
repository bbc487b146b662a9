import ErrandTerminal
import Testing

@Suite("Command lines") struct CommandLineTests {
    private static let defaults =
        #""grace":20.0,"wide":false,"depth":null,"quiet":false,"redis":"redis://here"}"#

    @Test(
        "an option may be written in any of the usual ways",
        arguments: [
            "job ls --limit 7", "job ls --limit=7", "job ls -n 7", "job ls -n7", "job ls -n=7",
            "--color never job ls --limit 7", "job --color=never ls --limit 7",
            "-o json job ls -n 7", "-ojson job ls -n 7", "job ls -n 7 --",
        ])
    func spellings(line: String) async throws {
        let printed = try await Printed(line)
        #expect(
            printed.output
                == #"{"limit":7,"queues":[],"state":null,"older":null,"# + Self.defaults + "\n")
        #expect(printed.error == "")
        #expect(printed.exit == .done)
    }

    @Test(
        "options become typed values",
        arguments: [
            ("--limit 1_000", #""limit":1000,"#),
            ("--queue a,b --queue c", #""queues":["a","b","c"],"#),
            ("--state dead", #""state":"dead","#),
            ("--older 1h30m", #""older":5400.0,"#),
            ("--older 250ms", #""older":0.25,"#),
            ("--grace=1d --grace", ""),
            ("--wide", #""wide":true,"#),
            ("-wq", #""wide":true,"depth":null,"quiet":true,"#),
            ("-wn5", #""limit":5,"#),
            ("--depth -3", #""depth":-3,"#),
            ("--redis-url r", #""redis":"r""#),
        ])
    func values(options: String, expected: String) async throws {
        let printed = try await Printed("job ls " + options)
        guard !expected.isEmpty else {
            #expect(printed.exit == .usage)
            return
        }
        #expect(printed.output.contains(expected), "\(printed.output)\(printed.error)")
    }

    @Test func `an option wins over its environment variable, which wins over the default`()
        async throws
    {
        let environment = ["ERRAND_LIMIT": "8", "ERRAND_WIDE": "1"]
        let fromEnvironment = try await Printed("job ls", environment: environment)
        #expect(fromEnvironment.output.hasPrefix(#"{"limit":8,"#))
        #expect(fromEnvironment.output.contains(#""wide":true"#))
        let fromOption = try await Printed("job ls --limit 9", environment: environment)
        #expect(fromOption.output.hasPrefix(#"{"limit":9,"#))
        let empty = try await Printed("job ls", environment: ["ERRAND_LIMIT": ""])
        #expect(empty.output.hasPrefix(#"{"limit":50,"#))
        let off = try await Printed("job ls", environment: ["ERRAND_WIDE": "0"])
        #expect(off.output.contains(#""wide":false"#))
    }

    @Test(
        "arguments stand anywhere among the options, and after two dashes may begin with one",
        arguments: [
            ("enqueue mail", "mail none"), ("enqueue mail {}", "mail {}"),
            ("enqueue -q mail {}", "mail {}"), ("enqueue mail -q {}", "mail {}"),
            ("enqueue -- mail --help", "mail --help"), ("enqueue mail -", "mail -"),
            ("enqueue mail -5", "mail -5"), ("enqueue migrate status", "migrate status"),
            ("job move --to x 1 2 3 -y", "moved 3 to x"),
            ("job move 1 --yes --to x", "moved 1 to x"),
        ])
    func arguments(line: String, expected: String) async throws {
        let printed = try await Printed(line)
        #expect(printed.output == expected + "\n", "\(printed.error)")
    }

    @Test func `the longest path of words is the command`() async throws {
        let short = try await Printed("migrate", environment: ["DATABASE_URL": "db"])
        #expect(short.output == "db\n")
        let long = try await Printed("migrate status")
        #expect(long.exit == .unreachable)
        #expect(long.error == "errand: no answer\n  start the server\n")
    }

    @Test func `an error of another module is put into words by the program`() async throws {
        let printed = try await Printed("broken")
        #expect(printed.exit == .notFound)
        #expect(printed.error == "errand: no such file\n")
    }

    @Test func `with JSON output an error is one JSON object on standard error`() async throws {
        let failed = try await Printed("migrate status --output json")
        #expect(
            failed.error
                == #"{"error":"no answer","code":"unreachable","exit":6,"hint":"start the server"}"#
                + "\n")
        #expect(failed.output == "")
        // The mistake stands before the option that asks for JSON.
        let misspelt = try await Printed("job ls --limt 3 -o json")
        #expect(misspelt.error.hasPrefix(#"{"error":"there is no option '--limt'","code":"usage""#))
    }

    @Test func `a control character in an error is shown, not sent to the terminal`() async throws {
        let printed = try await Printed(["job", "show", "\u{1B}[2J"])
        #expect(printed.error.hasPrefix("errand: ID '␛[2J': expected"))
    }
}
