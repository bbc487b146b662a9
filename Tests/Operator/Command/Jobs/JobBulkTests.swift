import Glibc
import ErrandTestServices
import Testing

extension JobCommands {
    @Suite("errand job retry, cancel, discard, run-now, reschedule, move, edit: by filter")
    struct JobBulkTests {
        private static let verbs = [
            ["retry"], ["cancel"], ["discard"], ["run-now"], ["reschedule", "--in", "2h"],
            ["move", "--to", "mail", "--new-queue"], ["edit", "--set-tag", "new"],
        ]

        private func later(_ count: Int, kind: String = "demo.noop") async throws {
            try await made(
                "enqueue", kind, #"{"ms": 1}"#, "--count", "\(count)", "--in", "1h", "--tag",
                "old")
        }

        private func ids(_ filters: String...) async throws -> [Int] {
            let run = try await errand(["job", "ls", "-ojson"] + filters)
            return try run.records.compactMap { $0["id"].number.map { Int($0) } }
        }

        private let finished = "SELECT count(*) FROM errand.finished_jobs"

        @Test(arguments: verbs)
        func `a bulk action shows first, asks, and needs to be told which`(
            words: [String]
        ) async throws {
            try await later(7)
            let verb = ["job"] + words
            try await errand(verb).expect(2, "no jobs are selected", "or --all")
            for more in [["--kind", "x"], ["--all"], ["--max", "1"], ["--dry-run"]] {
                try await errand(verb + ["1"] + more).expect(2, "ids cannot be combined with")
            }
            let wrong = words[0] == "retry" ? "running" : "completed"
            try await errand(verb + ["--state", wrong])
                .expect(2, "does not apply to jobs that are \(wrong)", "--state accepts: ")
            try await errand(verb + ["--queue", "defalt"]).expect(3, "did you mean default?")
            try await errand(verb + ["--all", "--rate", "fast"]).expect(2, "such as 100/s")
            try await errand(verb + ["--kind", "x", "--yes"]).expect(0, "nothing to do")
            let nothing = try await errand(verb + ["--kind", "x", "--yes", "-ojson"])
            #expect(try nothing.record["total"] == 0)
            let state = words[0] == "retry" ? ["--state", "scheduled"] : []
            let asked = try await errand(verb + ["--all"] + state)
            asked.expect(5, "not confirmed", "7 jobs", "--yes")
            #expect(asked.output.contains("demo.noop"))
            let dry = try await errand(
                verb + ["--kind", "demo.noop", "--max", "6", "--dry-run", "-ojson"] + state)
            dry.expect(0)
            #expect(try dry.record["action"].text == "job \(words[0])")
            #expect(try dry.record["count"] == 6)
            #expect(try dry.record["estimated"] == false)
            #expect(try dry.record["sample"].elements.count == 5)
            #expect(try dry.record["sample"].elements[0]["id"] == 1)
            #expect(try await number("SELECT count(*) FROM errand.operations") == 0)
            #expect(
                try await number("\(liveCount) WHERE run_at > now() AND queue = 'default'") == 7)
        }

