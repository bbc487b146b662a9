import Glibc
import ErrandTestServices
import Testing

extension JobCommands {
    @Suite("errand job run-now, reschedule, move, edit, discard, wait") struct JobChangeTests {
        private func show(_ id: JSON) async throws -> JSON { try await made("job", "show", id.id) }

        private func later() async throws -> JSON {
            try await made("enqueue", "demo.noop", "--in", "1h")["id"]
        }

        private func dead() async throws -> JSON {
            let job = try await made(
                "enqueue", "demo.fail", #"{"times": 1}"#, "--max-attempts", "1")
            #expect(try await made("work", "--drain")["dead"] == 1)
            return job["id"]
        }

        @Test func `run-now and reschedule change when a job starts`() async throws {
            let worker = try start(["work"])
            let job = try await later()
            #expect(try await made("job", "run-now", job.id)["result"] == "changed")
            try await errand("job", "wait", job.id, "--timeout", "20s").expect(0)
            let next = try await later()
            let moved = try await errand("job", "reschedule", next.id, "--in", "100d")
            moved.expect(0)
            #expect(moved.lines[1].contains("changed"))
            #expect(
                try await number(
                    """
                    SELECT count(*) FROM errand.jobs
                    WHERE run_at - now() BETWEEN interval '99 days' AND interval '101 days'
                    """) == 1)
            // In good time, although nobody looks before: the feeder was told.
            try await made("job", "reschedule", next.id, "--in", "300ms")
            try await errand("job", "wait", next.id, "--timeout", "20s").expect(0)
            let past = try await later()
            try await made("job", "reschedule", past.id, "--at", "2020-01-01T00:00:00Z")
            try await errand("job", "wait", past.id, "--timeout", "20s").expect(0)
            worker.signal(SIGTERM)
            try await finish(worker).expect(0)
            for words in [[], ["--in", "1h", "--at", "2030-01-01T00:00:00Z"]] {
                try await errand(["job", "reschedule", past.id] + words)
                    .expect(2, "give either --at TIME or --in TIME")
            }
            try await errand("job", "reschedule", past.id, "--at", "noon")
                .expect(2, "expected an RFC 3339 time")
        }

        @Test func `move takes a job to workers of another queue`() async throws {
            let job = try await made("enqueue", "demo.noop", "--priority", "low")["id"]
            try await errand("job", "move", job.id, "--to", "mail")
                .expect(3, "there is no queue mail", "--new-queue creates it")
            try await errand("job", "move", job.id, "--to", "No!", "--new-queue")
                .expect(2, "is not a valid queue name")
            try await errand("job", "move", job.id).expect(2, "--to QUEUE is required")
            let moved = try await made(
                "job", "move", job.id, "--to", "mail", "--new-queue", "--priority", "high")
            #expect(moved["result"] == "changed")
            // It was staged for the old queue, and is not run from there.
            #expect(try await made("work", "--drain")["completed"] == 0)
            let shown = try await show(job)
            #expect(shown["queue"] == "mail")
            #expect(shown["priority"] == 1)
            #expect(try await made("work", "--drain", "--queues", "mail")["completed"] == 1)
        }

