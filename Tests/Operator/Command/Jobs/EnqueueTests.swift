import Foundation
import ErrandTestServices
import Testing

extension JobCommands {
    @Suite("errand enqueue") struct EnqueueTests {
        private static let mebibyte = 1_048_576

        /// An object of so many bytes.
        static func object(ofSize size: Int) -> String {
            "{\"a\":\"" + String(repeating: "x", count: size - 8) + "\"}"
        }

        @Test func `one job: its id can be pasted into the next command`() async throws {
            let enqueued = try await made("enqueue", "demo.noop")
            #expect(enqueued["kind"] == "demo.noop")
            #expect(enqueued["queue"] == "default")
            #expect(enqueued["result"] == "inserted")
            let job = try await made("job", "show", enqueued["id"].id)
            #expect(job["state"] == "available")
            #expect(job["args"] == .object([:]))
        }

        @Test func `the table form has a line for each field`() async throws {
            let run = try await errand("enqueue", "demo.sleep", #"{"ms": 1}"#)
            run.expect(0)
            for name in ["id", "kind", "queue", "result"] {
                #expect(run.lines.contains { $0.hasPrefix(name + " ") })
            }
            #expect(run.errors.isEmpty)
        }

        @Test func `--count enqueues so many of the same`() async throws {
            let summary = try await made("enqueue", "demo.noop", "--count", "2500")
            #expect(summary["enqueued"] == 2500)
            #expect(
                summary["last_id"].number
                    == Double(try await number("SELECT max(id) FROM errand.jobs")))
            #expect(try await number("SELECT count(*) FROM errand.jobs") == 2500)
        }

        @Test func `every option reaches the job`() async throws {
            let enqueued = try await made(
                "enqueue", "demo.sleep", #"{"ms": 7}"#, "--queue", "mail", "--priority", "high",
                "--max-attempts", "3", "--at", "2999-01-01T00:00:00.5Z",
                "--not-after", "2999-01-02T01:00:00+02:00", "--tag", "a", "--tag", "b,c",
                "--unique", "key", "--timeout", "5s", "--retention", "1h")
            let job = try await made("job", "show", enqueued["id"].id)
            #expect(job["queue"] == "mail")
            #expect(job["priority"] == 1)
            #expect(job["max_attempts"] == 3)
            #expect(job["state"] == "scheduled")
            #expect(job["run_at"].text?.hasPrefix("2999-01-01T00:00:00.5") == true)
            #expect(job["not_after"].text?.hasPrefix("2999-01-01T23:00:00") == true)
            #expect(job["tags"] == ["a", "b", "c"])
            #expect(job["unique_key"] == "key")
            #expect(job["args"]["ms"] == 7)
            let options = """
                SELECT count(*) FROM errand.jobs
                WHERE options = '{"timeout_ms": 5000, "retention_s": 3600,
                    "origin": {"operator": "tester"}}'
                """
            #expect(try await number(options) == 1)
            // A queue is known once something waits in it.
            try await errand("queue", "show", "mail").expect(0)
        }

        @Test(arguments: zip(["critical", "high", "normal", "low", "0", "3"], [0, 1, 2, 3, 0, 3]))
        func `priorities go by name and by number`(given: String, stored: Int) async throws {
            try await made("enqueue", "demo.noop", "--priority", given)
            #expect(try await number("SELECT priority::bigint FROM errand.jobs") == stored)
        }

        @Test func `--in counts from now, and a time in the past means now`() async throws {
            try await made("enqueue", "demo.noop", "--in", "2h30m")
            let away = """
                SELECT round(extract(epoch FROM run_at - created_at) / 1800)::bigint
                FROM errand.jobs
                """
            #expect(try await number(away) == 5)
            let past = try await made("enqueue", "demo.noop", "--at", "2001-01-01T00:00:00Z")
            let job = try await made("job", "show", past["id"].id)
            #expect(job["state"] == "available")
        }

