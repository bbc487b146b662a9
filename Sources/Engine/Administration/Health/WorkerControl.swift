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
    /// A queue or pattern that a worker serves, with the counts of its last heartbeat.
    package struct QueueReport: Sendable {
        /// The name or pattern.
        package var name: String
        package var concurrency = 0
        package var weight = 1
        package var busy = 0
        package var waiting = 0
        /// Since the worker started; nil if it reports none because the queue has no jobs.
        package var finished: Int?
        package var failed: Int?
        /// Finished attempts per second over the last minute.
        package var rate = 0.0
    }

    private struct Declaration: Decodable {
        var concurrency: Int?
        var weight: Int?
    }

    /// The counts of a queue in a heartbeat.
    package struct Load: Sendable, Decodable {
        var busy: Int?
        var waiting: Int?
        var finished: Int?
        var failed: Int?
        package var rate: Double?

        /// The counts without what no worker reports, so that sums of them are in range.
        fileprivate var bounded: Load {
            func count(_ value: Int?) -> Int? { value.map { min(max($0, 0), 1 << 40) } }
            return Load(
                busy: count(busy), waiting: count(waiting), finished: count(finished),
                failed: count(failed), rate: rate?.bounded(to: 0...1e12))
        }
    }

    /// The counts of the queues with jobs at the last heartbeat.
    package func loads() throws -> [String: Load] {
        try JSONDecoder().decode([String: Load].self, from: Data(load)).mapValues(\.bounded)
    }

    /// The worker's reports by name: of the names and patterns that it serves, and of each queue
    /// with jobs that a pattern serves.
    package func queueReports() throws -> [QueueReport] {
        let declared = try JSONDecoder().decode([String: Declaration].self, from: Data(queues))
        let loads = try loads()
        let patterns = declared.keys.filter { QueuePattern($0).isPattern }
        return Set(declared.keys).union(loads.keys).sorted().map { name in
            var report = QueueReport(name: name)
            let key = declared[name] == nil ? QueuePattern.serving(name, patterns) : name
            if let declaration = key.flatMap({ declared[$0] }) {
                report.concurrency = declaration.concurrency ?? 0
                report.weight = declaration.weight ?? 1
            }
            if let load = loads[name] {
                report.busy = load.busy ?? 0
                report.waiting = load.waiting ?? 0
                report.finished = load.finished
                report.failed = load.failed
                report.rate = load.rate ?? 0
            }
            return report
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
