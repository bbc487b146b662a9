@testable import Errand
import ErrandPostgres
import ErrandTestServices
import Synchronization
import Testing

@Suite("Cancelling a worker's task", .database) struct CancellationTests {
    private struct Wait: Job {
        static let kind = "test.wait"
    }

    private func worker(_ kinds: JobKinds) throws -> Worker {
        let database = try TestDatabase.here()
        var options = WorkerOptions()
        options.runsSchedules = false
        // A cancelled worker has no grace, however much it would have after a stop.
        options.grace = .seconds(3_600)
        return Worker(
            servers: Servers(database: database.url, redis: database.redis), kinds: kinds,
            options: options, log: .silent)
    }

    private func number(_ sql: String) async throws -> Int64 {
        let session = try TestDatabase.here().session()
        let value = try await session.query(sql).int64(0, 0)
        await session.close()
        return value
    }

    private func enqueue() async throws {
        let database = try TestDatabase.here()
        let client = try await JobClient(pool: database.pool(1), redis: database.redis)
        _ = try await client.enqueue(Wait())
    }

    @Test func `an idle one signs off and returns`() async throws {
        var kinds = JobKinds()
        kinds.handle(Wait.self) { _, _ in }
        let worker = try worker(kinds)
        let task = Task { try await worker.run() }
        try await eventually("the worker has signed on") {
            try await number("SELECT count(*) FROM errand.workers") == 1
        }
        task.cancel()
        let summary = try await task.value
        #expect(summary.completed == 0)
        #expect(try await number("SELECT count(*) FROM errand.workers") == 0)
    }

    @Test func `one that is cancelled before it has begun returns too`() async throws {
        let worker = try worker(JobKinds())
        let task = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return try await worker.run()
        }
        _ = try await task.value
        #expect(try await number("SELECT count(*) FROM errand.workers") == 0)
    }

    @Test func `a job that runs goes back, its attempt not counted, and another worker does it`()
        async throws
    {
        let starts = Atomic(0)
        let begun = Signal()
        var kinds = JobKinds()
        kinds.handle(Wait.self) { _, _ in
            guard starts.add(1, ordering: .relaxed).newValue == 1 else { return }
            begun.raise()
            try await Task.sleep(for: .seconds(3_600))
        }
        try await enqueue()
        let worker = try worker(kinds)
        let task = Task { try await worker.run() }
        await begun.wait()
        task.cancel()
        let summary = try await task.value
        #expect(summary.requeued == 1)
        #expect(
            try await number(
                "SELECT count(*) FROM errand.jobs WHERE claimed_by IS NULL AND attempt = 0") == 1)
        #expect(try await number("SELECT count(*) FROM errand.workers") == 0)
        #expect(try await TestWorker.drain(kinds).completed == 1)
    }

    @Test func `a handler that ignores it keeps the worker, and not the job`() async throws {
        let begun = Signal()
        let gate = Signal()
        var kinds = JobKinds()
        kinds.handle(Wait.self) { _, _ in
            begun.raise()
            // Waits whether or not it is cancelled.
            await Task { await gate.wait() }.value
        }
        try await enqueue()
        let worker = try worker(kinds)
        let task = Task { try await worker.run() }
        await begun.wait()
        task.cancel()
        try await eventually("the job has gone back") {
            try await number(
                "SELECT count(*) FROM errand.jobs WHERE claimed_by IS NULL AND attempt = 0") == 1
        }
        gate.raise()
        #expect(try await task.value.requeued == 1)
    }

    @Test func `a grace under way ends with the cancellation`() async throws {
        let begun = Signal()
        var kinds = JobKinds()
        kinds.handle(Wait.self) { _, _ in
            begun.raise()
            try await Task.sleep(for: .seconds(3_600))
        }
        try await enqueue()
        let (worker, stop) = (try worker(kinds), Stop())
        let task = Task { try await worker.run(until: stop) }
        await begun.wait()
        stop.stop()
        task.cancel()
        #expect(try await task.value.requeued == 1)
    }

    @Test func `connections of handlers are refused where there is none`() async throws {
        let database = try TestDatabase.here()
        var options = WorkerOptions()
        options.handlerConnections = 0
        let worker = Worker(
            servers: Servers(database: database.url, redis: database.redis), kinds: JobKinds(),
            options: options, log: .silent)
        let error = await #expect(throws: JobError.self) { _ = try await worker.run() }
        #expect(error.map { "\($0)" }?.contains("handlerConnections 0") == true)
    }
}
