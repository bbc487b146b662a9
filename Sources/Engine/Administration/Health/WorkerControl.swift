package import Errand
import FoundationEssentials
package import ErrandPostgres

extension WorkerRecord {
    /// The state of a worker, as shown to operators.
    package enum State: String, Sendable {
        case alive, quiet, stopping, unresponsive
    }

    /// The worker's state; of pending commands only stop counts.
    package var state: State {
        if !isAlive { return .unresponsive }
        if isStopping || order?.task == .stop { return .stopping }
        return isQuiet ? .quiet : .alive
    }
}

extension WorkerRecord {
    /// One queue as its worker reported it.
    package struct QueueReport: Sendable {
        package var name: String
        package var concurrency: Int
        package var weight: Int
        package var busy: Int
        package var waiting: Int
        package var finished: Int
        package var failed: Int
        /// Finished attempts per second over the last minute.
        package var rate: Double
    }

    private struct Counts: Decodable {
        var concurrency: Int?
        var weight: Int?
        var busy: Int?
        var waiting: Int?
        var finished: Int?
        var failed: Int?
        var rate: Double?
    }

    /// The worker's reports on its queues, by name.
    package func queueReports() throws -> [QueueReport] {
        try JSONDecoder().decode([String: Counts].self, from: Data(queues))
            .sorted { $0.key < $1.key }
            .map { name, counts in
                QueueReport(
                    name: name, concurrency: counts.concurrency ?? 0, weight: counts.weight ?? 1,
                    busy: counts.busy ?? 0, waiting: counts.waiting ?? 0,
                    finished: counts.finished ?? 0, failed: counts.failed ?? 0,
                    rate: counts.rate ?? 0)
            }
    }
}

/// A job that a worker is running.
package struct RunningRecord: Sendable {
    package var id: Int64
    package var kind: String
    package var queue: String
    package var attempt: Int
    package var since: Instant

    init(_ row: Row) throws {
        id = try row.int64("id")
        kind = try row.text("kind")
        queue = try row.text("queue")
        attempt = Int(try row.int16("attempt"))
        since = try row.timestamp("claimed_at")
    }
}

extension Inspector {
    /// Sends a command to workers, or withdraws it if nil; writes an audit entry for each worker.
    ///
    /// - Returns: the ids of the workers that receive it. Workers that are unresponsive, gone or
    ///   already stopping do not.
    package func send(
        _ ids: [Int64], _ task: WorkerCommand.Task?, by operatorName: String, reason: String?
    ) async throws -> Set<Int64> {
        let (action, change) = try (
            "worker \((task ?? .quiet).rawValue)",
            task == nil ? AuditLine.json(["undo": true]) : nil
        )
        return try await session.transaction { session in
            let asked = try session.query(
                Statements.orderWorkers,
                [
                    .int64Array(ids.sorted()), .optional(task?.rawValue), .text(operatorName),
                    .optional(reason),
                ]
            ).map { try $0.int64("id") }
            _ = try session.pipeline(
                asked.map { id in
                    AuditLine(
                        operatorName: operatorName, action: action, subject: "worker \(id)",
                        reason: reason, change: change
                    ).statement
                })
            return Set(asked)
        }
    }

    /// Requests a heartbeat from a worker, and waits a moment for the fresh record.
    package func refresh(_ worker: WorkerRecord) async throws -> WorkerRecord? {
        _ = try await session.query(Statements.requestHeartbeat, [.int64(worker.id)])
        let end = ContinuousClock.now + .milliseconds(300)
        while ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(10))
            guard let now = try await workers().first(where: { $0.id == worker.id }) else {
                return nil
            }
            if now.lastSeenAt > worker.lastSeenAt { return now }
        }
        return worker
    }

    /// The jobs of a worker's last heartbeat that it is still running.
    package func running(on worker: WorkerRecord) async throws -> [RunningRecord] {
        guard !worker.running.isEmpty else { return [] }
        return try await session.query(
            Statements.runningOf, [.int64Array(worker.running), .int64(worker.id)]
        ).map(RunningRecord.init)
    }
}
