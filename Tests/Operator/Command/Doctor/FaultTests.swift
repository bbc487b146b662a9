import Foundation
import Glibc
import ErrandPostgres
import ErrandTestServices
import Testing

extension CommandLine {
    /// Faults of workers and jobs: each is planted, named, and mended with the line that is
    /// printed.
    @Suite("Planted faults of workers and jobs") struct FaultTests {
        @Test func `a dead worker`() async throws {
            let worker = try await signedOn("--lease", "1s")
            worker.signal(SIGKILL)
            _ = try await worker.end(within: .seconds(30))
            let job = try await made("enqueue", "demo.noop")["id"]
            let words = "default has due jobs and no live worker"
            let named = try await planted(words)
            #expect(named.remedy == "errand work --queues default")
            // The one that died is told too.
            _ = try await planted("(\(ProcessInfo.processInfo.hostName), pid \(worker.id))")
            let fault = try await planted(words, by: ["status", "--check"])
            try await fault.mend(until: "the job to run, and nothing to be amiss") {
                guard try await state(of: job) == "completed" else { return false }
                guard try await ErrandCommandTests.fault(words) == nil else { return false }
                return try await ErrandCommandTests.fault("pid \(worker.id)") == nil
            }
        }

        @Test func `a paused queue`() async throws {
            let worker = try await signedOn()
            try await made("queue", "pause", "default", "--reason", "rent day")
            let job = try await made("enqueue", "demo.noop")["id"]
            let fault = try await fault(of: job, cause: "queue_paused")
            #expect(fault.found.contains("was paused by tester"))
            try await fault.mend()
            try await completed(job)
            try await stop(worker)
        }

        @Test func `a kind that nobody knows`() async throws {
            let worker = try await signedOn()
            let ghost = try await made("enqueue", "demo.ghost", "--allow-unknown-kind")["id"]
            let job = try await made("enqueue", "demo.noop")["id"]
            _ = try await ErrandCommandTests.fault(of: ghost, cause: "kind_unknown")
            let words = "no live worker of queue default knows the kind demo.ghost"
            let fault = try await planted(words)
            #expect(fault.found.contains("a due job waits for one"))
            try await fault.confirm()
            #expect(try await state(of: ghost) == "cancelled")
            #expect(try await ErrandCommandTests.fault(words) == nil)
            try await completed(job)
            try await stop(worker)
        }

        @Test func `a job that kills its workers`() async throws {
            let poison = try await made("enqueue", "demo.exit")["id"]
            for _ in 1...2 {
                let victim = try start(
                    ["work", "--lease", "1s"], environment: ["ERRAND_DEMO_EXIT": "1"])
                #expect(try await victim.end(within: .seconds(60)) == .exited(70))
            }
            // Frees it, and does not run it.
            let worker = try await signedOn("--queues", "other")
            let fault = try await planted(
                "job \(poison.id) (demo.exit, queue default) has killed its worker 2 times")
            try await fault.mend()
            #expect(try await state(of: poison) == "cancelled")
            #expect(try await ErrandCommandTests.fault("has killed its worker") == nil)
            let job = try await made("enqueue", "demo.noop")["id"]
            let next = try await signedOn()
            try await completed(job)
            try await stop(next)
            try await stop(worker)
        }

        @Test func `a job that was parked after the third death of a worker`() async throws {
            let poison = try await made("enqueue", "demo.exit", "--max-attempts", "50")["id"]
            for _ in 1...3 {
                let victim = try start(
                    ["work", "--lease", "1s"], environment: ["ERRAND_DEMO_EXIT": "1"])
                #expect(try await victim.end(within: .seconds(60)) == .exited(70))
            }
            // Frees it, and does not run it.
            let worker = try await signedOn("--queues", "other")
            let dead = try await ErrandCommandTests.fault(of: poison, cause: "dead")
            #expect(dead.found.contains("after attempt 3 of 50: poison: three workers died"))
            #expect(dead.remedy.hasPrefix("errand job retry \(poison.id)"))
            let fault = try await planted(
                "job \(poison.id) (demo.exit, queue default) has killed its worker 3 times, and is "
                    + "a dead letter now")
            #expect(fault.remedy.hasPrefix("errand dead discard \(poison.id) "))
            let letter = try await errand("dead", "show", "\(poison.id)")
            #expect(letter.output.contains("poison: three workers died"), "\(letter.output)")
            // No worker runs it again, and others go on.
            let next = try await signedOn(environment: ["ERRAND_DEMO_EXIT": "1"])
            try await completed(try await made("enqueue", "demo.noop")["id"])
            #expect(try await state(of: poison) == "dead")
            try await fault.confirm()
            #expect(try await ErrandCommandTests.fault("has killed its worker") == nil)
            try await stop(next)
            try await stop(worker)
        }

        @Test func `a job that would kill workers, where they may not be killed`() async throws {
            let poison = try await made("enqueue", "demo.exit")["id"]
            try await errand("work", "--drain").expect(0)
            #expect(try await state(of: poison) == "dead")
            let letter = try await errand("dead", "show", "\(poison.id)")
            #expect(letter.output.contains("stops only workers with ERRAND_DEMO_EXIT=1"))
        }

        @Test func `a claim that is stuck`() async throws {
            let job = try await made("enqueue", "demo.sleep", #"{"ms": 600000}"#)["id"]
            let worker = try await signedOn("--lease", "1s")
            try await eventually("the job to run") { try await state(of: job) == "running" }
            worker.signal(SIGKILL)
            _ = try await worker.end(within: .seconds(30))
            let held = try await planted("and holds job \(job.id)")
            #expect(held.remedy == "errand work")
            try await change("DELETE FROM errand.workers")
            let words = "which is no longer registered"
            let fault = try await planted(words)
            #expect(fault.found.hasPrefix("job \(job.id) (demo.sleep) was claimed "))
            #expect(
                try await ErrandCommandTests.fault(of: job, cause: "worker_gone").remedy
                    == fault.remedy)
            // Whoever leads reads the whole table for such claims, so it does not do so at once.
            try await fault.mend(within: .seconds(120), until: "the job to run again") {
                let runs = try await number(
                    "SELECT count(*) FROM errand.jobs WHERE claimed_by IS NOT NULL AND attempt = 2")
                guard runs == 1 else { return false }
                return try await ErrandCommandTests.fault(words) == nil
            }
        }

        @Test func `dead letters that grow`() async throws {
            // A table that is away for a while, as another team's would be.
            try await change("ALTER TABLE errand.demo_ledger RENAME TO ledger_away")
            let first = try await made("enqueue", "demo.ledger", "--max-attempts", "1")["id"]
            try await made(
                "enqueue", "demo.ledger", "--max-attempts", "1", "--count", "29")
            #expect(try await made("work", "--drain")["dead"] == 30)
            let words = "30 jobs died within the last hour"
            _ = try await planted(words, by: ["status", "--check"])
            let fault = try await planted(words)
            #expect(fault.found.contains("30 of them of demo.ledger: relation "))
            try await change("ALTER TABLE errand.ledger_away RENAME TO demo_ledger")
            let worker = try await signedOn()
            try await fault.mend()
            #expect(try await ErrandCommandTests.fault("died within the last hour") == nil)
            try await completed(first)
            try await eventually("all of them to be done") {
                try await number("SELECT count(*) FROM errand.demo_ledger") == 30
            }
            try await stop(worker)
        }
    }
}
