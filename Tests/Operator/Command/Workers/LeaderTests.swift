import Glibc
import ErrandTestServices
import Testing

extension CommandLine {
    @Suite("errand leader") struct LeaderTests {
        private func leader(_ lead: String) async throws -> JSON {
            try await made("leader", "show", lead)
        }

        private func leads(_ worker: JSON) async throws -> Bool {
            let all = try await errand("leader", "show", "-ojson").records
            return all.allSatisfy { $0["worker"] == worker }
        }

        private func worker() async throws -> (program: Program, id: JSON) {
            let program = try start(["work"])
            let known = "SELECT count(*) FROM errand.workers WHERE pid = \(program.id)"
            try await eventually("the worker to sign on") { try await number(known) == 1 }
            let id = try await number("SELECT id FROM errand.workers WHERE pid = \(program.id)")
            return (program, .number(Double(id)))
        }

        @Test func `nobody leads, then one does, then the other after it resigned`()
            async throws
        {
            let none = try await errand("leader", "show", "-ojson")
            none.expect(0)
            #expect(try none.records.map { $0["role"] } == ["feeder", "scheduler"])
            #expect(try none.records.allSatisfy { $0["state"] == "none" })
            try await errand("leader", "resign").expect(4, "no process is the feeder now")
            let (first, firstId) = try await worker()
            try await eventually("it to lead") {
                try await leads(firstId)
            }
            let (second, secondId) = try await worker()
            try await eventually("the other to stand by") {
                let all = try await errand("leader", "show", "-ojson").records
                return all.allSatisfy { $0["standbys"] == .array([.text(secondId.id)]) }
            }
            let shown = try await leader("feeder")
            #expect(shown["state"] == "active")
            #expect(shown["pid"].id == "\(first.id)")
            #expect(shown["taken_at"].text?.hasSuffix("Z") == true)
            let table = try await errand("leader", "show")
            #expect(table.lines[0].hasPrefix("ROLE"))
            #expect(table.lines[1].hasPrefix("feeder"))
            let moved = try await made("leader", "resign", "feeder", "--reason", "busy host")
            #expect(moved["worker"] == secondId)
            #expect(try await leader("scheduler")["worker"] == firstId)
            // What is enqueued in SQL alone needs the new feeder.
            let id = try await number("SELECT errand.enqueue('demo.noop', '{}')")
            try await eventually("the job to be done") {
                try await made("job", "show", "\(id)")["state"] == "completed"
            }
            let audit = try await made("audit", "ls", "--action", "leader")
            #expect(audit["action"] == "leader resign")
            #expect(audit["subject"] == "feeder")
            #expect(audit["reason"] == "busy host")
            #expect(audit["change"]["worker"] == firstId)
            for program in [first, second] {
                program.signal(SIGTERM)
                try await finish(program).expect(0)
            }
        }

        @Test func `without a standby it leads again`() async throws {
            let (program, id) = try await worker()
            try await eventually("it to lead") {
                try await leader("scheduler")["worker"] == id
            }
            let again = try await made("leader", "resign", "scheduler")
            #expect(again["worker"] == id)
            program.signal(SIGTERM)
            try await finish(program).expect(0, "stepping down as scheduler")
        }

        @Test func `one that hangs is not waited for without end, bad input`() async throws {
            let (program, id) = try await worker()
            try await eventually("it to lead") { try await leader("feeder")["worker"] == id }
            program.signal(SIGSTOP)
            try await errand("leader", "resign", "feeder", "--timeout", "200ms")
                .expect(8, "the feeder has not stepped down")
            program.signal(SIGKILL)
            try await errand("leader", "show", "dutys").expect(2, "expected feeder or scheduler")
            try await errand("leader", "resign", "--timeout", "9").expect(2, "a duration")
        }
    }
}