        @Test(arguments: verbs)
        func `each acts on what passes, in chunks, and is recorded`(
            words: [String]
        ) async throws {
            try await later(2_300)
            try await later(3, kind: "demo.sleep")
            let state = words[0] == "retry" ? ["--state", "scheduled"] : []
            let run = try await errand(
                ["job"] + words + ["--kind", "demo.noop", "--yes", "--reason", "spring", "-ojson"]
                    + state)
            run.expect(0)
            let end = try run.record
            #expect(end["state"] == "done")
            #expect(end["done"] == 2_300)
            #expect(end["total"] == 2_300)
            #expect(end["skipped"] == 0)
            let condition =
                switch words[0] {
                case "cancel", "discard": "false"
                case "run-now", "retry": "run_at <= now()"
                case "reschedule": "run_at > now() + interval '90 minutes'"
                case "move": "queue = 'mail'"
                default: "tags = '{new}'"
                }
            let isEnd = ["cancel", "discard"].contains(words[0])
            #expect(try await number("\(liveCount) WHERE \(condition)") == (isEnd ? 0 : 2_300))
            #expect(
                try await number("\(finished) WHERE reason LIKE '%ed by tester: spring'")
                    == (isEnd ? 2_300 : 0))
            #expect(try await number("\(liveCount) WHERE kind = 'demo.sleep'") == 3)
            let line = try await made("audit", "ls", "--action", "job")
            #expect(line["action"].text == "job \(words[0])")
            #expect(line["subject"] == "op 1")
            #expect(line["reason"] == "spring")
            #expect(line["change"]["total"] == 2_300)
            #expect(line["change"]["filter"]["kind"] == "demo.noop")
            #expect(try await made("op", "show", "1")["action"].text == "job \(words[0])")
        }

        @Test func `ids given directly are recorded too`() async throws {
            try await later(7)
            for (id, words) in zip(1..., Self.verbs) {
                let yes = words[0] == "discard" ? ["--yes"] : []
                try await errand(
                    ["job", words[0], "\(id)", "--reason", "why"] + words.dropFirst() + yes
                ).expect(0)
            }
            let run = try await errand("audit", "ls", "--action", "job", "-ojson")
            let lines = try run.records.reversed().map(\.self)
            #expect(lines.map { $0["action"].text } == Self.verbs.map { "job \($0[0])" })
            #expect(lines.map { $0["subject"].text } == (1...7).map { "job \($0)" })
            #expect(lines.allSatisfy { $0["reason"] == "why" && $0["operator"] == "tester" })
            #expect(lines[5]["change"]["queue"] == "mail")
            #expect(lines[6]["change"]["tags"] == ["new"])
        }

        @Test func `retry means what failed, and more only when asked for`() async throws {
            try await bury(4)
            try await made("enqueue", "demo.noop", "--count", "2")
            #expect(try await made("work", "--drain")["completed"] == 2)
            try await later(3)
            try await change("UPDATE errand.jobs SET attempt = 1 WHERE id = 7")
            let run = try await made("job", "retry", "--all", "--yes")
            #expect(run["done"] == 5)
            #expect(try await number("\(liveCount) WHERE run_at <= now()") == 5)
            #expect(try await number(finished) == 2)
            #expect(
                try await made("job", "retry", "--state", "completed", "--yes")["done"] == 2)
            #expect(try await made("work", "--drain")["completed"] == 7)
        }

        @Test func `cancel ends what waits and asks of what runs`() async throws {
            try await made("enqueue", "demo.sleep", #"{"ms": 600000}"#, "--count", "3")
            try await later(5)
            let worker = try start(["work", "--grace", "0s"])
            try await eventually("the jobs to run") {
                try await number("SELECT count(claimed_by) FROM errand.jobs") == 3
            }
            #expect(try await made("job", "run-now", "--kind", "demo.sleep", "--yes")["total"] == 0)
            let run = try await made("job", "cancel", "--queue", "default", "--all", "--yes")
            #expect(run["done"] == 8)
            #expect(run["cancel_requested"] == 3)
            try await eventually("all to end") {
                try await number("\(finished) WHERE outcome = 'cancelled'") == 8
            }
            worker.signal(SIGTERM)
            try await finish(worker).expect(0)
        }

        @Test func `an operation on jobs is cancelled, resumed and interrupted`() async throws {
            try await later(300)
            let process = try start([
                "job", "cancel", "--all", "--yes", "--rate", "20/s", "-ojson",
            ])
            try await eventually("the first chunk") { try await number(finished) >= 20 }
            try await errand("op", "resume", "1").expect(4, "operation 1 is running")
            try await made("op", "cancel", "1", "--reason", "too many")
            try await finish(process)
                .expect(7, "cancelled by tester: too many; ", " of 300 done", "op resume 1")
            let resumed = try start(["op", "resume", "1"])
            let done = try await number(finished)
            try await eventually("it to go on") { try await number(finished) > done }
            resumed.signal(SIGINT)
            try await finish(resumed).expect(7, "interrupted; ")
            // Ended meanwhile by somebody else, and made meanwhile.
            try await errand("job", "cancel", "299", "300").expect(0)
            try await later(1)
            try await change("UPDATE errand.operations SET rate_per_s = NULL")
            let last = try await errand("op", "resume", "1", "-ojson")
            last.expect(0, "2 had changed meanwhile and were skipped")
            #expect(try last.record["done"] == 298)
            #expect(try last.record["skipped"] == 2)
            #expect(try await number(liveCount) == 1)
        }

        @Test func `--max takes those with the lowest ids`() async throws {
            try await later(2_500)
            let run = try await made("job", "discard", "--all", "--max", "1200", "--yes")
            #expect(run["done"] == 1_200)
            #expect(run["max"] == 1_200)
            #expect(try await number("SELECT min(id) FROM errand.jobs") == 1_201)
            let discarded = try await made("job", "discard", "--tag", "old", "--yes")
            #expect(discarded["done"] == 1_300)
        }

        @Test func `filters combine in bulk as in a listing`() async throws {
            for count in 1...6 {
                try await made(
                    "enqueue", "demo.sleep", #"{"ms": \#(count % 2)}"#, "--in", "1h", "--tag",
                    count < 4 ? "a" : "b", "--queue", count % 3 == 0 ? "mail" : "default")
            }
            for filters in [
                ["--arg", "ms=1", "--tag", "a"], ["--queue", "mail", "--tag", "b"],
                ["--state", "scheduled", "--arg", "ms=0", "--queue", "default"],
                ["--newer", "1h", "--kind", "demo.sleep", "--tag", "b"], ["--older", "1h"],
                ["--error", "x"], ["--worker", "1"], ["--key", "k"],
            ] {
                let listed = try await errand(["job", "ls", "-ojson"] + filters)
                let dry = try await errand(
                    ["job", "cancel", "--dry-run", "-ojson"] + filters)
                dry.expect(0)
                #expect(
                    try dry.record["sample"].elements.map { $0["id"] }
                        == listed.records.map { $0["id"] })
                #expect(
                    try dry.record["count"].number.map { Int($0) } == listed.records.count)
            }
        }

        @Test func `move and edit by filter`() async throws {
            try await later(4)
            let moved = try await made(
                "job", "move", "--queue", "default", "--to", "mail", "--new-queue", "--priority",
                "high", "--yes")
            #expect(moved["change"]["queue"] == "mail")
            try await errand("job", "move", "1", "--queue", "default", "--to", "mail")
                .expect(2, "ids cannot be combined", "--to names the queue to move to")
            #expect(try await number("\(liveCount) WHERE queue = 'mail' AND priority = 1") == 4)
            try await made("job", "edit", "--tag", "old", "--args", #"{"n": 7}"#, "--yes")
            #expect(try await ids("--arg", "n=7").count == 4)
        }

        @Test func `ls turns pages both ways`() async throws {
            try await made("enqueue", "demo.noop", "--count", "5")
            #expect(try await ids("--limit", "2") == [5, 4])
            #expect(try await ids("--limit", "2", "--cursor", "4") == [3, 2])
            #expect(try await ids("--limit", "2", "--cursor", "3", "--order", "oldest") == [4, 5])
            #expect(try await ids("--limit", "2", "--order", "oldest") == [1, 2])
            #expect(try await ids("--cursor", "4", "--before", "3") == [2, 1])
            let run = try await errand("job", "ls", "--order", "oldest", "--limit", "3")
            run.expect(0, "more: errand job ls --limit 3 --order oldest --cursor 3")
            // It is to be pasted as it stands.
            try await made("enqueue", "demo.noop", "--tag", "it's $HOME", "--count", "2")
            let tagged = try await errand(
                "job", "ls", "--tag=it's $HOME", "--columns", "id", "--limit", "1")
            tagged.expect(0, "--tag 'it'\\''s $HOME' --limit 1 --columns id --cursor 7")
            try await errand("job", "ls", "--order", "best").expect(2, "newest")
            try await errand("job", "ls", "--cursor", "x").expect(2, "whole number")
        }
    }
}
