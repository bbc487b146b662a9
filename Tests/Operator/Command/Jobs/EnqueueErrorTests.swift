import ErrandTestServices
import Testing

extension JobCommands {
    /// What a user mistypes: each is told what was expected, and nothing is enqueued.
    @Suite("errand enqueue: mistakes") struct EnqueueErrorTests {
        private func expect(_ arguments: [String], _ code: Int32, _ text: String) async throws {
            let run = try await errand(["enqueue"] + arguments)
            run.expect(code, text)
            #expect(run.errors.hasPrefix("errand: "))
            #expect(run.output.isEmpty)
            #expect(try await number("SELECT count(*) FROM errand.jobs") == 0)
        }

        @Test func `arguments that are no JSON object`() async throws {
            for (args, text) in [
                (#"{"ms": "#, "column 8: expected a value"), (#"{"ms": 1} x"#, "expected the end"),
                ("[1]", "column 1: expected an object"), ("17", "column 1: expected an object"),
                ("{'ms': 1}", "expected a name in quotation marks"), ("{ms: 1}", "quotation marks"),
                (#"{"ms": 01}"#, "column 9: expected a comma or }"), (#"{"ms" 1}"#, "a colon"),
                (#"{"a": "\u0000"}"#, "PostgreSQL cannot store it"), (#"{"a": NaN}"#, "a value"),
                (#"{"a": "\ud800"}"#, "the second half of a pair"),
                (#"{"a": tru}"#, "expected true"),
            ] {
                try await expect(["demo.sleep", args], 2, text)
                try await expect(["demo.sleep", args], 2, "for example '{\"ms\": 500}'")
            }
        }

        @Test func `arguments nested too deep`() async throws {
            let deep = "{\"a\":" + String(repeating: "[", count: 5_000)
            try await expect(["demo.noop", deep], 2, "fewer nested levels")
        }

        @Test func `times that are none`() async throws {
            for time in [
                "tomorrow", "2026-11-20", "2026-11-20T08:00:00", "2026-02-30T08:00:00Z",
                "2026-11-20T24:00:00Z", "1795161600", "infinity", "-infinity",
                "20260-01-01T00:00:00Z",
            ] {
                for option in ["--at", "--not-after"] {
                    try await expect(
                        ["demo.noop", "\(option)=\(time)"], 2,
                        "\(option) \(time): expected an RFC 3339 time such as 2026-11-20T08:00:00Z")
                }
            }
        }

        @Test func `lengths of time that are none`() async throws {
            for length in [
                "10", "-5s", "5 s", "5x", "s", "1.5h", "36501d", "99999999999999999999s",
            ] {
                for option in ["--in", "--timeout", "--retention"] {
                    try await expect(
                        ["demo.noop", "\(option)=\(length)"], 2, "expected a duration")
                }
                try await expect(
                    ["demo.noop", "--unique=k", "--unique-for=\(length)"], 2, "expected a duration")
            }
        }

        @Test func `options that do not fit`() async throws {
            for (arguments, text) in [
                (["demo.noop", "--count", "0"], "--count 0: expected a whole number from 1"),
                (["demo.noop", "--count", "many"], "--count many: expected a whole number"),
                (["demo.noop", "--priority", "urgent"], "expected critical, high, normal, low"),
                (["demo.noop", "--priority", "4"], "expected critical, high, normal, low"),
                (["demo.noop", "--max-attempts", "0"], "expected a whole number from 1 to 32767"),
                (
                    ["demo.noop", "--max-attempts", "32768"],
                    "expected a whole number from 1 to 32767"
                ),
                (["demo.noop", "--queue", "Two Words"], "expected up to 63 of a-z"),
                (["demo.noop", "--tag", ""], "--tag '': expected a non-empty text"),
                (["demo.noop", "--timeout", "0s"], "expected a duration from 1ms to 30d"),
                (
                    ["demo.noop", "--at", "2999-01-01T00:00:00Z", "--in", "1s"],
                    "--at or --in, not both"
                ),
                (
                    ["demo.noop", "--unique-for", "1h"],
                    "--unique-for and --replace require --unique"
                ),
                (["demo.noop", "--replace"], "--unique-for and --replace require --unique KEY"),
                (
                    ["demo.noop", "--unique", "k", "--count", "2"],
                    "--count cannot be combined with --unique"
                ),
                (["demo.noop", "--skip-bad"], "--skip-bad requires --bulk"),
                (["demo.noop", "{}", "{}"], "takes 2 arguments; unexpected '{}'"),
                (["demo.noop", "--quue", "mail"], "did you mean '--queue'?"),
                (["demo.noop", "--queue"], "--queue"),
                ([], "KIND is missing"),
            ] {
                try await expect(arguments, 2, text)
            }
        }

        @Test func `a file that cannot be read`() async throws {
            try await expect(
                ["demo.noop", "@/nowhere/args.json"], 3,
                "cannot read /nowhere/args.json: No such file or directory")
            try await expect(["demo.noop", "@/"], 1, "cannot read the input: Is a directory")
        }

        @Test func `as JSON an error is one object on standard error`() async throws {
            let run = try await errand("enqueue", "demo.nop", "--output", "json")
            run.expect(3)
            #expect(run.output.isEmpty)
            let failure = try run.failure
            #expect(failure["code"] == "not_found")
            #expect(failure["exit"] == 3)
            #expect(failure["error"] == "no program has declared the kind demo.nop")
            #expect(failure["hint"].text?.contains("did you mean demo.noop?") == true)
        }
    }
}
