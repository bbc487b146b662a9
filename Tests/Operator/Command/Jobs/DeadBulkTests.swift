import Glibc
import ErrandTestServices
import Testing

extension JobCommands {
    @Suite("errand dead redrive, discard; op; audit") struct DeadBulkTests {
        private func operation(_ id: String = "1") async throws -> JSON {
            try await made("op", "show", id)
        }

        @Test func `every change takes a reason, for the audit`() async throws {
            let why = ["--reason", "as asked", "--yes"]
            let lines = [
                ["enqueue", "demo.noop"],
                ["schedule", "add", "a.b", "@daily", "--kind", "demo.noop"],
                ["schedule", "edit", "a.b", "--cron", "@hourly"], ["schedule", "pause", "a.b"],
                ["schedule", "resume", "a.b"], ["schedule", "trigger", "a.b"],
                [
                    "schedule", "backfill", "a.b", "--from", "2026-01-01T00:30:00Z", "--to",
                    "2026-01-01T01:30:00Z",
                ],
                ["schedule", "rm", "a.b"], ["queue", "pause", "default"],
                ["queue", "resume", "default"],
            ]
            for line in lines { try await errand(line + why).expect(0) }
            let audit = try await errand("audit", "ls", "-ojson").records
            #expect(audit.count == lines.count)
            #expect(audit.allSatisfy { $0["reason"] == "as asked" }, "\(audit)")
            try await errand("schedule", "pause", "a.b", "--note", "x", "--reason", "y")
                .expect(2, "are the same")
        }

