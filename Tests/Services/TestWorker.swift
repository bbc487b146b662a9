import Foundation
package import Errand
import Synchronization

/// A worker inside the test's process.
package struct TestWorker: Sendable {
    package let stop = Stop()
    private let worker: Worker

    package init(
        _ kinds: JobKinds, queues: [WorkerOptions.Queue] = [.init("default")],
        drain: Bool = false, log: Log = .silent, change: (inout WorkerOptions) -> Void = { _ in }
    ) throws {
        let database = try TestDatabase.here()
        var options = WorkerOptions(queues: queues)
        options.drain = drain
        options.grace = .seconds(10)
        change(&options)
        worker = Worker(
            servers: Servers(database: database.url, redis: database.redis), kinds: kinds,
            options: options, log: log)
    }

    /// Works until nothing is due.
    package static func drain(
        _ kinds: JobKinds, queues: [WorkerOptions.Queue] = [.init("default")],
        log: Log = .silent
    ) async throws -> WorkerSummary {
        try await TestWorker(kinds, queues: queues, drain: true, log: log).run()
    }

    package func run() async throws -> WorkerSummary { try await worker.run(until: stop) }

    /// Works while `body` runs.
    package func during(_ body: () async throws -> Void) async throws -> WorkerSummary {
        async let summary = run()
        do { try await body() } catch {
            stop.stop()
            _ = try? await summary
            throw error
        }
        stop.stop()
        return try await summary
    }
}

/// Waits until something is so; for what happens in other tasks, processes and servers.
///
/// - Throws: when it is not so within `limit`.
package func eventually(
    _ what: String, within limit: Duration = .seconds(30),
    _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + limit
    while try await !condition() {
        guard ContinuousClock.now < end else {
            throw TestDatabase.Missing(what: "\(what) within \(limit), and it did not happen")
        }
        try await Task.sleep(for: .milliseconds(5))
    }
}

/// Collects what handlers report.
package final class Notebook<Element: Sendable>: Sendable {
    private let list = Mutex<[Element]>([])

    package init() {}
    package func add(_ element: Element) { list.withLock { $0.append(element) } }
    package var all: [Element] { list.withLock { $0 } }
    package var count: Int { list.withLock { $0.count } }
}
