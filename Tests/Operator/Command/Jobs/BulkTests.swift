import Foundation
import ErrandTestServices
import Testing

extension JobCommands {
    @Suite("errand enqueue --bulk") struct BulkTests {
        private func bulk(_ lines: [String], _ more: String...) async throws -> Run {
            try await errand(
                ["enqueue", "--bulk", "-", "-ojson"] + more,
                input: lines.map { $0 + "\n" }.joined())
        }

        private func jobCount() async throws -> Int {
            try await number("SELECT count(*) FROM errand.jobs")
        }

        @Test func `each line says all about its job`() async throws {
            let run = try await bulk([
                #"{"kind": "demo.noop"}"#,
                "",
                #"{"kind": "demo.sleep", "args": {"ms": 4}, "queue": "mail", "priority": "high", "#
                    + #""run_at": "2999-01-01T00:00:00Z", "not_after": "2999-01-02T00:00:00Z", "#
                    + #""max_attempts": 5, "args_version": 2, "tags": ["a", "b\u00e9"]}"# + "\r",
                #"  {"priority": 3, "run_at": null, "kind": "demo.fail", "args": {"times": 0}}"#,
            ])
            run.expect(0)
            #expect(try run.record == .object(["enqueued": 3, "bad_lines": 0]))
            let jobs = try await errand("job", "ls", "-ojson").records
            try #require(jobs.count == 3)
            let (plain, full, low) = (jobs[2], jobs[1], jobs[0])
            #expect(plain["args"] == .object([:]))
            #expect(plain["state"] == "available")
            #expect(plain["max_attempts"] == 20)
            #expect(full["queue"] == "mail")
            #expect(full["priority"] == 1)
            #expect(full["state"] == "scheduled")
            #expect(full["run_at"].text?.hasPrefix("2999-01-01T00:00:00") == true)
            #expect(full["not_after"].text?.hasPrefix("2999-01-02T00:00:00") == true)
            #expect(full["max_attempts"] == 5)
            #expect(full["args_version"] == 2)
            #expect(full["tags"] == ["a", "bé"])
            #expect(full["args"]["ms"] == 4)
            #expect(low["priority"] == 3)
            // The kind's own defaults.
            #expect(low["max_attempts"] == 5)
            try await errand("queue", "show", "mail").expect(0)
        }

