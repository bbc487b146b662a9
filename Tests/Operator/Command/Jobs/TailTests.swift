import Glibc
import ErrandTestServices
import Testing

extension JobCommands {
    @Suite("errand job tail") struct TailTests {
        private func tail(_ arguments: String...) async throws -> Program {
            let program = try start(["job", "tail"] + arguments)
            try await eventually("it to look") { program.errors.contains("waiting for jobs") }
            return program
        }

        @Test func `tail prints jobs as they end, each once`() async throws {
            try await made("enqueue", "demo.noop", "--count", "3")
            #expect(try await made("work", "--drain")["completed"] == 3)
            let all = try await tail("-ojson")
            let mails = try await tail("--queue", "default", "--kind", "demo.fail")
            let done = try await made("enqueue", "demo.noop", "--count", "3000")
            #expect(done["enqueued"] == 3000)
            #expect(try await made("work", "--drain")["completed"] == 3000)
            let cancelled = try await made("enqueue", "demo.noop", "--in", "1h")["id"]
            try await made("job", "cancel", cancelled.id)
            let dead = try await made(
                "enqueue", "demo.fail", #"{"times": 1}"#, "--max-attempts", "1")["id"]
            #expect(try await made("work", "--drain")["dead"] == 1)
            try await eventually("all to be printed") {
                mails.output.contains("  \(dead.id)  demo.fail  default")
                    && all.output.contains(#""state":"dead""#)
            }
            for program in [all, mails] { program.signal(SIGINT) }
            let run = try await finish(all)
            run.expect(0)
            let records = try run.records
            #expect(records.count == 3002)
            #expect(Set(records.map { $0["id"].id }).count == 3002)
            #expect(records.suffix(2).map { $0["state"] } == ["cancelled", "dead"])
            let table = try await finish(mails)
            table.expect(0)
            #expect(table.lines.count == 2)
            #expect(table.lines[0].contains("dead"))
        }

        @Test func `what jobs say does not reach the terminal as commands`() async throws {
            let job = try await made("enqueue", "demo.noop", "--in", "1h")["id"]
            let program = try await tail()
            try await made("job", "cancel", job.id, "--reason", "\u{1B}[31mred")
            try await eventually("it to be printed") { program.output.contains("red") }
            program.signal(SIGINT)
            let run = try await finish(program)
            run.expect(0)
            #expect(run.output.contains("\u{241B}[31mred"))
            #expect(!run.output.contains("\u{1B}"))
            // Files of CSV are shown on a terminal later.
            let csv = ["job", "ls", "--columns", "reason", "-ocsv"]
            #expect(try await errand(csv).output.contains("\u{241B}[31mred"))
            let shown = try await onTerminal(csv[0], csv[1], csv[2], csv[3], csv[4], steps: [])
            #expect(shown.code == 0)
            #expect(shown.output.contains("\u{241B}[31mred"))
        }

        @Test func `tail refuses what cannot match`() async throws {
            try await errand("job", "tail", "--queue", "defalt")
                .expect(3, "there is no queue defalt", "did you mean default?")
            try await errand("job", "tail", "now").expect(2, "takes no argument")
        }
    }
}
