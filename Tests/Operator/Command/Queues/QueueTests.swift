import Foundation
import Glibc
import ErrandTestServices
import Testing

extension JobCommands {
    @Suite("errand queue, worker, status") struct QueueTests {
        @Test func `queue ls counts what waits where`() async throws {
            try await made("enqueue", "demo.noop", "--count", "3")
            try await made("enqueue", "demo.noop", "--in", "1h")
            try await made("enqueue", "demo.noop", "--queue", "mail")
            let run = try await errand("queue", "ls", "-ojson")
            run.expect(0)
            let queues = try run.records
            #expect(queues.map { $0["queue"] } == ["default", "mail"])
            #expect(queues[0]["available"] == 3)
            #expect(queues[0]["scheduled"] == 1)
            #expect(queues[0]["oldest"].text?.hasSuffix("Z") == true)
            #expect(queues[1]["available"] == 1)
            for name in ["running", "retrying", "dead", "workers"] {
                #expect(queues[0][name] == 0)
            }
            let table = try await errand("queue", "ls")
            #expect(table.lines[0].hasPrefix("QUEUE"))
            #expect(table.lines[2].hasPrefix("mail "))
        }

        @Test func `pause says by whom and why, and resume forgets it`() async throws {
            let paused = try await made("queue", "pause", "default", "--reason", "rent day")
            #expect(paused["paused_by"] == "tester")
            #expect(paused["pause_reason"] == "rent day")
            #expect(paused["paused_at"].text?.hasSuffix("Z") == true)
            let shown = try await errand("queue", "show", "default")
            shown.expect(0)
            #expect(shown.output.contains("by tester at "))
            let resumed = try await made("queue", "resume", "default")
            #expect(resumed["paused_at"] == nil)
            // Neither is a mistake the second time.
            try await errand("queue", "resume", "default").expect(0)
            try await made("queue", "pause", "default")
            try await made("queue", "pause", "default")
        }

        @Test(arguments: ["show", "pause", "resume"])
        func `a queue that is not there`(verb: String) async throws {
            try await errand("queue", verb, "defalt")
                .expect(3, "there is no queue defalt", "did you mean default?")
            let json = try await errand("queue", verb, "xyz", "-ojson")
            json.expect(3)
            #expect(try json.failure["hint"] == "queues: default")
            try await errand("queue", verb).expect(2, "needs NAME", "usage: errand queue \(verb)")
        }

        @Test func `worker ls and status show who works`() async throws {
            try await errand("worker", "ls").expect(0, "no worker is running: start one")
            let idle = try await errand("status")
            idle.expect(0)
            #expect(idle.output.contains("0 alive, 0 unresponsive: start one with 'errand work'"))
            let worker = try start(["work", "--queues", "default:3,mail:2:5"])
            try await eventually("the worker to sign on") {
                try await number("SELECT count(*) FROM errand.workers") == 1
            }
            let run = try await errand("worker", "ls", "-ojson")
            run.expect(0)
            let record = try run.record
            #expect(record["pid"].id == "\(worker.id)")
            #expect(record["state"] == "alive")
            #expect(record["queues"].elements.map { $0["queue"] } == ["default", "mail"])
            #expect(record["kinds"].elements.contains("demo.noop@1"))
            #expect(record["version"].text?.isEmpty == false)
            let status = try await made("status")
            #expect(status["workers"] == 1)
            #expect(status["unresponsive_workers"] == 0)
            #expect(status["queues"].elements.map { $0["workers"] } == [1, 1])
            #expect(status["queues"].elements.map { $0["slots"] } == [3, 2])
            worker.signal(SIGTERM)
            try await finish(worker).expect(0)
        }

        @Test func `a worker that was killed is shown as unresponsive`() async throws {
            let worker = try start(["work", "--lease", "500ms"])
            try await eventually("the worker to sign on") {
                try await number("SELECT count(*) FROM errand.workers") == 1
            }
            worker.signal(SIGKILL)
            try await eventually("it to be missed") {
                try await made("status")["unresponsive_workers"] == 1
            }
            let run = try await errand("worker", "ls")
            #expect(run.lines[1].contains("unresponsive"))
        }