        @Test func `with KIND each line is only the arguments`() async throws {
            let run = try await bulk(
                [#"{"ms": 1}"#, #"{"ms": 2}"#], "demo.sleep", "--queue", "mail", "--tag", "x",
                "--priority", "critical", "--max-attempts", "2", "--in", "1h",
                "--not-after", "2999-01-01T00:00:00Z")
            run.expect(0)
            let jobs = try await errand("job", "ls", "-ojson").records
            #expect(jobs.map { $0["args"]["ms"] } == [2, 1])
            for job in jobs {
                #expect(job["kind"] == "demo.sleep")
                #expect(job["queue"] == "mail")
                #expect(job["tags"] == ["x"])
                #expect(job["priority"] == 0)
                #expect(job["max_attempts"] == 2)
                #expect(job["state"] == "scheduled")
                #expect(job["not_after"] != nil)
            }
        }

        @Test func `a file of many lines is enqueued and worked off`() async throws {
            let file = FileManager.default.temporaryDirectory
                .appending(path: "errand-bulk-\(UUID().uuidString)")
            try Data(String(repeating: "{\"kind\": \"demo.noop\"}\n", count: 20_000).utf8)
                .write(to: file)
            defer { try? FileManager.default.removeItem(at: file) }
            let summary = try await made("enqueue", "--bulk", file.path)
            #expect(summary["enqueued"] == 20_000)
            #expect(try await made("work", "--drain")["completed"] == 20_000)
        }

        @Test func `nothing at all is no mistake`() async throws {
            for lines in [[], ["", "  "]] {
                let run = try await bulk(lines)
                run.expect(0)
                #expect(try run.record["enqueued"] == 0)
            }
        }

        @Test func `a bad line is named, and nothing is enqueued`() async throws {
            let run = try await bulk([#"{"kind": "demo.noop"}"#, "", "nonsense"])
            run.expect(
                1, "warning: line 3: column 1: expected an object", "1 bad lines",
                "nothing was enqueued", "--skip-bad")
            #expect(run.output.isEmpty)
            #expect(try await jobCount() == 0)
        }

        @Test func `each sort of bad line says what was expected`() async throws {
            for (line, text) in [
                ("{}", "\"kind\" is missing"),
                (#"{"kind": "demo.noop""#, "expected a comma or }"),
                (#"{"kind": "demo.nop"}"#, "no program has declared the kind \"demo.nop\""),
                (#"{"kind": 7}"#, "\"kind\": expected a text"),
                (#"{"kind": "demo.noop", "args": [1]}"#, "expected an object"),
                (#"{"kind": "demo.noop", "queue": "Two Words"}"#, "\"queue\": expected a-z"),
                (
                    #"{"kind": "demo.noop", "priority": "urgent"}"#,
                    "\"priority\": expected critical"
                ),
                (#"{"kind": "demo.noop", "priority": 4}"#, "\"priority\": expected critical"),
                (#"{"kind": "demo.noop", "run_at": "tomorrow"}"#, "\"run_at\": expected a time"),
                (#"{"kind": "demo.noop", "run_at": "infinity"}"#, "\"run_at\": expected a time"),
                (#"{"kind": "demo.noop", "run_at": 5}"#, "\"run_at\": expected a text"),
                (#"{"kind": "demo.noop", "not_after": "no"}"#, "\"not_after\": expected a time"),
                (#"{"kind": "demo.noop", "max_attempts": 0}"#, "from 1 to 32767"),
                (#"{"kind": "demo.noop", "max_attempts": 40000}"#, "from 1 to 32767"),
                (
                    #"{"kind": "demo.noop", "args_version": 1.5}"#,
                    "\"args_version\": expected a whole"
                ),
                (#"{"kind": "demo.noop", "tags": "a"}"#, "\"tags\": expected an array of texts"),
                (
                    #"{"kind": "demo.noop", "color": 1}"#,
                    "\"color\" is unknown: expected kind, args"
                ),
            ] {
                let run = try await bulk([line])
                run.expect(1, "line 1: ", text)
                #expect(try await jobCount() == 0)
            }
        }

        @Test func `--skip-bad enqueues the good lines`() async throws {
            let large = EnqueueTests.object(ofSize: 1_048_577)
            let run = try await bulk(
                [
                    #"{"kind": "demo.noop"}"#, "[]", #"{"kind": "demo.noop", "args": \#(large)}"#,
                    #"{"kind": "demo.noop"}"#, #"{"kind": "demo.noop", "args": {}"#,
                ], "--skip-bad")
            run.expect(7, "line 2: ", "line 3: the arguments of a demo.noop job take", "line 5: ")
            #expect(try run.record == .object(["enqueued": 2, "bad_lines": 3]))
            #expect(try await jobCount() == 2)
        }

        @Test func `only a hundred bad lines are printed`() async throws {
            let run = try await bulk(Array(repeating: "x", count: 150))
            run.expect(
                1, "line 100: ", "more bad lines are counted, but not shown", "150 bad lines")
            #expect(!run.errors.contains("line 101"))
        }

        @Test func `kinds that nobody has declared need a word`() async throws {
            try await bulk([#"{"kind": "new.kind"}"#], "--allow-unknown-kind").expect(0)
            try await bulk([#"{"kind": "New Kind"}"#], "--allow-unknown-kind")
                .expect(1, "line 1: \"kind\": expected a-z")
        }

        @Test func `a file that cannot be read`() async throws {
            try await errand("enqueue", "--bulk", "/nowhere/jobs")
                .expect(3, "cannot read /nowhere/jobs: No such file")
            try await errand("enqueue", "--bulk", "/").expect(1, "Is a directory")
        }

        @Test func `what does not go with --bulk is refused`() async throws {
            for more in [
                ["demo.noop", "{}"], ["--count", "2"], ["--unique", "k"], ["--timeout", "1s"],
                ["--retention", "1s"], ["demo.noop", "--replace"], ["--unique-for", "1s"],
            ] {
                try await errand(["enqueue", "--bulk", "-"] + more)
                    .expect(2, "cannot be combined with --bulk")
            }
        }

        @Test func `an option that lines would ignore is refused`() async throws {
            for more in [
                ["--queue", "mail"], ["--priority", "low"], ["--max-attempts", "2"],
                ["--in", "1s"],
                ["--at", "2999-01-01T00:00:00Z"], ["--not-after", "2999-01-01T00:00:00Z"],
                ["--tag", "a"],
            ] {
                try await errand(
                    ["enqueue", "--bulk", "-"] + more, input: #"{"kind": "demo.noop"}"#
                ).expect(2, "with --bulk, \(more[0]) requires KIND")
                #expect(try await jobCount() == 0)
            }
        }
    }
}