        @Test func `redrive stops when most of those that ran fail again, and resume tries first`()
            async throws
        {
            try await bury(6)
            try await bury(400, kind: "demo.fail", args: #"{"times": 99}"#)
            let worker = try start(["work"])
            let run = try await errand(
                "dead", "redrive", "--all", "--yes", "--rate", "10/s", "-ojson")
            run.expect(7, "that ran failed again: ", "failed on purpose", "of 406 done")
            #expect(try run.record["state"] == "failed")
            #expect(try await number(deadCount) > 0)
            let again = try await errand("op", "resume", "1", "--reason", "mended", "-ojson")
            again.expect(7, "of the first 5 failed again: ")
            let audit = try await errand("audit", "ls", "--action", "op resume", "-ojson")
            #expect(try audit.record["reason"] == "mended")
            worker.signal(SIGTERM)
            try await finish(worker).expect(0)
        }

        @Test func `who is asked sees a sample, also when the result is JSON`() async throws {
            try await bury(2)
            let run = try await onTerminal(
                "dead", "redrive", "--all", "--rate", "0.5/s", "-ojson",
                steps: [.wait("redrive 2 dead letters? [y/N]"), .send("n\n")])
            #expect(run.code == 5)
            #expect(run.parts[0].contains("demo.noop"))
        }

        // MARK: what is meant

        @Test(arguments: ["redrive", "discard"])
        func `a bulk action shows first, asks, and needs to be told which`(
            verb: String
        ) async throws {
            try await bury(7)
            try await errand("dead", verb).expect(2, "no dead letters are selected", "or --all")
            try await errand("dead", verb, "--all", "1").expect(2, "cannot be combined")
            try await errand("dead", verb, "--all", "--kind", "x").expect(0, "nothing to do")
            try await errand("dead", verb, "x").expect(2, "ID 'x'")
            try await errand("dead", verb, "--kind", "x", "--yes").expect(0, "nothing to do")
            try await errand("dead", verb, "99998", "99999", "--yes")
                .expect(3, "none of these 2 ids is a dead letter")
            let asked = try await errand("dead", verb, "--all")
            asked.expect(5, "not confirmed", "7 dead letters", "--yes")
            #expect(asked.output.contains("no 7"))
            let dry = try await errand("dead", verb, "--all", "--max", "6", "--dry-run", "-ojson")
            dry.expect(0)
            let preview = try dry.record
            #expect(preview["action"].text == "dead \(verb)")
            #expect(preview["count"] == 6)
            #expect(preview["sample"].elements.count == 5)
            #expect(try await number(deadCount) == 7)
            #expect(try await number("SELECT count(*) FROM errand.operations") == 0)
        }

        // MARK: redrive

        @Test func `redrive lets them run again, by filter and by id`() async throws {
            try await bury(3)
            try await bury(2, kind: "demo.sleep", args: #"{"ms": 1}"#)
            let run = try await made(
                "dead", "redrive", "--kind", "demo.noop", "--yes", "--reason", "mended")
            #expect(run["state"] == "done")
            #expect(run["done"] == 3)
            #expect(run["total"] == 3)
            #expect(run["operator"] == "tester")
            #expect(run["reason"] == "mended")
            #expect(run["filter"]["kind"] == "demo.noop")
            #expect(try await number(liveCount) == 3)
            let rest = try await errand("dead", "ls", "-ojson")
            let id = try #require(try rest.records.first)["id"]
            let mixed = try await errand("dead", "redrive", id.id, "99999", "--yes")
            mixed.expect(7, "1 of 2 are not dead letters")
            #expect(try await number(deadCount) == 1)
            #expect(try await made("work", "--drain")["completed"] == 4)
        }

        @Test func `redrive goes on when the first ones do well`() async throws {
            try await bury(1_203)
            let worker = try start(["work"])
            let run = try await made("dead", "redrive", "--all", "--yes")
            #expect(run["state"] == "done")
            #expect(run["done"] == 1_203)
            try await eventually("all to be done") {
                try await number(
                    "SELECT count(*) FROM errand.finished_jobs WHERE outcome = 'completed'")
                    == 1_203
            }
            worker.signal(SIGTERM)
            try await finish(worker).expect(0)
        }

        @Test func `redrive stops by itself when the first ones fail again`() async throws {
            try await bury(20, kind: "demo.fail", args: #"{"times": 99}"#)
            let worker = try start(["work"])
            let run = try await errand("dead", "redrive", "--all", "--yes", "-ojson")
            run.expect(7, "of the first 5 failed again: ", "failed on purpose", "5 of 20 done")
            #expect(try run.record["state"] == "failed")
            #expect(try await number(deadCount) >= 15)
            worker.signal(SIGTERM)
            try await finish(worker).expect(0)
            #expect(try await made("op", "resume", "1", "--try", "0")["done"] == 20)
        }

        @Test func `redrive waits for the first ones only so long`() async throws {
            try await bury(9)
            try await errand("dead", "redrive", "--all", "--yes", "--trial-timeout", "200ms")
                .expect(8, "the first 5 have not finished within", "errand op resume 1")
            #expect(try await operation()["state"] == "interrupted")
            #expect(try await number(deadCount) == 4)
            #expect(try await made("op", "resume", "1")["state"] == "done")
            #expect(try await number(liveCount) == 9)
            try await errand("op", "resume", "1").expect(4, "operation 1 is done")
            try await errand("dead", "redrive", "--all", "--rate", "fast").expect(
                2, "such as 100/s")
        }

        @Test func `what dies meanwhile is not meant`() async throws {
            try await bury(6)
            try await errand("dead", "redrive", "--all", "--yes", "--trial-timeout", "0s").expect(8)
            try await change(
                "UPDATE errand.dead_jobs SET finished_at = now() WHERE id = 6")
            #expect(try await made("op", "resume", "1")["done"] == 5)
            #expect(try await number(deadCount) == 1)
        }

        // MARK: op

        @Test func `an operation is cancelled from elsewhere, and resumed`() async throws {
            try await bury(300)
            let arguments = ["dead", "redrive", "--all", "--yes", "--try", "0", "--rate", "20/s"]
            let process = try start(arguments + ["-ojson"])
            try await eventually("the first chunk") { try await number(liveCount) >= 20 }
            #expect(try await operation()["state"] == "running")
            try await errand("op", "resume", "1").expect(4, "operation 1 is running")
            let cancelled = try await made("op", "cancel", "1", "--reason", "too many")
            #expect(cancelled["state"] == "cancelled")
            let run = try await finish(process)
            run.expect(7, "cancelled by tester: too many; ", " of 300 done", "errand op resume 1")
            let done = try #require(try run.record["done"].number)
            #expect(Int(done) == (try await number(liveCount)))
            #expect(done < 300)
            try await errand("op", "cancel", "1").expect(4, "has already ended: cancelled")
            let resumed = try start(["op", "resume", "1"])
            try await eventually("it to go on") { try await number(liveCount) > Int(done) }
            resumed.signal(SIGINT)
            try await finish(resumed).expect(7, "interrupted; ")
            let listed = try await errand("op", "ls")
            listed.expect(0)
            #expect(listed.lines[0].hasPrefix("ID"))
            #expect(listed.output.contains("interrupted"))
        }

        @Test func `a killed operation is picked up where it was`() async throws {
            try await bury(100)
            let process = try start([
                "dead", "redrive", "--all", "--yes", "--try", "0", "--rate", "20/s",
            ])
            try await eventually("the first chunk") { try await number(liveCount) >= 20 }
            process.signal(SIGKILL)
            _ = try await process.end(within: .seconds(10))
            try await eventually("the server to notice") {
                try await operation()["state"] == "interrupted"
            }
            try await change("UPDATE errand.operations SET rate_per_s = NULL")
            let end = try await made("op", "resume", "1", "--try", "0")
            #expect(end["state"] == "done")
            #expect(end["done"] == 100)
            #expect(try await number(liveCount) == 100)
        }

        @Test(arguments: ["show", "cancel", "resume"])
        func `an operation that is not there`(verb: String) async throws {
            try await errand("op", verb, "9").expect(3, "there is no operation 9", "errand op ls")
            try await errand("op", verb, "x").expect(2, "ID 'x'")
            try await errand("op", "ls").expect(0, "no bulk operations yet")
        }

        // MARK: discard

        @Test func `discard deletes for good`() async throws {
            try await bury(1_100)
            try await bury(2, kind: "demo.sleep")
            let run = try await made(
                "dead", "discard", "--kind", "demo.noop", "--max", "1050", "--yes")
            #expect(run["action"] == "dead discard")
            #expect(run["done"] == 1_050)
            #expect(try await number(deadCount) == 52)
            #expect(try await number("SELECT min(id) FROM errand.dead_jobs") == 1_051)
            #expect(try await number(liveCount) == 0)
        }

        // MARK: audit

        @Test func `the audit tells what became of schedules`() async throws {
            try await made(
                "schedule", "add", "a.b", "0 * * * *", "--kind", "demo.noop", "--starts",
                "2026-01-01T00:00:00Z")
            try await made("schedule", "edit", "a.b", "--cron", "30 * * * *")
            try await made("schedule", "pause", "a.b", "--note", "stocktaking")
            try await made("schedule", "resume", "a.b")
            try await made("schedule", "resume", "a.b")
            let job = try await made("schedule", "trigger", "a.b")["job"]
            try await made(
                "schedule", "backfill", "a.b", "--yes", "--from", "2026-11-01T00:00:00Z", "--to",
                "2026-11-01T03:00:00Z")
            try await made("schedule", "rm", "a.b", "--yes")
            try await errand("schedule", "pause", "x.y").expect(3)
            let run = try await errand("audit", "ls", "--action", "schedule", "-ojson")
            run.expect(0)
            let entries = try run.records.reversed().map(\.self)
            try #require(
                entries.map { $0["action"] } == [
                    "schedule add", "schedule edit", "schedule pause", "schedule resume",
                    "schedule trigger", "schedule backfill", "schedule rm",
                ])
            #expect(entries.allSatisfy { $0["subject"] == "a.b" && $0["operator"] == "tester" })
            #expect(entries[1]["change"]["before"]["recurrence"] == "0 * * * *")
            #expect(entries[1]["change"]["after"]["recurrence"] == "30 * * * *")
            #expect(entries[2]["reason"] == "stocktaking")
            #expect(entries[4]["change"]["job"] == job)
            #expect(entries[5]["change"]["from"] == "2026-11-01T00:30:00Z")
            #expect(entries[6]["change"]["kind"] == "demo.noop")
        }

        @Test func `the audit tells who changed what, when and why`() async throws {
            try await errand("audit", "ls").expect(0, "no changes match")
            try await bury(2)
            let job = try await made("enqueue", "demo.noop", "--in", "1h")
            try await made("job", "retry", job["id"].id)
            try await made("job", "cancel", job["id"].id)
            try await made("queue", "pause", "default", "--reason", "rent day")
            try await made("queue", "resume", "default")
            try await made("dead", "discard", "--all", "--yes", "--reason", "old")
            try await errand("job", "retry", "99999").expect(3)
            try await errand("queue", "pause", "xyz").expect(3)
            func audit(_ filters: String...) async throws -> [JSON] {
                let run = try await errand(["audit", "ls", "-ojson"] + filters)
                run.expect(0)
                return try run.records
            }
            let entries = try await audit().filter { $0["action"] != "enqueue" }
            try #require(
                entries.map { $0["action"] } == [
                    "dead discard", "queue resume", "queue pause", "job cancel", "job retry",
                ])
            #expect(entries.allSatisfy { $0["operator"] == "tester" })
            #expect(
                entries[0].names == [
                    "id", "at", "operator", "action", "subject", "reason", "change",
                ])
            #expect(entries[0]["subject"] == "op 1")
            #expect(entries[0]["reason"] == "old")
            #expect(entries[0]["change"]["total"] == 2)
            #expect(entries[2]["subject"] == "default")
            #expect(entries[2]["reason"] == "rent day")
            #expect(entries[4]["subject"].text == "job \(job["id"].id)")
            #expect(try await audit("--action", "queue").count == 2)
            #expect(try await audit("--action", "queue pause", "--since", "1h").count == 1)
            #expect(try await audit("--operator", "kim").isEmpty)
            #expect(try await audit("--since", "0s").isEmpty)
            let table = try await errand("audit", "ls", "--limit", "1")
            table.expect(0, "more: errand audit ls --limit 1 --cursor \(entries[0]["id"].id)")
            #expect(table.lines[0].contains("OPERATOR"))
            try await errand("audit", "ls", "--since", "x").expect(2, "expected a duration")
        }
    }
}
