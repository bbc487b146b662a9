import Glibc
import ErrandPostgres
import ErrandTestServices
import Testing

extension CommandLine {
    @Suite("errand work") struct WorkTests {
        @Test func `--drain works everything off and sums it up`() async throws {
            try await made("enqueue", "demo.noop", "--count", "1000")
            let summary = try await made("work", "--queues", "default", "--drain")
            #expect(
                summary.names == [
                    "completed", "failed", "retried", "dead", "cancelled", "snoozed",
                    "requeued", "fenced_off", "seconds", "jobs_per_second",
                ])
            #expect(summary["completed"] == 1000)
            for name in ["failed", "retried", "dead", "cancelled", "requeued", "fenced_off"] {
                #expect(summary[name] == 0)
            }
            #expect(try #require(summary["seconds"].number) > 0)
            #expect(try #require(summary["jobs_per_second"].number) > 0)
            #expect(try await number("SELECT count(*) FROM errand.jobs") == 0)
            #expect(
                try await number(
                    "SELECT count(*) FROM errand.finished_jobs WHERE outcome = 'completed'")
                    == 1000)
            #expect(try await number("SELECT count(*) FROM errand.workers") == 0)
        }

        @Test func `--drain counts what failed, and leaves what is not due`() async throws {
            try await made("enqueue", "demo.fail", #"{"times": 9}"#, "--max-attempts", "1")
            try await made("enqueue", "demo.noop", "--in", "1h")
            try await made("enqueue", "demo.noop", "--queue", "other")
            try await made("enqueue", "demo.sleep", #"{"minutes": 1}"#)
            let run = try await errand("work", "--drain", "-ojson")
            run.expect(0, "the job is a dead letter: 'errand job show ")
            let summary = try run.record
            #expect(summary["completed"] == 0)
            #expect(summary["dead"] == 2)
            #expect(try await number("SELECT count(*) FROM errand.jobs") == 2)
        }

        @Test func `an empty queue is drained at once`() async throws {
            let run = try await errand("work", "--drain")
            run.expect(0)
            #expect(run.lines.contains { $0.hasPrefix("completed ") && $0.hasSuffix(" 0") })
        }

        @Test func `--drain leaves a paused queue alone`() async throws {
            try await made("enqueue", "demo.noop", "--count", "10")
            try await made("queue", "pause", "default")
            #expect(try await made("work", "--drain")["completed"] == 0)
            try await made("queue", "resume", "default")
            #expect(try await made("work", "--drain")["completed"] == 10)
        }

        @Test func `several queues, from the flag or the environment`() async throws {
            for queue in ["a", "b", "c"] {
                try await made("enqueue", "demo.noop", "--queue", queue, "--count", "5")
            }
            let run = try await errand(
                "work", "--drain", "-ojson", environment: ["ERRAND_QUEUES": "a:4,b:8:2"])
            #expect(try run.record["completed"] == 10)
            let flag = try await errand(
                "work", "--queues", "c", "--drain", "-ojson",
                environment: ["ERRAND_QUEUES": "a:4,b:8:2"])
            #expect(try flag.record["completed"] == 5)
        }

        @Test(arguments: [SIGTERM, SIGINT])
        func `asked to end, it hands back what runs and exits 0`(signal: Int32) async throws {
            let job = try await made("enqueue", "demo.sleep", #"{"ms": 600000}"#)
            let worker = try start(["work", "--grace", "0s"])
            try await eventually("the job to run") {
                try await number("SELECT count(claimed_by) FROM errand.jobs") == 1
            }
            worker.signal(signal)
            let run = try await finish(worker, ["work"])
            run.expect(0, "stopping")
            #expect(run.output.isEmpty)
            let state = try await made("job", "show", job["id"].id)["state"]
            #expect(state == "available" || state == "retrying")
            #expect(try await number("SELECT count(*) FROM errand.workers") == 0)
        }

        @Test func `an idle worker ends when asked to`() async throws {
            let worker = try start(["work"])
            try await eventually("the worker to sign on") {
                try await number("SELECT count(*) FROM errand.workers") == 1
            }
            worker.signal(SIGTERM)
            try await finish(worker, ["work"]).expect(0)
        }

        @Test(
            arguments: [
                ([], ["default": (32, 1)]), (["--concurrency", "5"], ["default": (5, 1)]),
                (["--queues", "default"], ["default": (32, 1)]),
                (["--queues", "a:4:3,b", "--concurrency", "7"], ["a": (4, 3), "b": (7, 1)]),
            ] as [([String], [String: (Int, Int)])])
        func `how many jobs run at once is as was asked`(
            flags: [String], expected: [String: (concurrency: Int, weight: Int)]
        ) async throws {
            let worker = try start(["work"] + flags)
            try await eventually("the worker to sign on") {
                try await number("SELECT count(*) FROM errand.workers") == 1
            }
            let queues = try await made("worker", "ls")["queues"]
            #expect(Set(queues.elements.compactMap { $0["queue"].text }) == Set(expected.keys))
            for (name, queue) in expected {
                let found = queues.elements.first { $0["queue"].text == name }
                #expect(found?["concurrency"].number == Double(queue.concurrency))
                #expect(found?["weight"].number == Double(queue.weight))
            }
            worker.signal(SIGTERM)
            try await finish(worker, ["work"]).expect(0)
        }

        @Test func `a schema that it is ahead of is refused, a newer one is said`() async throws {
            let session = try TestDatabase.here().session()
            try await session.script(
                "INSERT INTO errand.migrations (module, file, checksum) "
                    + "VALUES ('votes', 'tables/900_from_the_future.sql', '0')")
            let newer = try await errand("work", "--drain")
            newer.expect(0, "900_from_the_future", "unknown")
            try await session.script(
                "DELETE FROM errand.migrations WHERE file = 'tables/003_redemptions.sql'")
            try await errand("work", "--drain")
                .expect(5, "coupons lacks tables/003_redemptions.sql", "errand migrate")
        }

        @Test func `its log is one JSON object a line`() async throws {
            let job = try await made(
                "enqueue", "demo.fail", #"{"times": 9}"#, "--max-attempts", "1")
            let run = try await errand("work", "--drain", environment: ["ERRAND_LOG": "debug"])
            run.expect(0)
            let lines = try run.errors.split(separator: "\n").map { line in
                try Run(arguments: [], output: String(line), errors: "", code: 0).record
            }
            #expect(!lines.isEmpty)
            for line in lines { #expect(line.names.isSuperset(of: ["at", "level", "message"])) }
            let failure = try #require(lines.first { $0["job"] != nil })
            #expect(failure["job"] == job["id"])
            #expect(failure["kind"] == "demo.fail")
            #expect(failure["queue"] == "default")
            #expect(failure["attempt"] == 1)
            #expect(failure["level"] == "warning")
        }

        @Test func `options that do not fit`() async throws {
            for (options, text) in [
                (["--queues", "Two Words"], "expected name, name:concurrency or name"),
                (["--queues", "default:0"], "expected name, name:concurrency or name"),
                (["--queues", "default:1:2:3"], "expected name, name:concurrency or name"),
                (["--queues", "default,"], "expected name, name:concurrency or name"),
                (["--queues", "a,b,a"], "--queues names a twice"),
                (["--concurrency", "0"], "expected a whole number from 1 to 4096"),
                (["--grace", "20"], "expected a duration"),
                (["--lease", "1ms"], "from 500ms to 1h"),
                (["--window", "5"], "expected a whole number from 10"),
                (["default"], "takes no argument; unexpected 'default'"),
            ] {
                try await errand(["work", "--drain"] + options).expect(2, "errand: ", text)
            }
        }
    }
}
