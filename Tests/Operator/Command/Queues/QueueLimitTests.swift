import Glibc
import ErrandTestServices
import Testing

extension JobCommands {
    @Suite("errand queue limit") struct QueueLimitTests {
        @Test func `it is set, shown, named by why, changed and taken away`() async throws {
            let before = try await errand("queue", "ls")
            #expect(!before.lines[0].contains("LIMIT"))
            let set = try await made(
                "queue", "limit", "default", "--running", "1", "--reason", "their server")
            #expect(set["limit_running"] == 1)
            #expect(set["limit_in_use"] == 0)
            #expect(set["limit_set_by"] == "tester")
            let long = try await made("enqueue", "demo.sleep", #"{"ms": 600000}"#)
            let worker = try start(["work", "--grace", "0s"])
            try await eventually("the job to run") {
                try await number("SELECT count(claimed_by) FROM errand.jobs") == 1
            }
            let next = try await made("enqueue", "demo.noop")
            let why = try await made("job", "why", next["id"].id)
            #expect(why["cause"] == "queue_limit")
            #expect(
                why["explanation"].text?.hasPrefix("its queue default runs 1 of at most 1") == true)
            let table = try await errand("queue", "ls")
            #expect(table.lines[0].contains("LIMIT"))
            #expect(table.lines[1].contains("1 of 1"))
            let more = try await made("queue", "limit", "default", "--rate", "600/m")
            #expect(more["limit"] == "1 of 1, 600/m")
            #expect(try await made("queue", "show", "default")["limit_reason"] == .null)
            #expect(try await made("job", "show", next["id"].id)["state"] == "available")
            #expect(try await made("queue", "limit", "default", "--none")["limit"] == .null)
            try await eventually("the next to be done") {
                try await made("job", "show", next["id"].id)["state"] == "completed"
            }
            let audit = try await errand("audit", "ls", "--action", "queue limit", "-ojson")
            #expect(try audit.records.count == 3)
            #expect(try audit.records.last?["change"]["running"] == 1)
            #expect(try audit.records.last?["reason"] == "their server")
            try await errand("job", "cancel", long["id"].id).expect(0)
            worker.signal(SIGTERM)
            try await finish(worker).expect(0)
        }

        @Test func `a killed worker's slot comes back with its rescue, and not before`()
            async throws
        {
            try await made("queue", "limit", "default", "--running", "1")
            try await made("enqueue", "demo.sleep", #"{"ms": 600000}"#, "--count", "2")
            let first = try start(["work", "--lease", "1s"])
            let claimed = "SELECT count(claimed_by) FROM errand.jobs"
            try await eventually("one to run") { try await number(claimed) == 1 }
            let holder = try await number("SELECT max(claimed_by) FROM errand.jobs")
            first.signal(SIGKILL)
            let second = try start(["work", "--lease", "1s", "--grace", "0s"])
            try await eventually("the other worker to run one") {
                let now = try await number(claimed)
                #expect(now <= 1)
                return try await number(
                    "SELECT count(*) FROM errand.jobs WHERE claimed_by <> \(holder)") == 1
            }
            #expect(try await number(claimed) == 1)
            second.signal(SIGTERM)
            try await finish(second).expect(0)
            #expect(try await made("queue", "show", "default")["limit_in_use"] == 0)
        }

        @Test func `bad input`() async throws {
            try await errand("queue", "limit", "defalt", "--running", "1")
                .expect(3, "there is no queue defalt", "did you mean default?")
            try await errand("queue", "limit", "default").expect(2, "pass --running, --rate")
            try await errand("queue", "limit", "default", "--none", "--rate", "1/s")
                .expect(2, "pass --running, --rate")
            for rate in ["5", "0/s", "x/s", "5/d", "/s"] {
                try await errand("queue", "limit", "default", "--rate", rate)
                    .expect(2, "a rate such as 100/s")
            }
            try await errand("queue", "limit", "default", "--running", "0").expect(2)
            try await errand("queue", "limit").expect(2, "needs NAME")
        }
    }
}
