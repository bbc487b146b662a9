import ErrandHTTP
import ErrandPostgres
import ErrandTestServices
import Foundation
import Testing

/// Jobs with infinite times, which only a worker's login can write, through a real worker.
@Suite("Attacks: extreme times", .serialized, .database) struct ExtremeTimesTests {
    private func add(_ count: Int = 1, _ column: String, _ time: String) async throws {
        try await change(
            """
            INSERT INTO errand.jobs (queue, kind, \(column))
            SELECT 'default', 'demo.noop', '\(time)' FROM generate_series(1, \(count))
            """)
    }

    /// A worker that died long ago holds all jobs.
    private func die() async throws {
        try await change(
            """
            WITH dead AS (
                INSERT INTO errand.workers (host, pid, version, last_seen_at, lease_seconds, queues,
                    kinds)
                VALUES ('elsewhere', 1, '0', now() - interval '1 hour', 1, '{}', '{}')
                RETURNING id
            )
            UPDATE errand.jobs SET claimed_by = dead.id, claim_token = 4711, attempt = 1,
                claimed_at = now() - interval '2 hours'
            FROM dead
            """)
    }

    /// How many jobs ended so.
    private func ended(_ outcome: String) async throws -> Int {
        try await number(
            "SELECT count(*) FROM errand.finished_jobs WHERE outcome = '\(outcome)'")
    }

    private func expectCleanEnd(_ worker: Program) async throws {
        worker.signal(SIGTERM)
        let run = try await finish(worker)
        run.expect(0)
        #expect(!run.errors.contains("the feeder was interrupted"), "\(run.errors)")
        #expect(!run.errors.contains("could not be recovered"), "\(run.errors)")
    }

    @Test func `a worker recovers jobs that were due since ever, and runs them`() async throws {
        // More than a window has room for, so that the feeder has to look for the rest.
        try await add(60, "run_at", "-infinity")
        try await add(3, "run_at", "infinity")
        try await die()
        let worker = try start(["work", "--window", "10"])
        try await eventually("those that are due to run") { try await ended("completed") == 60 }
        #expect(
            try await number(
                """
                SELECT count(*) FROM errand.jobs WHERE run_at = 'infinity' AND claimed_by IS NULL
                    AND attempt = 1 AND jsonb_array_length(errors) = 1
                """) == 3)
        try await expectCleanEnd(worker)
    }

    @Test func `a worker lives on with jobs that are due since ever, or never`() async throws {
        let worker = try start(["work"])
        for time in ["-infinity", "infinity", "4713-01-02 BC", "294276-12-31 23:59:59.999999Z"] {
            try await add(20, "run_at", time)
            try await add(1, "run_at", "2026-01-01Z")
        }
        try await eventually("those that are due to run") { try await ended("completed") == 44 }
        try await expectCleanEnd(worker)
        #expect(
            try await number(
                "SELECT count(*) FROM errand.jobs WHERE attempt = 0 AND run_at > now()") == 40)
    }

    @Test func `a start that has always been too late is none, and one that never is runs`()
        async throws
    {
        try await add(5, "not_after", "-infinity")
        try await add(5, "not_after", "4713-01-02 BC")
        try await add(5, "not_after", "infinity")
        try await add(5, "not_after", "294276-12-31 23:59:59.999999Z")
        try await errand("work", "--drain").expect(0)
        #expect(try await ended("cancelled") == 10)
        #expect(try await ended("completed") == 10)
    }

    @Test func `operators, metrics and autoscalers go on reading`() async throws {
        for column in ["run_at", "not_after", "created_at"] {
            for time in ["-infinity", "infinity", "4713-01-02 BC", "294276-12-31Z"] {
                try await add(1, column, time)
            }
        }
        let session = try TestDatabase.here().session()
        let depth = try await session.query(
            """
            SELECT ready, oldest_wait_seconds FROM errand.queue_depth WHERE queue = 'default'
            """)
        // Those that are due at the infinities, and those with other extremes, which are due now.
        #expect(try depth.int64(0, 0) == 10)
        #expect(try depth.double(0, 1).isFinite && depth.double(0, 1) > 0)
        let ids = try await session.query("SELECT id FROM errand.jobs").map { try $0.int64(0) }
        await session.close()
        for command in [
            ["status"], ["status", "-ojson"], ["doctor", "-ojson"], ["queue", "ls", "-owide"],
            ["queue", "show", "default"], ["kind", "ls", "-owide"], ["job", "ls", "-owide"],
            ["job", "ls", "--order", "oldest", "-ojson"],
        ] {
            let run = try await errand(command)
            #expect([0, 10, 11].contains(run.code), "\(run)")
            #expect(!run.output.contains("cannot subtract infinite"), "\(run.output)")
        }
        for id in ids {
            try await errand("job", "show", "\(id)").expect(0)
            try await errand("job", "why", "\(id)").expect(0)
            try await errand("job", "why", "\(id)", "-ojson").expect(0)
        }
        let worker = try await Listening(["work", "--queues", "other"])
        try await worker.ready()
        let metrics = try await worker.get("/metrics")
        let text = String(decoding: metrics.body, as: UTF8.self)
        #expect(metrics.status == 200 && text.contains("\nerrand_queue_jobs{"), "\(text)")
        try await worker.end()
    }
}
