import ErrandTestServices
import Testing

extension JobCommands {
    @Suite("errand kind") struct KindTests {
        private func work() async throws {
            try await made("enqueue", "demo.noop", "--count", "7")
            try await made("enqueue", "demo.fail", #"{"times": 9}"#, "--max-attempts", "1")
            try await made("work", "--drain")
            try await made("enqueue", "demo.sleep", #"{"ms": 1}"#, "--count", "3")
        }

        @Test func `kind ls has numbers of each kind`() async throws {
            try await work()
            let run = try await errand("kind", "ls", "-ojson")
            run.expect(0)
            let kinds = Dictionary(
                try run.records.map { ($0["kind"].text ?? "", $0) }, uniquingKeysWith: { $1 })
            let noop = try #require(kinds["demo.noop"])
            #expect(noop["completed"] == 7 && noop["failed"] == 0 && noop["failure_rate"] == 0)
            #expect(noop["declared"] == true && noop["version"] == 1 && noop["queue"] == "default")
            for name in ["p50_wait", "p95_wait", "p99_wait", "p50_run", "p95_run", "p99_run"] {
                #expect(noop[name].number ?? -1 > 0, "\(name)")
            }
            #expect(kinds["demo.fail"]?["failed"] == 1 && kinds["demo.fail"]?["dead"] == 1)
            #expect(kinds["demo.fail"]?["failure_rate"] == 1)
            #expect(kinds["demo.sleep"]?["waiting"] == 3 && kinds["demo.sleep"]?["workers"] == 0)
            #expect(kinds["demo.exit"]?["p95_run"] == .null)
            let table = try await errand("kind", "ls")
            #expect(table.lines[0].hasPrefix("KIND "))
            #expect(table.output.contains("demo.noop"))
        }

        @Test func `--since looks as far back as it says`() async throws {
            try await work()
            try await change(
                "UPDATE errand.activity SET minute = minute - interval '3 hours'")
            #expect(try await made("kind", "show", "demo.noop")["completed"] == 0)
            #expect(try await made("kind", "show", "demo.noop", "--since", "4h")["completed"] == 7)
            for length in ["25h", "1s", "soon"] {
                try await errand("kind", "ls", "--since", length).expect(2, "--since")
            }
        }

        @Test func `kind show has its errors and schedules`() async throws {
            try await work()
            try await made(
                "schedule", "add", "nightly", "0 4 * * *", "--kind", "demo.fail")
            let kind = try await made("kind", "show", "demo.fail")
            #expect(kind["errors"].elements.count == 1)
            #expect(kind["errors"].elements[0]["count"] == 1)
            let pattern = kind["errors"].elements[0]["pattern"].text
            #expect(pattern?.contains("failed on purpose") == true)
            #expect(kind["schedules"].elements.map { $0["schedule"] } == ["nightly"])
            let card = try await errand("kind", "show", "demo.fail")
            card.expect(0, "errand dead ls --fingerprint")
            #expect(card.output.contains("failed on purpose"))
        }

        @Test func `a kind that nobody declared is there while it waits`() async throws {
            try await change(
                "INSERT INTO errand.jobs (queue, kind) VALUES ('default', 'stray.kind')")
            let kind = try await made("kind", "show", "stray.kind")
            #expect(kind["declared"] == false && kind["waiting"] == 1 && kind["workers"] == 0)
        }

        @Test func `a kind that is not there`() async throws {
            // Declares what this program knows.
            try await errand("migrate").expect(0)
            try await errand("kind", "show", "demo.nop")
                .expect(3, "there is no kind demo.nop", "did you mean demo.noop?")
            let json = try await errand("kind", "show", "xyz", "-ojson")
            json.expect(3)
            #expect(try json.failure["code"] == "not_found")
            try await errand("kind", "show").expect(2, "needs KIND", "usage: errand kind show")
        }

        @Test func `many waiting are estimated, unless exactly counted`() async throws {
            try await change(
                """
                INSERT INTO errand.jobs (queue, kind)
                SELECT 'default', 'demo.noop' FROM generate_series(1, 30000)
                """)
            let kind = try await made("kind", "show", "demo.noop")
            #expect(kind["estimated"] == true)
            let guess = kind["waiting"].number ?? 0
            #expect(guess > 15_000 && guess < 60_000)
            let exact = try await made("kind", "show", "demo.noop", "--exact")
            #expect(exact["estimated"] == false && exact["waiting"] == 30_000)
        }
    }
}
