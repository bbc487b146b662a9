import Foundation
import Glibc
import TestServices
import Testing

extension CommandLine {
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
            #expect(try json.failure["hint"] == "there are: default")
            try await errand("queue", verb).expect(2, "needs NAME", "usage: errand queue \(verb)")
        }

        @Test func `worker ls and status show who works`() async throws {
            try await errand("worker", "ls").expect(0, "no worker is running: start one")
            let idle = try await errand("status")
            idle.expect(0)
            #expect(idle.lines[0] == "0 workers alive, 0 silent")
            #expect(idle.output.contains("start one with 'errand work'"))
            let worker = try start(["work", "--queues", "default:3,mail:2:5"])
            try await eventually("the worker to sign on") {
                try await number("SELECT count(*) FROM errand.workers") == 1
            }
            let run = try await errand("worker", "ls", "-ojson")
            run.expect(0)
            let record = try run.record
            #expect(record["pid"].id == "\(worker.id)")
            #expect(record["state"] == "alive")
            #expect(record["queues"].names == ["default", "mail"])
            #expect(record["kinds"].elements.contains("demo.noop@1"))
            #expect(record["version"].text?.isEmpty == false)
            let status = try await made("status")
            #expect(status["workers"] == 1)
            #expect(status["silent_workers"] == 0)
            #expect(status["queues"].elements.map { $0["workers"] } == [1, 1])
            worker.signal(SIGTERM)
            try await finish(worker).expect(0)
        }

        @Test func `a worker that was killed is shown as silent`() async throws {
            let worker = try start(["work", "--lease", "500ms"])
            try await eventually("the worker to sign on") {
                try await number("SELECT count(*) FROM errand.workers") == 1
            }
            worker.signal(SIGKILL)
            try await eventually("it to be missed") {
                try await made("status")["silent_workers"] == 1
            }
            let run = try await errand("worker", "ls")
            #expect(run.lines[1].contains("silent"))
        }

        @Test func `status has the queues and the dead`() async throws {
            try await made("enqueue", "demo.fail", #"{"times": 1}"#, "--max-attempts", "1")
            #expect(try await made("work", "--drain")["dead"] == 1)
            let status = try await made("status")
            #expect(status["dead"] == 1)
            #expect(status["queues"].elements.first?["dead"] == 1)
        }

        /// On a terminal of 80 columns no line is longer, whatever stands in the flexible ones.
        @Test(arguments: [
            ["job", "ls"], ["queue", "ls"], ["status"], ["worker", "ls"], ["doctor"],
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