        @Test func `a unique key lets one job wait`() async throws {
            let first = try await made("enqueue", "demo.sleep", #"{"ms": 1}"#, "--unique", "k")
            let second = try await errand(
                "enqueue", "demo.sleep", #"{"ms": 2}"#, "--unique", "k", "-ojson")
            second.expect(4, "holds the unique key", "--replace")
            #expect(try second.record["id"] == first["id"])
            #expect(try second.record["result"] == "skipped")
            let third = try await made(
                "enqueue", "demo.sleep", #"{"ms": 3}"#, "--unique", "k", "--replace")
            #expect(third["id"] == first["id"])
            #expect(third["result"] == "replaced")
            #expect(try await made("job", "show", first["id"].id)["args"]["ms"] == 3)
            // The key belongs to the kind.
            try await made("enqueue", "demo.noop", "--unique", "k")
        }

        @Test func `--unique-for holds the key after the job is done`() async throws {
            let options = ["enqueue", "demo.noop", "--unique", "k", "--unique-for", "1h", "-ojson"]
            try await errand(options).expect(0)
            #expect(try await made("work", "--drain")["completed"] == 1)
            try await errand(options).expect(4, "nothing was enqueued")
            // Without it the key is free again once the job has started.
            try await made("enqueue", "demo.noop", "--unique", "other")
            #expect(try await made("work", "--drain")["completed"] == 1)
            try await made("enqueue", "demo.noop", "--unique", "other")
        }

        @Test func `arguments come from standard input and from a file`() async throws {
            let piped = try await made("enqueue", "demo.sleep", "@-", input: "{\"ms\":\n 5}\n")
            #expect(try await made("job", "show", piped["id"].id)["args"]["ms"] == 5)
            let file = FileManager.default.temporaryDirectory
                .appending(path: "errand-args-\(UUID().uuidString)")
            try Data("{\"ms\": 6}\n".utf8).write(to: file)
            defer { try? FileManager.default.removeItem(at: file) }
            let read = try await made("enqueue", "demo.sleep", "@\(file.path)")
            #expect(try await made("job", "show", read["id"].id)["args"]["ms"] == 6)
        }

        @Test func `arguments of 1 MiB go, larger ones are refused`() async throws {
            let limit = Self.mebibyte
            for end in ["", "\n"] {
                try await made(
                    "enqueue", "demo.noop", "@-", input: Self.object(ofSize: limit) + end)
            }
            for size in [limit + 1, 2 * limit, 5 * limit] {
                try await errand("enqueue", "demo.noop", "@-", input: Self.object(ofSize: size))
                    .expect(5, "the limit is 1048576 (1 MiB)", "pass its id")
            }
            #expect(try await number("SELECT count(*) FROM errand.jobs") == 2)
        }

        @Test func `a kind that another program has declared brings its defaults`() async throws {
            try await change(
                """
                INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts)
                VALUES ('other.kind', 3, 'far', 0, 9)
                """)
            let enqueued = try await made("enqueue", "other.kind")
            #expect(enqueued["queue"] == "far")
            let job = try await made("job", "show", enqueued["id"].id)
            #expect(job["args_version"] == 3)
            #expect(job["priority"] == 0)
            #expect(job["max_attempts"] == 9)
        }

        @Test func `a kind that nobody has declared needs a word`() async throws {
            try await errand("enqueue", "demo.nop").expect(
                3, "no program has declared the kind demo.nop", "did you mean demo.noop?",
                "--allow-unknown-kind")
            try await made("enqueue", "new.kind", "--allow-unknown-kind")
            try await errand("enqueue", "New Kind", "--allow-unknown-kind")
                .expect(2, "expected up to 100 of a-z")
        }

        @Test func `without Redis a job is enqueued all the same`() async throws {
            let run = try await errand(
                "enqueue", "demo.noop", environment: ["REDIS_URL": "redis://127.0.0.1:1"])
            run.expect(0, "new jobs could not be staged at once")
            #expect(try await made("work", "--drain")["completed"] == 1)
        }
    }
}
