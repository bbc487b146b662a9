import Glibc
import ErrandTestServices
import Testing

/// Dead letters as if they had died a minute ago: `count` of a kind, each with this error, in
/// which `#` is its number.
func bury(
    _ count: Int, kind: String = "demo.noop", args: String = "{}", error: String = "no #"
) async throws {
    try await change(
        """
        INSERT INTO errand.finished_jobs (id, created_at, run_at, finished_at, keep_until, outcome,
            priority, attempt, max_attempts, args_version, queue, kind, args, errors)
        SELECT nextval('errand.jobs_id_seq'), now() - interval '1 hour', now(),
            now() - interval '1 minute', 'infinity', 'dead', 2, 1, 1, 1, 'default', '\(kind)',
            '\(args)', jsonb_build_array(jsonb_build_object('attempt', 1, 'at', now(),
                'error', replace($e$\(error)$e$, '#', n::text)))
        FROM generate_series(1, \(count)) AS n
        """)
}

let deadCount = "SELECT count(*) FROM errand.dead_jobs"
let liveCount = "SELECT count(*) FROM errand.jobs"

extension JobCommands {
    @Suite("errand dead ls, show, group, export") struct DeadTests {
        @Test func `ls shows dead letters only, and takes the filters of jobs`() async throws {
            try await bury(3, args: #"{"n": 1}"#)
            try await bury(2, kind: "demo.sleep", error: "timeout after # s")
            try await made("enqueue", "demo.noop")
            func ls(_ filters: String...) async throws -> [JSON] {
                let run = try await errand(["dead", "ls", "-ojson"] + filters)
                run.expect(0)
                return try run.records
            }
            let all = try await ls()
            try #require(all.count == 5)
            #expect(all.allSatisfy { $0["state"] == "dead" })
            #expect(try await ls("--kind", "demo.sleep").count == 2)
            #expect(try await ls("--arg", "n=1", "--error", "no 2").count == 1)
            #expect(try await ls("--older", "10m").isEmpty)
            let fingerprint = try #require(all[0]["fingerprint"].text)
            #expect(try await ls("--fingerprint", fingerprint).count == 2)
            let table = try await errand("dead", "ls", "--limit", "2")
            table.expect(0, "more: errand dead ls --limit 2 --cursor \(all[1]["id"].id)")
            #expect(table.lines[0].contains("ERROR"))
            #expect(table.output.contains("timeout after 2 s"))
            try await errand("dead", "ls", "--kind", "x").expect(0, "no dead letters match")
            try await errand("dead", "ls", "--queue", "defalt").expect(3, "did you mean default?")
            try await errand("dead", "ls", "--state", "dead").expect(2, "--state")
        }

        @Test func `show tells of a dead letter, and of nothing else`() async throws {
            try await bury(1)
            let letter = try await made("dead", "ls")
            let shown = try await made("dead", "show", letter["id"].id)
            #expect(shown["last_error"] == "no 1")
            #expect(shown["errors"].elements.count == 1)
            let job = try await made("enqueue", "demo.noop")
            try await errand("dead", "show", job["id"].id)
                .expect(4, "is not a dead letter: it is available", "errand job show")
            try await errand("dead", "show", "99999").expect(3, "there is no dead letter 99999")
            try await errand("dead", "show", "x").expect(2, "ID 'x'")
        }

        @Test func `group gathers what differs in numbers only`() async throws {
            try await bury(12, error: "no answer from 10.0.0.# after # ms")
            try await bury(3, error: "user 'kim#' is gone")
            try await bury(1, kind: "demo.sleep", error: "user 'lee#' is gone")
            let run = try await errand("dead", "group", "-ojson")
            run.expect(0)
            let groups = try run.records
            try #require(groups.map { $0["count"] } == [12, 3, 1])
            #expect(groups.map { $0["kind"] } == ["demo.noop", "demo.noop", "demo.sleep"])
            #expect(groups[0]["pattern"] == "no answer from # after # ms")
            #expect(groups[1]["pattern"] == "user \"…\" is gone")
            #expect(groups[1]["fingerprint"] == groups[2]["fingerprint"])
            #expect(groups[0]["last_seen"].text?.hasSuffix("Z") == true)
            try await errand("dead", "show", groups[0]["sample"].id).expect(0)
            let fingerprint = try #require(groups[1]["fingerprint"].text)
            let one = try await errand(
                "dead", "group", "--fingerprint", fingerprint, "--kind", "demo.sleep")
            #expect(one.lines[0].hasPrefix("FINGERPRINT"))
            #expect(one.lines.count == 3)
            try await errand("dead", "group", "--kind", "x").expect(0, "no dead letters match")
            try await errand("dead", "group", "x").expect(2, "takes no argument")
        }

        @Test func `export writes every letter, page after page`() async throws {
            try await bury(2_100)
            let run = try await errand("dead", "export", "--kind", "demo.noop")
            run.expect(0, "dead letters written: 2,100")
            let records = try run.records
            try #require(Set(records.map { $0["id"].id }).count == 2_100)
            #expect(records[0].names.isSuperset(of: ["args", "errors", "fingerprint", "queue"]))
            let chosen = try await errand("dead", "export", "--columns", "kind", "--limit", "1")
            #expect(chosen.output == "{\"kind\":\"demo.noop\"}\n")
            let some = try await errand("dead", "export", "--limit", "1001", "--quiet")
            #expect(try some.records.count == 1_001)
            #expect(some.errors.isEmpty)
            try await errand("dead", "export", "--limit", "0").expect(2, "--limit 0")
        }
    }
}
