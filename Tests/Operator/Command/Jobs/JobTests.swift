import Glibc
import ErrandTestServices
import Testing

extension JobCommands {
    @Suite("errand job") struct JobTests {
        private func show(_ id: JSON) async throws -> JSON {
            try await made("job", "show", id.id)
        }

        /// A job that some worker is running, and that worker.
        private func running() async throws -> (id: JSON, worker: Program) {
            let job = try await made("enqueue", "demo.sleep", #"{"ms": 600000}"#)
            let worker = try start(["work", "--grace", "0s"])
            try await eventually("the job to run") {
                try await number("SELECT count(claimed_by) FROM errand.jobs") == 1
            }
            return (job["id"], worker)
        }

        private func dead() async throws -> JSON {
            let job = try await made(
                "enqueue", "demo.fail", #"{"times": 1}"#, "--max-attempts", "1", "--tag", "t")
            #expect(try await made("work", "--drain")["dead"] == 1)
            return job["id"]
        }

        // MARK: show

        @Test func `show has all that scripts rely on`() async throws {
            let job = try await show(dead())
            #expect(
                job.names.isSuperset(of: [
                    "id", "kind", "queue", "state", "attempt", "max_attempts", "run_at", "args",
                    "errors", "tags", "priority", "created_at", "started_at", "finished_at",
                    "run_time", "worker", "not_after", "unique_key", "args_version", "reason",
                ]))
            #expect(job["kind"] == "demo.fail")
            #expect(job["queue"] == "default")
            #expect(job["state"] == "dead")
            #expect(job["attempt"] == 1)
            #expect(job["max_attempts"] == 1)
            #expect(job["args"]["times"] == 1)
            #expect(job["tags"] == ["t"])
            for name in ["run_at", "created_at", "started_at", "finished_at"] {
                #expect(job[name].text?.hasSuffix("Z") == true, "\(name): RFC 3339 in UTC")
            }
            let error = try #require(job["errors"].elements.first)
            #expect(job["errors"].elements.count == 1)
            #expect(error["attempt"] == 1)
            #expect(error["error"].text?.contains("failed on purpose") == true)
        }

        @Test func `show tells each state`() async throws {
            let waiting = try await made("enqueue", "demo.noop", "--queue", "idle")
            #expect(try await show(waiting["id"])["state"] == "available")
            let later = try await made("enqueue", "demo.noop", "--in", "1h")
            #expect(try await show(later["id"])["state"] == "scheduled")
            let done = try await made("enqueue", "demo.noop")
            #expect(try await made("work", "--drain")["completed"] == 1)
            let completed = try await show(done["id"])
            #expect(completed["state"] == "completed")
            #expect(completed["errors"] == [])
            #expect(completed["worker"] != nil)
            try await made("job", "cancel", later["id"].id)
            #expect(try await show(later["id"])["state"] == "cancelled")
            try await change(
                "UPDATE errand.jobs SET attempt = 1, run_at = now() + interval '1 hour'")
            #expect(try await show(waiting["id"])["state"] == "retrying")
            let (id, worker) = try await running()
            let job = try await show(id)
            #expect(job["state"] == "running")
            #expect(job["attempt"] == 1)
            #expect(job["started_at"] != nil)
            worker.signal(SIGTERM)
            try await finish(worker).expect(0)
        }

        @Test func `show prints a card`() async throws {
            let job = try await made("enqueue", "demo.noop", "--tag", "a")
            let run = try await errand("job", "show", job["id"].id)
            run.expect(0)
            #expect(run.lines.contains { $0.hasPrefix("kind ") && $0.hasSuffix(" demo.noop") })
            #expect(run.lines.contains { $0.hasPrefix("tags ") && $0.hasSuffix(" a") })
        }

        @Test func `show tells the whole history`() async throws {
            try await made(
                "schedule", "add", "shop.sync", "@every 10h", "--kind", "demo.fail", "--args",
                #"{"times": 1}"#)
            let id = try await made("schedule", "trigger", "shop.sync")["job"]
            let due = try await show(id)["history"].elements
            #expect(due.map { $0["event"] } == ["created", "due"])
            #expect(due[0]["text"].text?.hasPrefix("by schedule shop.sync, for 2") == true)
            #expect(try await made("work", "--drain")["retried"] == 1)
            try await made("job", "run-now", id.id)
            try await eventually("its second attempt") {
                try await made("work", "--drain")["completed"] == 1
            }
            // What the scheduler writes of the occurrence comes a moment later.
            let history = try await show(id)["history"].elements.filter {
                $0["event"] != "occurrence"
            }
            #expect(history.map { $0["event"] } == ["created", "failed", "started", "completed"])
            #expect(history.map { $0["attempt"] } == [nil, 1, 2, 2])
            #expect(history[1]["text"].text?.contains("failed on purpose") == true)
            #expect(history[1]["worker"] != nil)
            #expect(try #require(history[1]["run_time"].number) >= 0)
            #expect(history[1]["worker"] != history[3]["worker"])
            #expect(try #require(history[3]["run_time"].number) >= 0)
            let card = try await errand("job", "show", id.id)
            #expect(card.lines.contains("history"))
            #expect(card.lines.contains { $0.contains(" failed ") && $0.contains("on purpose") })
            let dead = try await show(dead())
            let end = dead["history"].elements
            #expect(end.map { $0["event"] } == ["created", "failed", "dead"])
            #expect(end[1]["run_time"] != nil)
            #expect(end[2]["text"] == dead["reason"])
        }

        @Test func `show of a job that is not there`() async throws {
            try await errand("job", "show", "99999")
                .expect(3, "there is no job 99999", "'errand job ls'")
            for id in ["0", "x", "-1", "99999999999999999999"] {
                try await errand("job", "show", "--", id).expect(2, "ID '\(id)': expected")
            }
            try await errand("job", "show").expect(2, "needs ID", "usage: errand job show")
        }

        // MARK: ls

        @Test func `ls filters by queue, kind, tag and state`() async throws {
            let dead = try await dead()
            let mail = try await made("enqueue", "demo.noop", "--queue", "mail", "--tag", "x,y")
            let later = try await made("enqueue", "demo.sleep", #"{"ms": 1}"#, "--in", "1h")
            func ids(_ filters: String...) async throws -> [JSON] {
                let run = try await errand(["job", "ls", "-ojson"] + filters)
                run.expect(0)
                return try run.records.map { $0["id"] }
            }
            #expect(try await ids() == [later["id"], mail["id"], dead])
            #expect(try await ids("--queue", "mail") == [mail["id"]])
            #expect(try await ids("--kind", "demo.sleep") == [later["id"]])
            #expect(try await ids("--tag", "y") == [mail["id"]])
            #expect(try await ids("--tag", "t") == [dead])
            #expect(try await ids("--state", "dead") == [dead])
            #expect(try await ids("--state", "dead,scheduled") == [later["id"], dead])
            #expect(try await ids("--state", "available", "--queue", "mail") == [mail["id"]])
            #expect(try await ids("--limit", "1", "--before", later["id"].id) == [mail["id"]])
            #expect(try await ids("--kind", "demo.exit") == [])
        }

        @Test func `ls says how to see more, or that there is nothing`() async throws {
            try await errand("job", "ls").expect(0, "no jobs match")
            try await made("enqueue", "demo.noop", "--count", "3")
            let run = try await errand("job", "ls", "--limit", "2")
            run.expect(0, "more: errand job ls --limit 2 --cursor ")
            #expect(run.lines[0].contains("ID  KIND"))
            #expect(run.lines.count == 4)
            let quiet = try await errand("job", "ls", "--limit", "2", "--quiet")
            #expect(quiet.errors.isEmpty)
        }

        @Test func `ls refuses filters that cannot match`() async throws {
            try await errand("job", "ls", "--queue", "defualt")
                .expect(3, "there is no queue defualt", "did you mean default?")
            try await errand("job", "ls", "--state", "done").expect(2, "expected scheduled")
            try await errand("job", "ls", "--limit", "0").expect(2, "from 1 to 100000")
        }

        // MARK: retry

        @Test func `retry gives a dead job all its attempts again`() async throws {
            let id = try await dead()
            let run = try await errand("job", "retry", id.id, "-ojson")
            run.expect(0)
            #expect(try run.record["result"] == "retried")
            let job = try await show(id)
            #expect(job["state"] == "available")
            #expect(job["attempt"] == 0)
            #expect(job["errors"].elements.count == 1)
            #expect(try await made("work", "--drain")["dead"] == 1)
            #expect(try await show(id)["errors"].elements.count == 2)
        }

        @Test func `retry runs a finished job again, and a waiting one now`() async throws {
            let done = try await made("enqueue", "demo.noop")
            #expect(try await made("work", "--drain")["completed"] == 1)
            let later = try await made("enqueue", "demo.noop", "--in", "1h")
            let run = try await errand("job", "retry", done["id"].id, later["id"].id)
            run.expect(0)
            #expect(run.lines.count { $0.contains("retried") } == 2)
            #expect(try await made("work", "--drain")["completed"] == 2)
        }

        @Test func `retry and cancel of what cannot be`() async throws {
            let (id, worker) = try await running()
            try await errand("job", "retry", id.id)
                .expect(4, "job \(id.id): it is running", "'errand job show ID'")
            worker.signal(SIGTERM)
            try await finish(worker).expect(0)
            for verb in ["retry", "cancel"] {
                let unknown = try await errand("job", verb, "99999")
                unknown.expect(3, "job 99999: there is no such job", "'errand job ls'")
                try await errand("job", verb, "99998", "99999", "-ojson")
                    .expect(3, "2 of 2 jobs were not changed", "\"code\":\"not_found\"")
                try await errand("job", verb).expect(2, "no jobs are selected")
                try await errand("job", verb, "1", "x").expect(2, "ID 'x': expected")
                let mixed = try await errand("job", verb, id.id, "99999")
                mixed.expect(7, "job 99999: there is no such job")
                #expect(mixed.output.contains(id.id))
            }
        }

        // MARK: cancel

        @Test func `cancel ends a waiting job, once`() async throws {
            let job = try await made("enqueue", "demo.noop", "--tag", "kept")
            #expect(try await made("job", "cancel", job["id"].id)["result"] == "cancelled")
            let ended = try await show(job["id"])
            #expect(ended["state"] == "cancelled")
            #expect(ended["reason"] == "cancelled by tester")
            #expect(ended["tags"] == ["kept"])
            #expect(try await made("work", "--drain")["completed"] == 0)
            try await errand("job", "cancel", job["id"].id)
                .expect(4, "job \(job["id"].id): it has already finished")
        }

        @Test func `cancel reaches a running job through its worker`() async throws {
            let (id, worker) = try await running()
            #expect(try await made("job", "cancel", id.id)["result"] == "cancel requested")
            try await eventually("the job's end") {
                try await number("SELECT count(*) FROM errand.finished_jobs") == 1
            }
            #expect(try await show(id)["state"] == "cancelled")
            #expect(worker.isRunning)
            worker.signal(SIGTERM)
            try await finish(worker).expect(0)
        }
    }
}
