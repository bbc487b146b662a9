import Glibc
import ErrandTestServices
import Testing

extension CommandLine {
    @Suite("errand worker show, quiet, stop") struct WorkerOrderTests {
        /// A worker that has signed on, with its id.
        private func started(
            _ arguments: String...
        ) async throws -> (program: Program, id: String) {
            let program = try start(["work", "--lease", "5s"] + arguments)
            let known = "SELECT count(*) FROM errand.workers WHERE pid = \(program.id)"
            try await eventually("the worker to sign on") { try await number(known) == 1 }
            let id = try await number("SELECT id FROM errand.workers WHERE pid = \(program.id)")
            return (program, "\(id)")
        }

        private func end(_ programs: Program...) async throws {
            for program in programs {
                program.signal(SIGTERM)
                try await finish(program).expect(0)
            }
        }

        private func claimed(_ worker: String) async throws -> Int {
            try await number("SELECT count(*) FROM errand.jobs WHERE claimed_by = \(worker)")
        }

        @Test func `show tells the queues, what runs and where it leads`() async throws {
            let job = try await made("enqueue", "demo.sleep", #"{"ms": 600000}"#)
            let (worker, id) = try await started("--queues", "default:3,mail", "--grace", "0s")
            try await eventually("the job to run") { try await claimed(id) == 1 }
            try await eventually("it to lead in both") {
                try await made("worker", "show", id)["roles"].elements.count == 2
            }
            let shown = try await made("worker", "show", id)
            #expect(shown["id"].id == id)
            #expect(shown["pid"].id == "\(worker.id)")
            #expect(shown["state"] == "alive")
            #expect(shown["lease"] == 5)
            #expect(shown["roles"] == ["feeder", "scheduler"])
            let queues = shown["queues"].elements
            #expect(queues.map { $0["queue"] } == ["default", "mail"])
            #expect(queues[0]["concurrency"] == 3)
            #expect(queues[0]["busy"] == 1)
            #expect(queues[0]["rate_out"].number != nil)
            let running = shown["running"].elements
            #expect(running.map { $0["id"] } == [job["id"]])
            #expect(running[0]["kind"] == "demo.sleep")
            #expect(running[0]["since"].text?.hasSuffix("Z") == true)
            let table = try await errand("worker", "show", id)
            #expect(table.output.contains("demo.sleep"))
            #expect(table.output.contains("CONCURRENCY"))
            try await end(worker)
        }

        @Test func `quiet hands back what waits, goes on with what runs, and is undone`()
            async throws
        {
            let long = try await made("enqueue", "demo.sleep", #"{"ms": 600000}"#)
            let (worker, id) = try await started("--concurrency", "1", "--grace", "0s")
            try await eventually("the job to run") { try await claimed(id) == 1 }
            let asked = try await made("worker", "quiet", id, "--reason", "looks at it")
            #expect(asked["result"] == "asked to be quiet")
            try await eventually("it to hear") {
                try await made("worker", "show", id)["state"] == "quiet"
            }
            let next = try await made("enqueue", "demo.noop")
            let why = try await made("job", "why", next["id"].id)
            #expect(why["cause"] == "workers_quiet")
            #expect(why["remedy"].text == "errand worker quiet \(id) --undo")
            let late = try await errand("worker", "quiet", id, "--wait", "--timeout", "50ms")
            late.expect(8, "timed out: worker \(id) is not done", "errand worker show \(id)")
            #expect(try await made("worker", "ls")["command_reason"] == nil)
            try await errand("job", "cancel", long["id"].id).expect(0)
            let idle = try await made("worker", "quiet", id, "--wait")
            #expect(idle["state"] == "quiet")
            #expect(idle["busy"] == 0)
            #expect(try await made("job", "show", next["id"].id)["state"] == "available")
            let table = try await errand("worker", "ls")
            #expect(table.lines[1].contains("quiet"))
            let undone = try await made("worker", "quiet", id, "--undo", "--wait")
            #expect(undone["result"] == "claims jobs again")
            try await eventually("the job to be done") {
                try await made("job", "show", next["id"].id)["state"] == "completed"
            }
            let audit = try await errand("audit", "ls", "--action", "worker", "-ojson")
            let lines = try audit.records
            #expect(lines.count == 4)
            #expect(lines.allSatisfy { $0["subject"].text == "worker \(id)" })
            #expect(lines.last?["reason"] == "looks at it")
            #expect(lines.first?["change"]["undo"] == true)
            try await end(worker)
        }

        @Test func `stop ends a worker with nothing left claimed`() async throws {
            try await made("enqueue", "demo.sleep", #"{"ms": 600000}"#)
            let (worker, id) = try await started("--grace", "0s")
            let (other, otherId) = try await started("--grace", "0s")
            try await eventually("the job to run") {
                try await number("SELECT count(claimed_by) FROM errand.jobs") == 1
            }
            try await errand("worker", "quiet", otherId).expect(0)
            let gone = try await made("worker", "stop", id, "--wait", "--reason", "new disk")
            #expect(gone["result"] == "gone")
            let run = try await finish(worker)
            run.expect(0, "stopping, as requested by tester: new disk")
            try await errand("worker", "show", id).expect(3, "there is no worker \(id)")
            // The grace of the other, which may hold the job, would be waited for.
            try await errand("worker", "stop", "--all").expect(5, "stop 1 worker?", "--yes")
            let all = try await errand("worker", "stop", "--all", "-ojson", "--yes")
            all.expect(0)
            #expect(try all.records.map { $0["id"].id } == [otherId])
            try await finish(other).expect(0)
            #expect(try await number("SELECT count(claimed_by) FROM errand.jobs") == 0)
            try await errand("worker", "stop", "--all").expect(3, "no matching worker")
        }

        @Test func `a silent worker, and one that is stopping`() async throws {
            try await change(
                """
                INSERT INTO errand.workers (host, pid, version, lease_seconds, queues, kinds,
                    last_seen_at, stopping)
                VALUES ('gone', 1, '0', 5, '{}', '{}', now() - interval '1 h', false),
                    ('here', 2, '0', 600, '{}', '{}', now(), true)
                """)
            let ids = try await errand("worker", "ls", "-ojson").records.map { $0["id"].id }
            for verb in ["quiet", "stop"] {
                try await errand("worker", verb, ids[0]).expect(
                    4, "worker \(ids[0]) (gone, pid 1) is unresponsive", "recovers its jobs")
            }
            try await errand("worker", "quiet", ids[1]).expect(4, "is stopping")
            // By host, only those that are alive are meant.
            try await errand("worker", "stop", "--host", "gone")
                .expect(3, "unresponsive, so not asked")
            for verb in ["stop", "quiet"] {
                for whom in [["--host", "here"], ["--all"]] {
                    try await errand(["worker", verb] + whom)
                        .expect(0, "already stopping, so not asked: 1 (worker \(ids[1]))")
                }
            }
            #expect(try await number("SELECT count(command) FROM errand.workers") == 0)
            try await errand("worker", "quiet", ids[1], "--undo").expect(4, "is stopping")
            try await errand("worker", "stop", ids[1], "--wait", "--timeout", "50ms").expect(8)
        }

        @Test func `bad input`() async throws {
            for verb in ["show", "quiet", "stop"] {
                try await errand("worker", verb, "77").expect(3, "there is no worker 77")
                try await errand("worker", verb, "x").expect(2, "ID 'x': expected")
            }
            try await errand("worker", "show").expect(2, "needs ID")
            try await errand("worker", "stop").expect(2, "select workers by ids")
            try await errand("worker", "stop", "1", "--all").expect(2, "select workers by")
            try await errand("worker", "quiet", "--timeout", "5", "1").expect(2, "a duration")
        }
    }
}