        @Test func `rates, waits and slots`() async throws {
            try await made("enqueue", "demo.noop", "--count", "30")
            try await made("work", "--drain")
            try await made("enqueue", "demo.noop", "--count", "30")
            let queue = try await made("queue", "show", "default")
            #expect(queue["rate_in"] == 1 && queue["rate_in_estimated"] == false)
            #expect(queue["rate_out"].number ?? 0 > 0)
            #expect(queue["p95_wait"].number ?? 0 > 0)
            #expect(queue["slots"] == 0 && queue["busy"] == 0 && queue["free"] == 0)
            #expect(queue["dead_estimated"] == false)
            let table = try await errand("queue", "ls")
            #expect(table.lines[0].hasSuffix("DRAIN"))
        }

        @Test func `many waiting are estimated, unless exactly counted`() async throws {
            try await change(
                """
                INSERT INTO errand.jobs (queue, kind, run_at)
                SELECT 'default', 'demo.noop', now() + CASE WHEN n % 4 = 0 THEN interval '1 hour'
                    ELSE interval '0' END
                FROM generate_series(1, 60000) AS n;
                UPDATE errand.jobs SET run_at = '2026-01-01' WHERE id = 31
                """)
            let queue = try await made("queue", "ls")
            #expect(queue["estimated"] == true)
            #expect(queue["oldest"] == "2026-01-01T00:00:00.000000Z")
            let (due, later) = (queue["available"].number ?? 0, queue["scheduled"].number ?? 0)
            #expect(due > 22_500 && due < 90_000)
            #expect(later > 7_500 && later < 30_000)
            #expect(try await errand("queue", "ls").lines[1].contains(" ~"))
            for verb in [["ls"], ["show", "default"]] {
                let run = try await errand(["queue"] + verb + ["--exact", "-ojson"])
                let exact = try run.record
                #expect(exact["estimated"] == false)
                #expect(exact["available"] == 45_000 && exact["scheduled"] == 15_000)
            }
        }

        @Test func `the oldest is one that nobody holds`() async throws {
            try await change(
                """
                INSERT INTO errand.jobs (queue, kind, priority, run_at, claimed_by, attempt) VALUES
                    ('default', 'demo.noop', 2, '2026-01-01', 7, 1),
                    ('default', 'demo.noop', 2, '2026-01-02', NULL, 1),
                    ('default', 'other.kind', 0, '2026-01-03', NULL, 0),
                    ('default', 'other.kind', 3, now() + interval '1 day', NULL, 0)
                """)
            let queue = try await made("queue", "ls")
            #expect(queue["oldest"] == "2026-01-02T00:00:00.000000Z")
            #expect(queue["running"] == 1 && queue["retrying"] == 1)
        }

        /// On a terminal of 80 columns no line is longer, whatever stands in the flexible ones.
        @Test(arguments: [
            ["job", "ls"], ["queue", "ls"], ["status"], ["kind", "ls"], ["worker", "ls"],
            ["doctor"],
            ["migrate", "status"],
        ])
        func `tables fit the terminal`(arguments: [String]) async throws {
            let long = String(repeating: "wide ", count: 60)
            try await made("enqueue", "demo.noop", "{\"text\": \"\(long)\"}")
            try await made("queue", "pause", "default", "--reason", long)
            let worker = try start(["work"])
            try await eventually("the worker to sign on") {
                try await number("SELECT count(*) FROM errand.workers") == 1
            }
            let command = ([Program.errand] + arguments).joined(separator: " ")
            let program = try start(
                [], environment: ["COLUMNS": "80", "NO_COLOR": "1"],
                through: ["/usr/bin/script", "-qec", command, "/dev/null"])
            let run = try await finish(program, arguments)
            run.expect(0)
            let lines = run.output.split(whereSeparator: \.isNewline)
            #expect(lines.count > 1)
            for line in lines { #expect(line.count <= 80, "\(line)") }
            worker.signal(SIGTERM)
            try await finish(worker).expect(0)
        }
    }
}