        @Test func `a moved or discarded run of a schedule is still its run`() async throws {
            try await made(
                "schedule", "add", "shop.sync", "@every 10h", "--kind", "demo.noop", "--overlap",
                "skip")
            for outcome in ["completed", "cancelled"] {
                let run = try await made("schedule", "trigger", "shop.sync")
                if outcome == "completed" {
                    try await made("job", "move", run["job"].id, "--to", "b", "--new-queue")
                    #expect(
                        try await made("work", "--drain", "--queues", "b")["completed"] == 1)
                } else {
                    try await made("job", "discard", run["job"].id, "--yes")
                }
                try await made("schedule", "tick")
                #expect(
                    try await number(
                        """
                        SELECT count(*) FROM errand.schedule_occurrences
                        WHERE outcome::text = '\(outcome)' AND job_id = \(run["job"].id)
                        """) == 1)
            }
        }

        @Test func `edit gives a waiting job other arguments and tags`() async throws {
            let job = try await made("enqueue", "demo.fail", #"{"times": 9}"#, "--in", "1h")["id"]
            let edited = try await made(
                "job", "edit", job.id, "--args", #"{"times": 0}"#, "--set-tag", "a,b")
            #expect(edited["result"] == "changed")
            let shown = try await show(job)
            #expect(shown["args"]["times"] == 0)
            #expect(shown["tags"] == ["a", "b"])
            try await made("job", "edit", job.id, "--set-tag", "c")
            #expect(try await show(job)["args"]["times"] == 0)
            try await made("job", "edit", job.id, "--args", "@-", input: #"{"times": 3}"#)
            #expect(try await show(job)["args"]["times"] == 3)
            #expect(try await show(job)["tags"] == ["c"])
            try await errand("job", "edit", job.id).expect(2, "nothing to change")
            for args in ["[]", "{", "3", #"{"a": 1} x"#] {
                try await errand("job", "edit", job.id, "--args", args)
                    .expect(2, "not a JSON object")
            }
            let long = #"{"a": ""# + String(repeating: "x", count: 1 << 20) + "\"}"
            try await errand("job", "edit", job.id, "--args", "@-", input: long)
                .expect(5, "1 MiB")
        }

        @Test func `discard asks, and ends waiting and dead jobs`() async throws {
            let dead = try await dead()
            let waiting = try await later()
            try await errand("job", "discard", dead.id, waiting.id)
                .expect(5, "not confirmed: discard 2 jobs?", "--yes")
            #expect(try await show(dead)["state"] == "dead")
            let run = try await errand("job", "discard", dead.id, waiting.id, "-y", "-ojson")
            run.expect(0)
            #expect(try run.records.map { $0["result"] } == ["discarded", "discarded"])
            #expect(try await show(waiting)["reason"] == "discarded by tester")
            let ended = try await show(dead)
            #expect(ended["state"] == "cancelled")
            #expect(ended["reason"].text?.hasPrefix("discarded by tester; it was dead: ") == true)
            #expect(try await made("status")["dead"] == 0)
            try await errand("job", "discard", dead.id, "-y")
                .expect(4, "job \(dead.id): it has already finished")
            #expect(try await made("job", "retry", dead.id)["result"] == "retried")
        }

        @Test(arguments: [
            ["run-now"], ["reschedule", "--in", "1h"], ["move", "--to", "default"],
            ["edit", "--set-tag", "x"], ["discard", "--yes"],
        ])
        func `what runs, has ended or is not there stays`(words: [String]) async throws {
            let job = try await made("enqueue", "demo.sleep", #"{"ms": 600000}"#)["id"]
            let done = try await made("enqueue", "demo.noop")["id"]
            let worker = try start(["work", "--grace", "0s"])
            try await errand("job", "wait", done.id, "--timeout", "20s").expect(0)
            try await eventually("the other to run") {
                try await number("SELECT count(claimed_by) FROM errand.jobs") == 1
            }
            let verb = ["job", words[0]]
            let options = Array(words.dropFirst())
            try await errand(verb + [job.id] + options).expect(4, "it is running")
            try await errand(verb + [done.id] + options).expect(4, "it has already finished")
            let unknown = try await errand(verb + ["99999", "-ojson"] + options)
            unknown.expect(3, "there is no such job")
            #expect(try unknown.failure["code"] == "not_found")
            try await errand(verb + options).expect(2, "no jobs are selected")
            try await errand(verb + ["x"] + options).expect(2, "ID 'x': expected")
            worker.signal(SIGTERM)
            try await finish(worker).expect(0)
        }

        @Test func `wait ends with what became of the jobs`() async throws {
            let done = try await made("enqueue", "demo.noop")["id"]
            let traceless = try await made("enqueue", "demo.noop", "--retention", "0s")["id"]
            let open = try start(
                ["job", "wait", done.id, traceless.id, "-ojson", "--timeout", "30s"])
            let late = try await errand("job", "wait", done.id, "--timeout", "100ms")
            late.expect(8, "job \(done.id) has not finished", "'errand job why \(done.id)'")
            #expect(late.lines[1].contains("available"))
            let dead = try await dead()
            let run = try await finish(open)
            run.expect(0)
            #expect(try run.records.map { $0["state"] } == ["completed", "completed"])
            try await errand("job", "wait", dead.id, done.id)
                .expect(1, "job \(dead.id) is dead", "'errand job show \(dead.id)'")
            try await errand("job", "wait", "99999").expect(3, "there is no job 99999")
            try await errand("job", "wait", done.id, "--timeout", "soon").expect(2, "a duration")
            try await errand("job", "wait").expect(2, "needs ID")
        }
    }
}
