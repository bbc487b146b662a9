import Glibc
import ErrandPostgres
import ErrandTestServices
import Testing

extension CommandLine {
    /// For verbs that are tested elsewhere: those of table, JSON and bad input that are not.
    @Suite("Every verb in every form") struct VerbTests {
        @Test func `bad input is refused with what to do`() async throws {
            for (words, code, message) in [
                (["audit", "ls", "--limit", "0"], 2, "--limit 0"),
                (["audit", "ls", "--since", "soon"], 2, "--since"),
                (["context", "ls", "prod"], 2, "takes no argument"),
                (["op", "ls", "--limit", "x"], 2, "--limit x"),
                (["op", "ls", "7"], 2, "takes no argument"),
                (["job", "why", "99999"], 3, "there is no job 99999"),
                (["job", "why", "x"], 2, "ID 'x'"),
                (["top", "--interval", "x"], 2, "--interval x"),
                (["fields", "p95_wiat"], 3, "no record has a field 'p95_wiat'"),
            ] as [([String], Int32, String)] {
                let run = try await errand(words)
                run.expect(code)
                #expect(run.errors.contains(message) || code == 2, "\(words): \(run.errors)")
                #expect(run.output.isEmpty)
            }
            try await errand("fields", "p95_wiat").expect(3, "did you mean p95_wait?")
        }

        @Test func `tail, wait and purge have JSON`() async throws {
            let job = try await made("enqueue", "demo.noop")
            try await errand("work", "--drain").expect(0)
            let ended = try await made("job", "wait", job["id"].id)
            #expect(ended["id"] == job["id"] && ended["state"] == "completed")
            let tail = try start(["job", "tail", "-ojson"])
            // It begins with what ends after its start, which nobody else can see.
            try await eventually("the tail to tell of a job") {
                try await made("enqueue", "demo.noop")
                try await errand("work", "--drain").expect(0)
                return !tail.output.isEmpty
            }
            tail.signal(SIGINT)
            let seen = try await finish(tail, ["job", "tail", "-ojson"])
            #expect(try seen.records.first?["kind"] == "demo.noop")
            try await errand("enqueue", "demo.noop", "--count", "3").expect(0)
            let purged = try await made("queue", "purge", "default", "--exact", "--yes")
            #expect(purged["done"] == 3)
            #expect(try await number("SELECT count(*) FROM errand.jobs") == 0)
        }

        @Test func `limit and resign have forms for people`() async throws {
            let limited = try await errand("queue", "limit", "default", "--running", "4")
            limited.expect(0)
            #expect(limited.lines[0].hasPrefix("queue ") && limited.lines[0].contains("default"))
            #expect(limited.output.contains("limit running"))
            let worker = try start(["work"])
            try await eventually("the worker to lead") {
                try await made("leader", "show", "feeder")["state"] == "active"
            }
            let resigned = try await errand("leader", "resign", "feeder")
            resigned.expect(0)
            #expect(resigned.lines[0].hasPrefix("ROLE"))
            #expect(resigned.output.contains("active"))
            worker.signal(SIGTERM)
            try await finish(worker, ["work"]).expect(0)
        }

        @Test func `every name is explained once, and stays findable`() async throws {
            let run = try await errand("fields", "-ojson")
            run.expect(0)
            let names = try run.records.compactMap { $0["field"].text }
            #expect(names.count == Set(names).count && names.count > 150)
            #expect(try run.records.allSatisfy { $0["meaning"].text?.isEmpty == false })
            let one = try await errand("fields", "p95_wait")
            one.expect(0)
            #expect(one.lines[0].hasPrefix("FIELD") && one.output.contains("95th percentile"))
        }

        @Test func `a change by hand stands in the audit, whoever makes it`() async throws {
            try await errand("enqueue", "demo.noop", "--count", "2500", "--reason", "a test")
                .expect(0)
            let line = try #require(try await lines("enqueue").first)
            #expect(line["operator"] == "tester" && line["reason"] == "a test")
            #expect(line["subject"] == "demo.noop" && line["change"]["count"] == 2500)
            try await errand(
                "enqueue", "--bulk", "-", input: #"{"kind": "demo.noop"}"# + "\n"
            ).expect(0)
            #expect(try await lines("enqueue").first?["change"]["count"] == 1)
            try await errand("enqueue", "demo.noop", "--unique", "a").expect(0)
            let before = try await lines("enqueue").count
            try await errand("enqueue", "demo.noop", "--unique", "a").expect(4)
            #expect(try await lines("enqueue").count == before)
            try await errand("schedule", "tick", "--now", "2095-01-01T00:00:00Z").expect(0)
            #expect(
                try await lines("schedule tick").first?["change"]["now"]
                    == "2095-01-01T00:00:00Z")
            try await errand("schedule", "tick").expect(0)
            #expect(try await lines("schedule tick").count == 1)
        }

        private func lines(_ action: String) async throws -> [JSON] {
            let run = try await errand("audit", "ls", "--action", action, "-ojson")
            run.expect(0)
            return try run.records
        }
    }
}
