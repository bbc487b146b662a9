import Foundation
import Glibc
import ErrandPostgres
import ErrandTestServices
import Testing

/// The tests that crash things under the engine: one after the other, because they share what they
/// crash.
@Suite("Crashes", .serialized, .crashing(.engine)) enum CrashTests {}

/// The same under what the apps need, beside them on servers of their own.
@Suite("Crashes under the apps", .serialized, .crashing(.apps)) enum AppCrashTests {}

/// The same with servers that take over from others, and networks that part, on servers of their
/// own.
@Suite("Failover", .serialized, .crashing(.failover)) enum FailoverTests {}

extension CrashTests {
    /// Workers that die, hang, or are asked to end.
    @Suite("Workers") struct WorkerFaultTests {
        static let load = 10_000

        @Test(.timeLimit(.minutes(3)))
        func `rule 3, 7: workers killed at random do each job exactly once`() async throws {
            let ground = try CrashGround.here()
            try await ground.done("enqueue", "demo.ledger", "--count", "\(Self.load)")
            var workers = try (0..<3).map { _ in try ground.worker() }
            for step in 1...10 {
                try await ground.progress(to: step * Self.load / 14)
                let victim = Int.random(in: 0..<3)
                workers[victim].signal(SIGKILL)
                #expect(try await workers[victim].end(within: .seconds(5)) == .killed(by: SIGKILL))
                workers[victim] = try ground.worker()
            }
            try await ground.allDone()
            try await ground.expectExactlyOnce(Self.load)
            try await eventually("the dead workers to be forgotten") {
                try await ground.number("SELECT count(*) FROM errand.workers") == 3
            }
            for worker in workers { try await ground.expectCleanStop(worker) }
        }

        @Test(.timeLimit(.minutes(3)))
        func `rule 11: SIGTERM under load ends with 0 and leaves nothing claimed`() async throws {
            let ground = try CrashGround.here()
            try await ground.done("enqueue", "demo.ledger", "--count", "\(Self.load)")
            let worker = try ground.worker()
            try await ground.progress(to: 2_000)
            try await ground.expectCleanStop(worker)
            let rows = try await ground.session.query(
                """
                SELECT count(*), count(claimed_by), coalesce(max(attempt), 0),
                    (SELECT count(*) FROM errand.demo_ledger),
                    (SELECT count(*) FROM errand.workers)
                FROM errand.jobs
                """)
            #expect(try rows.int64(0, 0) > 0, "the load was done before the signal")
            #expect(try rows.int64(0, 1) == 0)
            // What had not started has used no attempt.
            #expect(try rows.int16(0, 2) == 0)
            let (left, done) = try (rows.int64(0, 0), rows.int64(0, 3))
            #expect(left + done == Int64(Self.load))
            #expect(try rows.int64(0, 4) == 0)
        }

        @Test(.timeLimit(.minutes(3)))
        func `rule 11: SIGTERM gives a running job its grace, then hands it back`() async throws {
            let ground = try CrashGround.here()
            try await ground.done("enqueue", "demo.sleep", #"{"ms": 3000}"#)
            try await ground.done("enqueue", "demo.sleep", #"{"ms": 600000}"#)
            let worker = try ground.start(["work", "--lease", "2s", "--grace", "5s"])
            // A claimed job that has not started gets no grace.
            try await eventually("both to run") {
                try await ground.number(
                    "SELECT coalesce(sum(cardinality(running)), 0) FROM errand.workers") == 2
            }
            try await ground.expectCleanStop(worker)
            let rows = try await ground.session.query(
                "SELECT (args ->> 'ms')::bigint, attempt, claimed_by IS NULL FROM errand.jobs")
            #expect(rows.count == 1)
            #expect(try rows.int64(0, 0) == 600_000)
            #expect(try rows.bool(0, 2))
        }

        @Test(.timeLimit(.minutes(3)))
        func `rule 3, 6, 7: a stopped leader loses its jobs and is fenced when it goes on`()
            async throws
        {
            let ground = try CrashGround.here()
            let first = try ground.worker()
            // In feeding, and in running the schedules.
            try await eventually("the first to lead") {
                try await ground.number(
                    "SELECT count(*) FROM errand.leaders l WHERE errand.is_led(l)") == 2
            }
            try await ground.done("enqueue", "demo.ledger", "--count", "\(Self.load)")
            try await ground.progress(to: 2_000)
            try await ground.done(
                "enqueue", "demo.sleep", #"{"ms": 4000}"#, "--priority", "critical")
            try await eventually("the sleep to run") {
                try await ground.number(
                    "SELECT count(claimed_by) FROM errand.jobs WHERE kind = 'demo.sleep'") == 1
            }
            first.signal(SIGSTOP)
            let held = try await ground.number("SELECT count(claimed_by) FROM errand.jobs")
            #expect(held > 0)
            let second = try ground.worker()
            try await ground.allDone()
            let lost = try await ground.number(
                "SELECT count(*) FROM errand.finished_jobs WHERE errors IS NOT NULL")
            #expect(lost > 0, "the stopped worker held jobs, and others have done them")
            first.signal(SIGCONT)
            try await eventually("the first to notice") {
                first.errors.contains("declared dead")
            }
            try await ground.expectCleanStop(first)
            try await ground.expectCleanStop(second)
            try await ground.expectExactlyOnce(Self.load)
            let sleep = try await ground.session.query(
                "SELECT attempt, outcome::text FROM errand.finished_jobs WHERE kind = 'demo.sleep'")
            #expect(sleep.count == 1)
            #expect(try sleep.int16(0, 0) == 2)
            #expect(try sleep.text(0, 1) == "completed")
        }

        @Test(.timeLimit(.minutes(3)), arguments: [3, 50])
        func `rule 7: a job that kills its worker each time ends in the dead letters`(
            attempts: Int
        ) async throws {
            let ground = try CrashGround.here()
            try await ground.done("enqueue", "demo.exit", "--max-attempts", "\(attempts)")
            for _ in 0..<3 {
                let worker = try ground.start(
                    ["work", "--lease", "1s"], environment: ["ERRAND_DEMO_EXIT": "1"])
                #expect(try await worker.end(within: .seconds(20)) == .exited(70))
            }
            let last = try ground.start(["work", "--lease", "1s"])
            try await ground.allDone(within: .seconds(20))
            try await ground.expectCleanStop(last)
            let rows = try await ground.session.query(
                """
                SELECT outcome::text, attempt, jsonb_array_length(errors), errors -> 2 ->> 'error',
                    reason
                FROM errand.finished_jobs
                """)
            #expect(rows.count == 1)
            #expect(try rows.text(0, 0) == "dead")
            #expect(try rows.int16(0, 1) == 3)
            #expect(try rows.int32(0, 2) == 3)
            #expect(try rows.text(0, 3).contains("died or hung"))
            #expect(try rows.text(0, 4).hasPrefix("poison: three workers died"))
        }
    }
}
